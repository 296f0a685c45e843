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

	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/internal/filterfile"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
	"github.com/harmonyedge/harmonyedge/sim"
)

// rolloutStreams is how many streams run over a rollout.
const rolloutStreams = 100

// startRollout starts a control plane with three Envoys, the last of which is the group canary, and streams on them
// that go on until release is called.
func startRollout(t *testing.T) (p *plane, streams *longStreams, release func()) {
	t.Helper()
	const words, rate = 30, 20
	gpu, url := lab.RunSim(t, sim.Options{Script: longScript(rolloutStreams, words), TokensPerSecond: rate,
		HoldAfter: 2 * words, MaxRunning: 2 * rolloutStreams})
	p = preparePlane(t, planeSettings{servers: []string{url}, envoys: 2})
	p.wasm = filepath.Join(p.folder, "filter.wasm")
	copyFilter(t, p.wasm)
	p.run()
	p.addEnvoy("--group", "canary")
	p.await("three Envoys are current", func(server.Status) bool { return true })
	clients := make([]streamClient, rolloutStreams)
	for i := range clients {
		clients[i] = streamClient{lab.HTTP2(t), p.urls[i%len(p.urls)]}
		if i%2 == 0 {
			clients[i].http = lab.HTTP1(t)
		}
	}
	return p, openStreams(t, words, clients), gpu.Release
}

// load asks all Envoys until the function that it returns is called, which returns how many requests were answered with
// 200 and how many were not.
func (p *plane) load() (stop func() (well, failed int64)) {
	p.Helper()
	var all sync.WaitGroup
	var well, failed atomic.Int64
	ended := make(chan struct{})
	for _, url := range p.urls {
		client := lab.HTTP1(p.T)
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(lab.Pause):
				}
				if a := lab.AskChat(client, url); a.Status == http.StatusOK && a.Err == nil {
					well.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	return func() (int64, int64) {
		close(ended)
		all.Wait()
		return well.Load(), failed.Load()
	}
}

// rollout runs harmony rollout to its end.
func (p *plane) rollout(arguments ...string) *lab.Program {
	p.Helper()
	said := lab.RunHarmony(p.T, nil, append([]string{"rollout", "--address", p.status}, arguments...)...)
	if !said.Ended(longPatience) {
		p.Fatal("harmony rollout does not end")
	}
	return said
}

// TestRolloutOfABadFilter rolls out a filter that fails one request in ten, and kills all requests of its VM with it.
// It is taken back by itself, while streams run, and no stream is cut.
func TestRolloutOfABadFilter(t *testing.T) {
	p, streams, release := startRollout(t)
	built, err := os.ReadFile(lab.Tool(t, "HARMONY_FAILING_WASM"))
	if err != nil {
		t.Fatal(err)
	}
	stamped, err := filterfile.Stamp(built, "failing")
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(p.folder, "bad.wasm")
	writeFilter(t, bad, stamped)
	stop := p.load()

	none := filepath.Join(p.folder, "none.wasm") // passes for a filter here, and for no Envoy
	writeFilter(t, none, stub.Filter("none"))
	if said := p.rollout("--filter", none, "--for", "2m", "--wait"); said.ExitCode(t) != 1 ||
		!strings.Contains(said.Stdout.String(), "refuses it") {
		t.Errorf("a filter that Envoys refuse: %s%s", &said.Stdout, &said.Stderr)
	}
	begin := time.Now()
	said := p.rollout("--filter", bad, "--share", "10%", "--for", "2m", "--wait")
	took := time.Since(begin).Round(time.Second)
	s, err := p.ask()
	if err != nil {
		t.Fatal(err)
	}
	if code := said.ExitCode(t); code != 1 || s.Rollout == nil || s.Rollout.State != rollout.TakenBack ||
		s.Rollout.Step != 1 || !strings.HasPrefix(s.Rollout.Reason, "vm_failures") {
		t.Fatalf("after %s it ends with %d: %+v\n%s%s", took, code, s.Rollout, &said.Stdout, &said.Stderr)
	}
	t.Logf("taken back after %s: %s", took, s.Rollout.Reason)
	p.await("all Envoys are current again", func(s server.Status) bool { return true })
	well, failed := stop()
	t.Logf("%d requests were answered meanwhile, and %d failed", well, failed)
	if failed == 0 || failed > well/5 {
		t.Error("the filter has not failed as it should")
	}
	for i := range p.envoys {
		p.awaitFilter(i, shippedOwner)
	}
	stop = p.load()
	streams.running(t)
	release()
	streams.finish(t)
	if well, failed := stop(); failed > 0 || well == 0 {
		t.Errorf("after it was taken back %d requests were answered, and %d failed", well, failed)
	}
	if said := p.harmonyStatus(); !strings.Contains(said.Stdout.String(), "TAKEN BACK") {
		t.Errorf("harmony status:\n%s", &said.Stdout)
	}
}

// TestRolloutOfAGoodFilter rolls out another build of the filter, over a restart of the control plane, until all Envoys
// have it, while streams run. Then an operator takes it back.
func TestRolloutOfAGoodFilter(t *testing.T) {
	p, streams, release := startRollout(t)
	good := filepath.Join(p.folder, "good.wasm")
	version := newFilter(t, good)
	stop := p.load()
	if said := p.rollout("--filter", good, "--group", "canary", "--for", "6s", "--requests", "30"); said.ExitCode(t) != 0 {
		t.Fatalf("%s%s", &said.Stdout, &said.Stderr)
	}
	if said := p.rollout("--filter", good); said.ExitCode(t) != 1 ||
		!strings.Contains(said.Stderr.String(), "is under way") {
		t.Errorf("a second one: %s%s", &said.Stdout, &said.Stderr)
	}
	p.await("the canary has it", func(s server.Status) bool {
		return s.Rollout.Accepted == 1 && s.Envoys[2].Chosen && s.Envoys[2].Group == "canary"
	})
	p.end(syscall.SIGTERM)
	p.start()
	p.await("one Envoy has it after a restart", func(s server.Status) bool {
		return s.Rollout.State == rollout.Watching && s.Rollout.Accepted == 1
	})
	said := p.rollout("--wait")
	if code := said.ExitCode(t); code != 0 || !strings.Contains(said.Stdout.String(), "done") {
		t.Fatalf("it ends with %d\n%s%s", code, &said.Stdout, &said.Stderr)
	}
	p.await("it is that of all", func(s server.Status) bool { return s.Filter.Version == version && s.Filter.Rollout })
	p.wantFilters(newOwner, version)
	if said := p.rollout("--back"); said.ExitCode(t) != 0 {
		t.Errorf("back: %s%s", &said.Stdout, &said.Stderr)
	}
	for i := range p.envoys {
		p.awaitFilter(i, shippedOwner)
	}
	if well, failed := stop(); failed > 0 {
		t.Errorf("%d requests were answered meanwhile, and %d failed", well, failed)
	} else {
		t.Logf("%d requests were answered meanwhile", well)
	}
	streams.running(t)
	release()
	streams.finish(t)
}
