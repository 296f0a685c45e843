//go:build e2e

package controlplane

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneFileComesLate: Envoys find the filter's file themselves (--wasm-on-envoys), and one lacks the file that
// a restarted control plane names. The status says so for as long as it is true, also after another restart, and a
// restart is enough when the file is there. Envoy itself acknowledges a configuration that it has refused before,
// without trying it.
func TestControlPlaneFileComesLate(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	p := startPlane(t, planeSettings{servers: []string{url}, envoys: 1})
	p.onEnvoys = true
	before := p.versions()["extensions"]
	p.wasm = filepath.Join(p.folder, "filter-2.wasm")
	for range 2 {
		p.end(syscall.SIGTERM)
		p.start()
		p.awaitRefusal(before, "Invalid path: "+p.wasm)
		if got := p.filterOf(0); got != shippedOwner {
			t.Errorf("answered by %q: the old filter is not in force", got)
		}
	}
	newFilter(t, p.wasm)
	p.end(syscall.SIGTERM)
	p.start()
	p.await("the Envoy is current", func(server.Status) bool { return true })
	p.awaitFilter(0, newOwner)
}

// awaitRefusal waits until the one Envoy refuses extensions in these words. It never holds others than it had.
func (p *plane) awaitRefusal(had, words string) {
	p.Helper()
	deadline := time.Now().Add(lab.Patience)
	for {
		s, err := p.ask()
		if err == nil && len(s.Envoys) == 1 {
			extensions := s.Envoys[0].Types["extensions"]
			if strings.Contains(extensions.Error, words) {
				return
			}
			if extensions.Current && extensions.Version != had {
				p.Fatalf("an Envoy without the file is said to hold what names it: %+v", extensions)
			}
		}
		if time.Now().After(deadline) {
			p.Fatalf("the Envoy does not refuse with %q: %+v, %v", words, s, err)
		}
		time.Sleep(lab.Pause)
	}
}
