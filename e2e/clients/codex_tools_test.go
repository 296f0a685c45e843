//go:build e2e

package clients

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestCodexBrowses lets Codex search the web with the browser of gpt-oss, which the responses service runs as
// docs/tools.md shows it.
func TestCodexBrowses(t *testing.T) {
	for _, host := range triedHosts() {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			server, serverURL := lab.RunSim(t, sim.Options{Script: lab.ReadScript(t, "e2e/clients/codex/tools.jsonl")})
			browser := toolservers.Browser(t)
			text := fmt.Sprintf("responses_service:\n  store: %q\n  listen: %q\n  tools:\n    servers:\n"+
				"      - {label: browser, url: %q, transport: sse}\n    browser: browser\nmodels: [{name: %s, servers: [%q]}]\n",
				filepath.Join(t.TempDir(), "responses.db"), lab.FreeAddress(t), browser.SSE(), lab.Model, "vllm="+serverURL)
			config := lab.WriteConfig(t, text)
			_, url := lab.StartUp(t, "--host", host, "--config", config)
			c := newCodex(t, url, lab.Model)
			c.configure(t, "config.toml", "http://127.0.0.1:8080", url, "check_for_update", "web_search = \"live\"\ncheck_for_update")
			shown := c.exec(t, "What is tea?")
			if want := []string{"web_search: tea", "web_search: https://tea.example/wiki/Tea_(drink)?lang=en&q=caf%C3%A9",
				"agent_message: Tea is a drink ([tea.example](https://tea.example/wiki/Tea_%28drink%29?lang=en&q=caf%C3%A9)) ."}; !slices.
				Equal(shown, want) {
				t.Errorf("Codex shows %q, want %q", shown, want)
			}
			if shown := c.exec(t, "resume", "--last", "And where did you read that?"); !slices.Equal(shown,
				[]string{"agent_message: In the encyclopedia."}) {
				t.Errorf("Codex shows %q", shown)
			}
			clients := map[string]bool{}
			for _, call := range browser.Calls() {
				clients[call.ClientID] = true
			}
			if len(browser.Calls()) != 2 || len(clients) != 1 || clients[""] {
				t.Errorf("the browser was called %+v", browser.Calls())
			}
			for _, r := range lab.Completions(server) {
				if prompt := lab.Vocabulary.DecodeString(r.PromptIDs); !strings.Contains(prompt, "namespace browser {") {
					t.Errorf("the model is not shown its browser:\n%s", prompt)
				}
			}
		})
	}
}
