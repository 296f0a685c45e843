//go:build e2e

package controlplane

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneFileComesLate: an Envoy lacks the filter's file that a restarted control plane names. The status says
// so for as long as it is true, also after another restart, and a restart is enough when the file is there. Envoy
// itself acknowledges a configuration that it has refused before, without trying it.
func TestControlPlaneFileComesLate(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	p := startPlane(t, planeSettings{servers: []string{url}, envoys: 1})
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
	}
}

// The owners of the model that two builds of the filter report: the shipped one, and that of newFilter. They have the
// same length, so that one can replace the other in a module.
const shippedOwner, newOwner = "harmony-edge", "harmony-next"

// newFilter writes another build of the filter to a file. Clients can distinguish it from the shipped one.
func newFilter(t *testing.T, path string) {
	t.Helper()
	shipped, err := os.ReadFile(lab.Tool(t, "HARMONY_WASM"))
	if err != nil {
		t.Fatal(err)
	}
	const told = `"owned_by":"`
	other := strings.ReplaceAll(string(shipped), told+shippedOwner, told+newOwner)
	if other == string(shipped) {
		t.Fatal("the filter does not tell a model's owner in these words")
	}
	if err := os.WriteFile(path+".new", []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// filterOf returns the model's owner, as an Envoy's filter reports it.
func (p *plane) filterOf(envoy int) string {
	p.Helper()
	a := lab.Do(lab.HTTP1(p.T), http.MethodGet, p.urls[envoy]+"/v1/models", nil, nil)
	_, after, _ := strings.Cut(a.Body, `"owned_by":"`)
	owner, _, ok := strings.Cut(after, `"`)
	if !ok {
		p.Fatalf("no owner in %+v", a)
	}
	return owner
}

// awaitFilter waits until an Envoy's requests are those of a filter: its workers follow a moment after it has accepted.
func (p *plane) awaitFilter(envoy int, want string) {
	p.Helper()
	for deadline := time.Now().Add(lab.Patience); ; {
		got := p.filterOf(envoy)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("Envoy %d is current, and answers by the filter %q, not %q", envoy+1, got, want)
		}
	}
}
