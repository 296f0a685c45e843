//go:build e2e

package up

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestHostedAPI serves a model of an API whose URL has a path, in both modes and on both hosts: all that clients ask
// for goes there, and nothing else does.
func TestHostedAPI(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		for _, mode := range []string{"full", "reduced"} {
			t.Run(host+" "+mode, func(t *testing.T) {
				server, serverURL := lab.RunSim(t,
					sim.Options{Kind: sim.Chat, Models: []string{"org/model"}, APIPath: "/openai/v1"})
				args := []string{"--host", host, "--mode", mode, "--model", lab.Model, "--server-model", "org/model",
					"--backend", "chat=" + serverURL + "/openai/v1"}
				if host == "envoy" {
					args = append(args, "--envoy", lab.WriteScript(t, t.TempDir(), "envoy", `exec "$ENVOY" "$@"`))
				}
				up, url := lab.StartUp(t, args...)
				client := lab.HTTP1(t)
				before := len(server.Requests())
				var asked []string
				for _, tt := range []struct{ path, body, want, at string }{
					{lab.ChatPath, lab.ChatBody(lab.Model, "Hello"), `"content":"You said: Hello`, "/openai/v1/chat/completions"},
					{lab.ChatPath, strings.Replace(lab.ChatBody(lab.Model, "Hello"), "{", `{"stream":true,`, 1), "data: [DONE]",
						"/openai/v1/chat/completions"},
					{lab.ResponsesPath, lab.ResponsesBody(lab.Model, "Hello"), `"type":"output_text"`, "/openai/v1/chat/completions"},
					{"/v1/responses/input_tokens", lab.ResponsesBody(lab.Model, "Hello"), `"object":"response.input_tokens"`,
						"/openai/tokenize"},
					{"/tokenize", lab.ChatBody(lab.Model, "Hello"), `"tokens":[`, "/openai/tokenize"},
					{"/detokenize", fmt.Sprintf(`{"model":%q,"tokens":[13225]}`, lab.Model), `"prompt":"Hello"`, "/openai/detokenize"},
				} {
					asked = append(asked, tt.at)
					if a := lab.Ask(client, url+tt.path, tt.body); a.Status != 200 || !strings.Contains(a.Body, tt.want) {
						t.Errorf("%s: got %+v", tt.path, a)
					}
				}
				// The server's own paths are no clients' paths, whatever these say.
				header := http.Header{"X-Harmony-Internal-Pool": {lab.Model}}
				for _, path := range []string{"/openai/v1/chat/completions", "/openai/tokenize", "/openai/v1/models"} {
					a := lab.Do(client, http.MethodPost, url+path, header, strings.NewReader(lab.ChatBody(lab.Model, "Hello")))
					lab.WantRefused(t, a, 404, "unknown_url")
				}
				for _, r := range server.Requests()[before:] {
					if r.Method != http.MethodPost {
						continue // harmony up asks for models
					}
					if len(asked) == 0 || r.Path != asked[0] {
						t.Fatalf("the server was asked at %s, want %v", r.Path, asked)
					}
					asked = asked[1:]
				}
				if host == "envoy" {
					up.Stop(t, syscall.SIGTERM)
				} else {
					lab.StopWazero(t, up)
				}
			})
		}
	}
}
