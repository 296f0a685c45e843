//go:build e2e

package faults

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestUnshownBodies: in full mode, where the proxy has lost the setting that lets headers be held, as a mesh may drop it,
// requests get an error within seconds, the log says once why, and each is counted. Requests without a body are served.
func TestUnshownBodies(t *testing.T) {
	lost := func(t *testing.T, r *xds.Resources) {
		lab.EditPlugin(t, r, func(c *wasmv3.PluginConfig) { c.AllowOnHeadersStopIteration = nil })
	}
	for _, host := range []struct {
		name  string
		start func(*testing.T, *config.Config, lab.Change) (h *hosts.Host, log func() string)
	}{{"envoy", misconfiguredEnvoy}, {"wazero", misconfiguredWazero}} {
		t.Run(host.name, func(t *testing.T) {
			t.Parallel()
			gpu, url := lab.RunSim(t, sim.Options{})
			h, log := host.start(t, lab.OneModel(url), lost)
			var all sync.WaitGroup
			for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
				for _, body := range []string{lab.ChatBody(lab.Model, "Hi"), lab.ChatBody(lab.Model, strings.Repeat("a ", 100_000))} {
					all.Go(func() {
						a := lab.Do(client, "POST", h.URL+lab.ChatPath, nil, strings.NewReader(body))
						lab.WantRefused(t, a, http.StatusInternalServerError, "gateway_misconfigured")
						if !strings.Contains(a.Body, "allow_on_headers_stop_iteration") {
							t.Errorf("the error does not name the setting: %s", a.Body)
						}
					})
				}
			}
			all.Wait()
			if a := lab.Do(lab.HTTP1(t), "GET", h.URL+"/v1/models", nil, nil); a.Status != http.StatusOK {
				t.Errorf("models: %+v", a)
			}
			if n := len(lab.Completions(gpu)); n != 0 {
				t.Errorf("%d requests reached the server", n)
			}
			awaitCounts(t, h, map[string]int{"harmony_edits_refused_total": 4})
			if n := strings.Count(log(), "allow_on_headers_stop_iteration is not in force"); n != 1 {
				t.Errorf("the log says it %d times, want once:\n%s", n, log())
			}
		})
	}
}
