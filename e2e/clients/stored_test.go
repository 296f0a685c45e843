//go:build e2e

package clients

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// storedClients are the clients that let a server keep responses and conversations.
var storedClients = []realClient{
	{name: "openai-python", program: "stored", python: "HARMONY_OPENAI_PYTHON"},
	{name: "openai-node", program: "stored"},
	{name: "openai-agents", program: "stored", python: "HARMONY_CLIENTS_PYTHON"},
	{name: "vercel-ai", program: "stored"},
}

// TestStoredClients lets clients speak to harmony up with a store. One line that a client writes to its standard error
// fails it.
func TestStoredClients(t *testing.T) {
	programs := clientFolder(t)
	postgres := lab.StartPostgres(t)
	for _, gateway := range []struct{ host, name, database string }{
		{"envoy", "SQLite", filepath.Join(t.TempDir(), "responses.db")},
		{"envoy", "PostgreSQL", postgres.Database("clients")},
		{"wazero", "SQLite", filepath.Join(t.TempDir(), "responses.db")},
	} {
		t.Run(gateway.host+" "+gateway.name, func(t *testing.T) {
			t.Parallel()
			_, server := lab.RunSim(t, sim.Options{AllowHeaders: true, Script: lab.ReadScript(t, "e2e/clients/script.jsonl")})
			text := fmt.Sprintf("responses_service: { store: %q, listen: %q }\nmodels: [{ name: %s, servers: [%q] }]\n",
				gateway.database, lab.FreeAddress(t), lab.Model, "vllm="+server)
			config := lab.WriteConfig(t, text)
			// The store is encrypted: else it would not keep the clients' headers for what is made in the background.
			_, url := lab.StartUpWith(t, []string{"HARMONY_STORE_KEYS=" + lab.SealKey}, "--host", gateway.host, "--config", config)
			for _, c := range storedClients {
				t.Run(c.name, func(t *testing.T) {
					run := c.run(t, programs, url+"/v1")
					t.Logf("%s: %d checks in %s", run.version, len(run.checks), run.took.Round(100e6))
				})
			}
		})
	}
}
