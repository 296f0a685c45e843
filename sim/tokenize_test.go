package sim

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTokenize checks the ids of a text. The ids of the first two cases are tiktoken's for o200k_base.
func TestTokenize(t *testing.T) {
	for name, tt := range map[string]struct {
		options      Options
		body, answer string
		status       int
	}{
		"a text": {Options{}, `{"model":"gpt-oss-120b","prompt":"Hello, world!"}`,
			`{"count":4,"max_model_len":131072,"tokens":[13225,11,2375,0]}`, 200},
		"a special token, SGLang": {Options{Kind: SGLang}, `{"model":"other","prompt":"a<|start|>"}`, `[64,200006]`, 200},
		"another vocabulary":      {Options{OtherVocabulary: true}, `{"prompt":"A\u0000"}`, `[68,3]`, 200},
		"another model":           {Options{}, `{"model":"other","prompt":"a"}`, "The model `other` does not exist.", 404},
		"messages":                {Options{}, `{"messages":[]}`, "a prompt that is a text", 400},
		"no JSON":                 {Options{}, `{`, "a prompt that is a text", 400},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := start(t, tt.options)
			response, err := http.Post(url+"/tokenize", "application/json", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tt.status || !strings.Contains(string(body), tt.answer) {
				t.Errorf("%v: %d %s, want %d and %s", err, response.StatusCode, body, tt.status, tt.answer)
			}
		})
	}
}
