//go:build e2e

package responses

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestChainStays: the responses of a chain are made at one server, although the service asks anew each time. A client's
// key for the servers' caches reaches the choice through the service.
func TestChainStays(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) { chainStays(t, host) })
	}
}

func chainStays(t *testing.T, host string) {
	lab.NeedsPrefix(t)
	var servers []*sim.Server
	var urls []string
	for range 4 {
		s, url := lab.RunSim(t, sim.Options{Keep: 100})
		servers, urls = append(servers, s), append(urls, url)
	}
	file := filepath.Join(t.TempDir(), "harmony.yaml")
	text := fmt.Sprintf("responses_service: { store: %s }\nmodels: [{ name: %s, pool: gpus }]\n"+
		"pools: [{ name: gpus, policy: prefix, health: { path: none }, servers: ['%s'] }]\n",
		filepath.Join(t.TempDir(), "responses.db"), lab.Model, strings.Join(urls, "', '"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &gateway{&service.Gateway{T: t, Client: lab.HTTP1(t), Schemas: grammar.LoadSchemas(t)}}
	g.Program, g.URL = lab.StartUpWith(t, nil, "--host", host, "--concurrency", "1", "--config", file)
	// at returns the server of the newest request, after n of them.
	seen := make([]int, len(servers))
	at := func() int {
		t.Helper()
		home := -1
		for i, s := range servers {
			if n := len(lab.Completions(s)); n > seen[i] {
				home, seen[i] = i, n
			}
		}
		if home < 0 {
			t.Fatal("no server has answered")
		}
		return home
	}
	used := map[int]bool{}
	for i := range 12 {
		one := g.Create(fmt.Sprintf(`"input":"question %d"`, i))
		home := at()
		used[home] = true
		for j := range 3 {
			one = g.Create(fmt.Sprintf(`"input":"and then %d?","previous_response_id":%q`, j, one.ID))
			if next := at(); next != home {
				t.Errorf("chain %d went from server %d to %d", i, home, next)
			}
		}
	}
	if len(used) < 3 {
		t.Errorf("the chains use %d of 4 servers", len(used))
	}
	g.Create(`"input":"a","prompt_cache_key":"the key"`)
	home := at()
	for i := range 8 {
		g.Create(fmt.Sprintf(`"input":"other %d","store":%t,"prompt_cache_key":"the key"`, i, i%2 == 0))
		if next := at(); next != home {
			t.Errorf("a request with the key went to server %d, and the first to %d", next, home)
		}
	}
}
