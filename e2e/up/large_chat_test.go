//go:build e2e

package up

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestLargeConversations sends requests of almost body_limit that are twice as long at the server: earlier reasoning may be
// in two members there, and the input of a custom tool is a text in a text.
func TestLargeConversations(t *testing.T) {
	const limit = 4 << 20
	bodies := map[string]string{
		"reasoning": `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"` +
			strings.Repeat("word ", limit/5-100) + `"}]},{"role":"assistant","content":"Hello"}`,
		"input": `{"type":"custom_tool_call","call_id":"c","name":"f","input":"` + strings.Repeat(`\"`, limit/2-250) +
			`"},{"type":"custom_tool_call_output","call_id":"c","output":"done"}`,
	}
	for _, host := range []string{"envoy", "wazero"} {
		server, serverURL := lab.RunSim(t, sim.Options{Kind: sim.Chat, Models: []string{lab.Model}, MaxModelLen: limit})
		model := "models:\n- name: " + lab.Model + "\n  servers: ['chat=" + serverURL + "']\n  chat: { reasoning_history: both }\n"
		config := lab.WriteConfig(t, model)
		args := []string{"--host", host, "--config", config}
		clients := map[string]*http.Client{"h1": lab.HTTP1(t)}
		if host == "envoy" {
			args = append(args, "--envoy", lab.WriteScript(t, t.TempDir(), "envoy", `exec "$ENVOY" "$@"`))
			clients["h2"] = lab.HTTP2(t)
		}
		up, url := lab.StartUp(t, args...)
		for protocol, client := range clients {
			for name, items := range bodies {
				body := `{"model":"` + lab.Model + `","input":[{"role":"user","content":"Hi"},` + items +
					`,{"role":"user","content":"Hi"}]}`
				if len(body) > limit || len(body) < limit-1000 {
					t.Fatalf("%s has %d bytes", name, len(body))
				}
				a := lab.Ask(client, url+lab.ResponsesPath, body)
				if a.Status != 200 {
					t.Errorf("%s, %s, %s: %d %.300s", host, protocol, name, a.Status, a.Body)
					continue
				}
				sent := lab.Completions(server)
				if n := len(sent[len(sent)-1].Body); n < 2*limit-4000 {
					t.Errorf("%s: the server has got %d bytes only, so it is not the largest case", name, n)
				}
			}
		}
		if host == "envoy" {
			up.Stop(t, syscall.SIGTERM)
		} else {
			lab.StopWazero(t, up)
		}
	}
}
