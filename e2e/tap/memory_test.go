//go:build e2e

package tap

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hostile"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestHostileRequests: with everything tapped, a recorder that never answers, and no more memory than the least that
// may be configured, a worker accepts the same requests of the greatest size as one that taps nothing, and survives them.
func TestHostileRequests(t *testing.T) {
	c := config.Default()
	c.Passthrough = "http://127.0.0.1:2"
	c.Models = []config.Model{config.DefaultModel(hostile.Model, "vllm=http://127.0.0.1:1")}
	c.MemoryLimit = config.Size(contract.MinMemoryLimit(int(c.BodyLimit)))
	start := func(url string) *filtertest.Host {
		c.Tap = config.Tap{URL: url, All: contract.TapEverything}
		return filtertest.New(t, lab.Tool(t, "HARMONY_WASM"), string(filterconfig.AppendJSON(nil, c.Filter())),
			filtertest.BufferLimit(int(c.BodyLimit)+1<<20), filtertest.Protocols(filtertest.HTTP2, filtertest.HTTP2),
			filtertest.Clusters(filtertest.Server, contract.TapCluster),
			filtertest.Environment(map[string]string{contract.TapKeyVariable: key, "HARMONY_SEAL_KEYS": hostile.SealKeys}))
	}
	plain, tapped := start(""), start("http://127.0.0.1:3")
	ask := func(h *filtertest.Host, path string, body []byte) string {
		x := h.BeginRequest("POST", path, "content-type", "application/json")
		x.EndRequest(string(body))
		said := "sent"
		if r := x.Client(); r.Headers != nil {
			said = r.Header(":status") + " " + r.Body()
		}
		if !x.Done() {
			x.ClientLeaves()
		}
		if h.Stats().Failed {
			t.Fatalf("the VM has ended: %d bytes to %s: %.200s", len(body), path, body)
		}
		h.Advance(300 * time.Millisecond)
		return said
	}
	families := hostile.All()
	step := 7 // all of them take a minute
	if lab.AtLength() {
		step = 1
	}
	refused := 0
	for i := 0; i < len(families); i += step {
		f := &families[i]
		body := f.Body(int(c.BodyLimit), 1)
		want, got := ask(plain, f.Path, body), ask(tapped, f.Path, body)
		if strings.HasPrefix(want, "429") {
			refused++
		}
		if want != got {
			t.Errorf("%s: %.200s without a tap, %.200s with it", f.Name, want, got)
		}
	}
	for _, h := range []*filtertest.Host{plain, tapped} {
		if s := h.Stats(); s.Reloads > 0 {
			t.Errorf("%+v", s)
		}
	}
	open := 0
	for _, call := range tapped.Callouts() {
		if call.Open() {
			open++
		}
		if len(call.Body) > 256<<10 {
			t.Errorf("a call of %d bytes", len(call.Body))
		}
	}
	if n := len(tapped.Callouts()); open > 1 || n < 2 || len(plain.Callouts()) > 0 {
		t.Errorf("%d of %d calls are open", open, n)
	}
	t.Logf("%d families, %d refused for want of memory; memory %d and %d KiB", len(families), refused,
		plain.Stats().MemoryBytes>>10, tapped.Stats().MemoryBytes>>10)
}
