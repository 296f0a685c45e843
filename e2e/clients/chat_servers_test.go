//go:build e2e

package clients

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// chatServerClients are those that speak to a model behind a server of conversations. The others use the same
// libraries.
var chatServerClients = []string{"openai-python", "openai-node, Responses", "openai-agents", "openai-agents, Responses",
	"vercel-ai, Responses"}

// TestChatServerClients lets clients, and Codex, speak to a model whose servers take conversations, in Envoy and
// without it. Their views are checked as for a Harmony model.
func TestChatServerClients(t *testing.T) {
	programs := clientFolder(t)
	for _, host := range triedHosts() {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			server, serverURL := lab.RunSim(t, sim.Options{
				Kind: contract.Chat, ChatForm: sim.ChatBoth, ForgetReasoning: true, AllowHeaders: true, Script: lab.ReadScript(t, "e2e/clients/script.jsonl")})
			work, workURL := lab.RunSim(t, sim.Options{
				Kind: contract.Chat, ForgetReasoning: true, Script: lab.ReadScript(t, "e2e/clients/codex/script.jsonl")})
			text := strings.ReplaceAll(chatServerModels, "SERVER", serverURL)
			text = strings.ReplaceAll(text, "WORK", workURL)
			config := lab.WriteConfig(t, text)
			up, url := lab.StartUpWith(t, []string{contract.SealKeysVariable + "=" + lab.SealKey}, "--host", host, "--config",
				config)
			for _, c := range realClients {
				if !slices.Contains(chatServerClients, c.name) {
					continue
				}
				c.environment = append(c.environment, "HARMONY_PASSED_CHAT=1")
				t.Run(c.name, func(t *testing.T) {
					before := len(server.Requests())
					c.run(t, programs, url+"/v1")
					c.checkRequests(t, server, before)
				})
			}
			t.Run("Codex", func(t *testing.T) {
				c := newCodex(t, url, codexChatModel)
				c.call = templatedCall
				c.work(t, work, true)
			})
			if host == "wazero" {
				lab.StopWazero(t, up)
			} else {
				up.Stop(t, syscall.SIGINT)
			}
		})
	}
}

const codexChatModel = "codex"

// chatServerModels has a model for the clients, and one with a server of its own for Codex.
const chatServerModels = `
models:
  - name: ` + lab.Model + `
    servers: [chat=SERVER]
  - name: ` + codexChatModel + `
    server_model: ` + lab.Model + `
    servers: [chat=WORK]
`
