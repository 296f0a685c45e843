//go:build e2e

package nemogym

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// vector is an exchange with a VLLMModel, as tools/nemogym has recorded it.
type vector struct {
	// group is the name of the vector's file.
	group string
	Name  string `json:"name"`
	// API is "responses" or "chat".
	API string `json:"api"`
	// Settings are the VLLMModel's settings that are not the recorder's defaults.
	Settings map[string]any `json:"settings"`
	// Request has the members of the client's requests that are the same in all turns.
	Request map[string]any `json:"request"`
	Turns   []turn         `json:"turns"`
}

// turn is one request of a client. It has one of Input and Messages: what the client adds to what was said before.
type turn struct {
	Input    any `json:"input"`
	Messages any `json:"messages"`
	// Answer is the server's: a whole chat.completion, or a status and a body.
	Answer map[string]any `json:"answer"`
	// Sent is what the VLLMModel has asked its server.
	Sent []sent `json:"sent"`
	// Status and Response are what the client got. A failed request has the name of an exception as its response.
	Status   int            `json:"status"`
	Response map[string]any `json:"response"`
}

// sent is one request to a server.
type sent struct {
	Path string         `json:"path"`
	Body map[string]any `json:"body"`
}

func (v *vector) String() string { return v.group + "/" + v.Name }

// set returns a setting, or nil.
func (v *vector) set(key string) any { return v.Settings[key] }

// isOn returns a boolean setting.
func (v *vector) isOn(key string, fallback bool) bool {
	if on, ok := v.Settings[key].(bool); ok {
		return on
	}
	return fallback
}

// readVectors reads all files of testdata/vectors.
func readVectors(t *testing.T) []*vector {
	t.Helper()
	files, err := filepath.Glob(lab.File("e2e/nemogym/testdata/vectors/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var all []*vector
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var content struct {
			Commit  string    `json:"commit"`
			Vectors []*vector `json:"vectors"`
		}
		if err := decode(data, &content); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		group := filepath.Base(file)
		for _, v := range content.Vectors {
			v.group = group[:len(group)-len(".json")]
			all = append(all, v)
		}
	}
	return all
}

// decode reads JSON with numbers as they are spelled.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// object decodes a JSON object. The test fails if the text is none.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := decode([]byte(text), &o); err != nil || o == nil {
		t.Fatalf("not a JSON object (%v): %s", err, text)
	}
	return o
}

// encode writes JSON.
func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
