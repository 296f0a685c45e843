//go:build e2e

package clients

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
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
}

// startConnected runs harmony up with a store, and returns the file of the service's access log.
func startConnected(t *testing.T, host, serverURL string) (up *lab.Program, url, log string) {
	t.Helper()
	folder := t.TempDir()
	config, log := filepath.Join(folder, "config.yaml"), filepath.Join(folder, "log.json")
	text := fmt.Sprintf("responses_service: { store: %q, listen: %q, access_log: %q }\n",
		filepath.Join(folder, "responses.db"), lab.FreeAddress(t), log) + strings.ReplaceAll(clientModels, "SERVER", serverURL)
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
					t.Logf("%+v", c.run(t, programs, url+"/v1"))
					c.checkRequests(t, server, before)
				})
			}
			stopUp(t, host, up)
			checkConnected(t, log, 0)
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

// checkConnected wants the service to have answered requests on connections, and no others. n is how many, or 0 for any
// number.
func checkConnected(t *testing.T, log string, n int) {
	t.Helper()
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.Count(lines, []byte(`"route":`))
	frames, connections := bytes.Count(lines, []byte(`"route":"response.create"`)),
		bytes.Count(lines, []byte(`"route":"GET /v1/responses","status":101`))
	if frames == 0 || n > 0 && frames != n || connections == 0 || frames+connections != all {
		t.Errorf("%d requests on %d connections, want %d\n%s", frames, connections, n, lines)
	}
}

// TestCodexConnected lets Codex work over WebSocket: with its own OpenAI provider and the gateway's URL, and with a
// provider that says supports_websockets.
func TestCodexConnected(t *testing.T) {
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			server, serverURL := lab.RunSim(t, sim.Options{Script: lab.ReadScript(t, "e2e/clients/codex/script.jsonl")})
			up, url, log := startConnected(t, host, serverURL)
			c := newCodex(t, url, lab.Model)
			file := filepath.Join(c.home, "config.toml")
			config, err := os.ReadFile(file)
			if err == nil {
				config = append(config, "supports_websockets = true\n"...)
				err = os.WriteFile(file, config, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.work(t, server, false)
			stopUp(t, host, up)
			checkConnected(t, log, 0)
		})
	}
}
