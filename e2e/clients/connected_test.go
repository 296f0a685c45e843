//go:build e2e

package clients

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// connectedClients are the clients that speak WebSocket.
var connectedClients = []realClient{
	{name: "openai-agents, WebSocket", folder: "openai-agents", program: "websocket", python: "HARMONY_CLIENTS_PYTHON",
		replays: true},
	{name: "openai-agents-js, WebSocket", folder: "openai-agents-js", replays: true},
}

// startConnected runs harmony up with a store, and returns the file of the service's access log.
func startConnected(t *testing.T, host, serverURL string) (up *lab.Program, url, log string) {
	t.Helper()
	folder := t.TempDir()
	config, log := filepath.Join(folder, "config.yaml"), filepath.Join(folder, "log.json")
	text := fmt.Sprintf("responses_service: { store: %q, listen: %q, access_log: %q }\n",
		filepath.Join(folder, "responses.db"), lab.FreeAddress(t), log) +
		strings.ReplaceAll(clientModels, "SERVER", serverURL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	up, url = lab.StartUpWith(t, nil, "--host", host, "--config", config)
	return up, url, log
}

// TestConnectedClients lets each client speak WebSocket to harmony up with a store, in Envoy and without it.
func TestConnectedClients(t *testing.T) {
	programs := clientFolder(t)
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			server, serverURL := lab.RunSim(t, sim.Options{AllowHeaders: true,
				Script: lab.ReadScript(t, "e2e/clients/script.jsonl")})
			up, url, log := startConnected(t, host, serverURL)
			for _, c := range connectedClients {
				t.Run(c.name, func(t *testing.T) {
					before := len(server.Requests())
					c.run(t, programs, url+"/v1")
					c.checkRequests(t, server, before)
				})
			}
			stopUp(t, host, up)
			connectedRequests(t, log)
		})
	}
}

func stopUp(t *testing.T, host string, up *lab.Program) {
	t.Helper()
	if host == "wazero" {
		lab.StopWazero(t, up)
	} else {
		up.Stop(t, syscall.SIGINT)
	}
}

// connectedRequests returns how many requests the service has answered on connections. It wants no others.
func connectedRequests(t *testing.T, log string) int {
	t.Helper()
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.Count(lines, []byte(`"route":`))
	requests := bytes.Count(lines, []byte(`"route":"response.create"`))
	connections := bytes.Count(lines, []byte(`"route":"GET /v1/responses","status":101`))
	if requests == 0 || connections == 0 || requests+connections != all {
		t.Errorf("%d requests on %d connections, and others\n%s", requests, connections, lines)
	}
	return requests
}

// TestCodexConnected lets Codex work over WebSocket: with a provider that says supports_websockets, and with its own
// OpenAI provider and the gateway's URL.
func TestCodexConnected(t *testing.T) {
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			server, serverURL := lab.RunSim(t, sim.Options{Script: lab.ReadScript(t, "e2e/clients/codex/script.jsonl")})
			up, url, log := startConnected(t, host, serverURL)
			c := newCodex(t, url, lab.Model)
			c.configure(t, "config.toml", "http://127.0.0.1:8080", url, `wire_api = "responses"`,
				"wire_api = \"responses\"\nsupports_websockets = true")
			c.work(t, server, false)
			own := newCodex(t, url, lab.Model)
			own.configure(t, "websocket.toml", "http://127.0.0.1:8080", url)
			want := []string{"agent_message: A line where two faces meet."}
			if got := own.exec(t, "What is an edge?"); !slices.Equal(got, want) {
				t.Errorf("Codex shows %q", got)
			}
			stopUp(t, host, up)
			// Each of the four starts of Codex has prewarmed its connection.
			if n, prompts := connectedRequests(t, log), len(lab.Completions(server)); n != prompts+4 {
				t.Errorf("%d requests have come, and %d prompts have reached the server", n, prompts)
			}
		})
	}
}
