//go:build e2e

package controlplane

import (
	"net/http"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneMemory: a worker's VM lives through all changes of the filter's configuration, and may not keep
// something large of each. Envoy says at each of them that the VM starts.
func TestControlPlaneMemory(t *testing.T) {
	const (
		first   = 5 // changes after which everything that is made once has been made
		changes = 25
		most    = changes << 10 // KiB; the vocabulary alone is four times as much for each change and VM
	)
	_, url := lab.RunSim(t, sim.Options{Keep: -1})
	p := startPlane(t, planeSettings{servers: []string{url}, envoys: 1})
	client := lab.HTTP1(t)
	change := func(from, to int) (resident int) {
		for i := from; i < to; i++ {
			before := p.versions()
			p.setReasoning(1000 + i)
			p.changed("extensions", before)
			if a := lab.AskChat(client, p.urls[0]); a.Status != http.StatusOK {
				t.Fatalf("after %d changes: %+v", i, a)
			}
		}
		resident, err := hosts.ResidentKiB(p.envoys[0].PID())
		if err != nil {
			t.Fatal(err)
		}
		return resident
	}
	begin := change(0, first)
	if end := change(first, first+changes); end-begin > most {
		t.Errorf("%d changes of the filter's configuration have cost %d KiB, from %d", changes, end-begin, begin)
	}
}
