//go:build llamacpp

package llamacpp

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
)

// leftRecursive is the grammar whose rules begin with each other. llama.cpp refuses such rules.
const leftRecursive = "recursive.txt"

// TestLarkGrammars: llama.cpp takes the EBNF of each Lark grammar as its own GBNF.
func TestLarkGrammars(t *testing.T) {
	files, err := filepath.Glob("../../harmonycore/lark/testdata/*.txt")
	if err != nil || len(files) < 31 {
		t.Fatal(files, err)
	}
	s := start(t, 1, 2048)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, definition, _ := strings.Cut(string(content), "-- grammar --\n")
		definition, _, _ = strings.Cut(definition, "-- seeds --\n")
		ebnf := lark.Translate(definition).EBNF
		body, err := json.Marshal(map[string]any{"prompt": "Hi", "n_predict": 4, "grammar": ebnf})
		if err != nil {
			t.Fatal(err)
		}
		client := http.Client{Timeout: answerLimit}
		response, err := client.Post(s.URL+"/completion", "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if (response.StatusCode == http.StatusOK) == (filepath.Base(file) == leftRecursive) {
			t.Errorf("%s: %s\n%s", filepath.Base(file), response.Status, ebnf)
		}
	}
}
