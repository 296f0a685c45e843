//go:build e2e

package routing

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestChoiceByClass: requests of clients of a class come to that class's pool if they fit there, on Envoy and under
// wazero. A client is known by its key, and by nothing else that it sends. Without a class of its own it has the default
// one. The log and the answer say which pool it was, and why.
func TestChoiceByClass(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *config.Config, ...lab.Change) *hosts.Host{
		"envoy":  lab.RunEnvoy,
		"wazero": lab.RunWazero,
	} {
		t.Run(name, func(t *testing.T) {
			near, nearURL := lab.RunSim(t, sim.Options{})
			far, farURL := lab.RunSim(t, sim.Options{})
			folder := t.TempDir()
			keys := filepath.Join(folder, "keys.yaml")
			text := fmt.Sprintf("clients:\n- {name: nightly, hashes: [%q], class: batch}\n- {name: agent, hashes: [%q], "+
				"class: interactive}\n- {name: plain, hashes: [%q]}\n", clients.HashOf("sk-nightly"), clients.HashOf("sk-agent"),
				clients.HashOf("sk-plain"))
			if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c := twoPools(nearURL, farURL)
			c.Clients = config.Clients{KeysFile: keys, Required: true, DefaultClass: "interactive",
				Classes: []config.Class{{Name: "interactive"}, {Name: "batch"}}}
			c.Models[0].Rules = []config.Rule{{Pool: "near", Class: "batch", MaxPrompt: 70}}
			c.AccessLog = filepath.Join(folder, "access.log")
			host := start(t, c)
			requests := []struct {
				key       string
				tokens    int
				near, far int
				route     string
			}{
				{"nightly", 70, 1, 0, "near;why=class"},
				{"nightly", 71, 1, 1, "far;why=length"}, // it does not fit there
				{"agent", 70, 1, 2, "far;why=default"},
				{"plain", 70, 1, 3, "far;why=default"},
				{"nightly", 68, 2, 3, "near;why=class"},
			}
			for _, tt := range requests {
				header := http.Header{"Authorization": {"Bearer sk-" + tt.key}, "X-Harmony-Route": {"near;why=class"},
					"X-Harmony-Internal-Client": {"nightly"}, "X-Harmony-Internal-Class": {"batch"}}
				a := lab.Do(lab.HTTP1(t), http.MethodPost, host.URL+lab.ChatPath, header, strings.NewReader(chatOf(tt.tokens)))
				if a.Status != 200 || a.Header.Get(contract.RouteHeader) != tt.route {
					t.Errorf("%s, %d tokens: got %d, %q, want %q", tt.key, tt.tokens, a.Status,
						a.Header.Get(contract.RouteHeader), tt.route)
				}
				if n := servedBy([]*sim.Server{near, far}); n[0] != tt.near || n[1] != tt.far {
					t.Errorf("%s, %d tokens: the servers have had %v requests", tt.key, tt.tokens, n)
				}
			}
			for i, line := range logged(t, c.AccessLog, len(requests)) {
				if line["route"] != requests[i].route {
					t.Errorf("the log says %v of request %d", line["route"], i)
				}
			}
		})
	}
}
