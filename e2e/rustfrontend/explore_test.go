//go:build rustfrontend

package rustfrontend_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

func TestExplore(t *testing.T) {
	p := runFrontEnd(t, 0)
	file, _ := os.ReadFile(os.Getenv("EXPLORE"))
	for _, block := range strings.Split(string(file), "\n====\n") {
		script, body, _ := strings.Cut(block, "\n")
		s, err := sim.ReadScript(strings.NewReader(`{"text":`+lab.Quote(script)+`}`), lab.Vocabulary)
		if err != nil {
			t.Fatal(err)
		}
		engine := sim.New(sim.Options{Models: []string{lab.Model}, Script: s, AnyPrompt: true, TokensPerChunk: 1})
		p.engine.Store(engine)
		path := "/v1/chat/completions"
		if strings.HasPrefix(body, "/") {
			path, body, _ = strings.Cut(body, "\n")
		}
		r, err := http.Post(p.server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		all, _ := io.ReadAll(r.Body)
		fmt.Printf("---- %s\n%s\n-> %d %s\n%s\n", script, body, r.StatusCode, r.Header.Get("content-type"), all)
		for _, q := range engine.Requests() {
			fmt.Printf("PROMPT %s\n", lab.Vocabulary.DecodeString(q.PromptIDs))
		}
		fmt.Println("FAILED", p.server.Failed())
		engine.Close()
	}
}
