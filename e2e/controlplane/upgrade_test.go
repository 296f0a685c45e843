//go:build e2e

package controlplane

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneUpgrade does what docs/upgrading.md says of the filter: the new file beside the old one, then a
// control plane that names it. Both Envoys follow, and say so; the streams that ran meanwhile come whole.
func TestControlPlaneUpgrade(t *testing.T) {
	const words, rate = 40, 20
	gpu, url := lab.RunSim(t, sim.Options{Script: longScript(2, words), TokensPerSecond: rate, HoldAfter: 2 * words})
	p := startPlane(t, planeSettings{servers: []string{url}, envoys: 2})
	streams := openStreams(t, words, []streamClient{{lab.HTTP1(t), p.urls[0]}, {lab.HTTP2(t), p.urls[1]}})
	for i := range p.envoys {
		if got := p.filterOf(i); got != shippedOwner {
			t.Fatalf("before the upgrade Envoy %d answers by the filter %q", i+1, got)
		}
	}

	p.wasm = filepath.Join(p.folder, "filter-2.wasm")
	newFilter(t, p.wasm)
	p.end(syscall.SIGTERM)
	p.start()
	p.await("both Envoys are current", func(server.Status) bool { return true })
	said := lab.RunHarmony(t, nil, "status", "--address", p.status)
	if !said.Ended(lab.Patience) {
		t.Fatal("harmony status does not end")
	}
	if code, n := said.ExitCode(t), strings.Count(said.Stdout.String(), " current\n"); code != 0 || n != 2 {
		t.Errorf("harmony status ends with %d, and calls %d Envoys current:\n%s%s", code, n, &said.Stdout, &said.Stderr)
	}
	for i := range p.envoys {
		p.awaitFilter(i, newOwner)
		if a := lab.AskChat(lab.HTTP1(t), p.urls[i]); a.Status != http.StatusOK || a.Err != nil {
			t.Errorf("after the upgrade: %+v", a)
		}
	}

	streams.running(t)
	gpu.Release()
	streams.finish(t)
}
