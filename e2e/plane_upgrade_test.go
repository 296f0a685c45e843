//go:build e2e

package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneUpgrade does what docs/upgrading.md says of the filter: the new file beside the old one, then a control
// plane that names it. Both Envoys follow, and say so; the streams that ran meanwhile come whole.
func TestControlPlaneUpgrade(t *testing.T) {
	const words, rate = 40, 20
	gpu, url := runSim(t, sim.Options{Script: longScript(2, words), TokensPerSecond: rate, HoldAfter: 2 * words})
	p := startPlane(t, planeSettings{servers: []string{url}, envoys: 2})
	streams := openStreams(t, words, []streamClient{{http1(t), p.urls[0]}, {http2Client(t), p.urls[1]}})
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
	said := runHarmony(t, nil, "status", "--address", p.status)
	if !said.ended(patience) {
		t.Fatal("harmony status does not end")
	}
	if code, n := said.exitCode(t), strings.Count(said.stdout.String(), " current\n"); code != 0 || n != 2 {
		t.Errorf("harmony status ends with %d, and calls %d Envoys current:\n%s%s", code, n, &said.stdout, &said.stderr)
	}
	for i := range p.envoys {
		p.awaitFilter(i, newOwner)
		if a := askFor(http1(t), p.urls[i]); a.status != http.StatusOK || a.err != nil {
			t.Errorf("after the upgrade: %+v", a)
		}
	}

	streams.running(t)
	gpu.Release()
	streams.finish(t)
}
