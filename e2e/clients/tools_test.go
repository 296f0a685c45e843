//go:build e2e

package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/sim"
)

// toolClients are the clients that let a server call the tools of MCP servers.
var toolClients = []realClient{
	{name: "openai-python", program: "tools", python: "HARMONY_OPENAI_PYTHON"},
	{name: "openai-agents", program: "tools", python: "HARMONY_CLIENTS_PYTHON"},
	{name: "vercel-ai", program: "tools"},
}

// TestToolClients lets clients speak to harmony up, in Envoy and without it, whose service calls an MCP server that
// they name. One line that a client writes to its standard error fails it.
func TestToolClients(t *testing.T) {
	programs := clientFolder(t)
	for _, host := range triedHosts() {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			_, server := lab.RunSim(t, sim.Options{AllowHeaders: true, Script: lab.ReadScript(t, "e2e/clients/script.jsonl")})
			bank := toolservers.Plain(t, bankTool("echo", func(a bankArguments) string { return a.Text }),
				bankTool("pay", func(a bankArguments) string { return fmt.Sprintf("%d paid", a.Amount) }))
			text := fmt.Sprintf("responses_service: { store: %q, listen: %q, tools: { allow: [%q], tool_search: bm25 } }\n"+
				"models: [{ name: %s, servers: [%q] }]\n", filepath.Join(t.TempDir(), "responses.db"), lab.FreeAddress(t),
				strings.TrimSuffix(bank.Streamable(), "/mcp"), lab.Model, "vllm="+server)
			config := lab.WriteConfig(t, text)
			_, url := lab.StartUpWith(t, []string{"HARMONY_STORE_KEYS=" + lab.SealKey}, "--host", host, "--config", config)
			for _, c := range toolClients {
				c.environment = []string{"MCP_SERVER=" + bank.Streamable()}
				t.Run(c.name, func(t *testing.T) {
					run := c.run(t, programs, url+"/v1")
					t.Logf("%s: %d checks in %s", run.version, len(run.checks), run.took.Round(100e6))
				})
			}
		})
	}
}

// bankArguments are the arguments of the server's tools.
type bankArguments struct {
	Text   string
	Amount int
}

func bankTool(name string, answer func(bankArguments) string) toolservers.Tool {
	return toolservers.Texts(name, func(_ context.Context, arguments json.RawMessage) (string, error) {
		var a bankArguments
		err := json.Unmarshal(arguments, &a)
		return answer(a), err
	})
}
