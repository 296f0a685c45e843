//go:build e2e

package controlplane

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneUpgrade does what docs/upgrading.md says of the filter: its file is replaced, once. Both Envoys follow,
// and say so. The streams that run meanwhile come whole, and no request fails, also while the control plane is
// restarted. An Envoy that comes later has the new filter.
func TestControlPlaneUpgrade(t *testing.T) {
	const words, rate = 40, 20
	gpu, url := lab.RunSim(t, sim.Options{Script: longScript(2, words), TokensPerSecond: rate, HoldAfter: 2 * words})
	p := preparePlane(t, planeSettings{servers: []string{url}, envoys: 2})
	p.wasm = filepath.Join(p.folder, "filter.wasm")
	first := copyFilter(t, p.wasm)
	p.run()
	streams := openStreams(t, words, []streamClient{{lab.HTTP1(t), p.urls[0]}, {lab.HTTP2(t), p.urls[1]}})
	p.wantFilters(shippedOwner, first)
	stop := p.askAll()

	begin := time.Now()
	second := newFilter(t, p.wasm)
	p.await("the new filter is in force", func(s server.Status) bool { return s.Filter.Version == second })
	t.Logf("both Envoys are current %s after the change", time.Since(begin).Round(time.Millisecond))
	p.wantFilters(newOwner, second)

	// A file that is being copied.
	whole, err := os.ReadFile(p.wasm)
	if err != nil {
		t.Fatal(err)
	}
	p.replace("filter.wasm", string(whole[:len(whole)/2]))
	p.await("the half file is told", func(s server.Status) bool {
		return strings.Contains(s.Filter.Error, "ends in the middle of a WebAssembly module") && s.Filter.Version == second
	})
	if said := p.harmonyStatus(); said.ExitCode(t) != 1 || !strings.Contains(said.Stdout.String(), "REFUSED: "+p.wasm) {
		t.Errorf("harmony status does not tell of the half file:\n%s%s", &said.Stdout, &said.Stderr)
	}

	p.end(syscall.SIGTERM) // the last good filter is served by a control plane that has never read it itself
	p.start()
	p.await("both Envoys are current", func(s server.Status) bool { return s.Filter.Version == second })
	p.addEnvoy()
	p.await("three Envoys are current", func(server.Status) bool { return true })
	p.wantFilters(newOwner, second)
	copyFilter(t, p.wasm) // the way back
	p.await("the old filter is in force", func(s server.Status) bool { return s.Filter.Version == first })
	p.wantFilters(shippedOwner, first)
	said := p.harmonyStatus()
	if code, n := said.ExitCode(t), strings.Count(said.Stdout.String(), " current\n"); code != 0 || n != 3 {
		t.Errorf("harmony status ends with %d, and calls %d Envoys current:\n%s%s", code, n, &said.Stdout, &said.Stderr)
	}

	stop()
	streams.running(t)
	gpu.Release()
	streams.finish(t)
}

// wantFilters waits until every Envoy answers by a filter and tells its version.
func (p *plane) wantFilters(owner, version string) {
	p.Helper()
	for i := range p.envoys {
		p.awaitFilter(i, owner)
		if got := p.buildInfo(i); !strings.Contains(got, version) {
			p.Errorf("Envoy %d tells the versions %q, not %s", i+1, got, version)
		}
	}
}

// askAll asks the first two Envoys for answers, one after the other, until the function that it returns is called. No
// request may fail.
func (p *plane) askAll() (stop func()) {
	p.Helper()
	var all sync.WaitGroup
	var asked atomic.Int64
	ended := make(chan struct{})
	for _, url := range p.urls[:2] {
		client := lab.HTTP1(p.T)
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(lab.Pause):
				}
				asked.Add(1)
				if a := lab.AskChat(client, url); a.Status != http.StatusOK || a.Err != nil {
					p.Errorf("%s: %+v", url, a)
					return
				}
			}
		})
	}
	return func() {
		p.Helper()
		close(ended)
		all.Wait()
		p.Logf("%d requests were answered meanwhile", asked.Load())
	}
}

// harmonyStatus runs harmony status.
func (p *plane) harmonyStatus() *lab.Program {
	p.Helper()
	said := lab.RunHarmony(p.T, nil, "status", "--address", p.status)
	if !said.Ended(lab.Patience) {
		p.Fatal("harmony status does not end")
	}
	return said
}
