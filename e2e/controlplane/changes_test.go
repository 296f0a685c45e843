//go:build e2e

package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	planeStreams = 200
	planeServers = 6
	// planeRate is slow enough for all these streams on a small machine; their last words wait until everything has
	// happened.
	planeRate = 4
	// planeOthers is how many clients ask each Envoy for short answers meanwhile.
	planeOthers = 4
	// planeBlock is for how many changes two servers stay in the list: requests need one that has been found well.
	planeBlock = 20
)

// planeRun is how much happens while the streams run: `make controlplane` does it all, `make test` a part.
type planeRun struct{ endpoints, filters, words int }

// TestControlPlaneChanges: servers come and go, the filter's configuration changes and the control plane is ended and
// killed while streams run on two Envoys. Every stream goes on to its end, with every word once, and the Envoys follow.
func TestControlPlaneChanges(t *testing.T) {
	run := planeRun{100, 10, 60}
	if os.Getenv("HARMONY_CONTROL_PLANE") != "" {
		run = planeRun{1000, 50, 200}
	}
	script := longScript(planeStreams, run.words)
	var servers []*sim.Server
	var urls []string
	for range planeServers {
		s, url := lab.RunSim(t, sim.Options{Script: script, TokensPerSecond: planeRate, HoldAfter: 2 * run.words, Keep: -1})
		servers, urls = append(servers, s), append(urls, url)
	}
	p := startPlane(t, planeSettings{servers: urls, envoys: 2, pool: "    health: { interval: 1s }\n"})
	one, two := lab.HTTP1(t), lab.HTTP2(t)
	one.Timeout, two.Timeout = 0, 0 // a stream takes as long as it takes
	var clients []streamClient
	for i := range planeStreams {
		clients = append(clients, streamClient{[]*http.Client{one, two}[i%2], p.urls[i%2]})
	}
	streams := openStreams(t, run.words, clients)
	others := askAlong(t, p)

	random := rand.New(rand.NewPCG(1, 2))
	var endpoints, filters, restarts []time.Duration
	begin := time.Now()
	for i := range run.endpoints {
		before := p.versions()
		began := time.Now()
		p.setServers(someServers(random, urls, p.settings.servers, i/planeBlock))
		p.changed("endpoints", before)
		endpoints = append(endpoints, time.Since(began))
		if every := run.endpoints / run.filters; i%every == every/2 {
			began = time.Now()
			p.setReasoning(1000 + i)
			p.changed("extensions", before)
			filters = append(filters, time.Since(began))
		}
		for j, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			if i == (j+1)*run.endpoints/3 {
				restarts = append(restarts, p.restart(signal, someServers(random, urls, p.settings.servers, i/planeBlock)))
			}
		}
	}
	took := time.Since(begin)
	streams.running(t)
	answered := others()
	words := streams.tokens.Load()
	for _, s := range servers {
		s.Release()
	}
	streams.finish(t)
	p.await("the Envoys have converged", func(server.Status) bool { return true })
	t.Logf("%d streams over 2 Envoys and %d servers, none cut; %d pieces came while %d changes and 2 restarts happened "+
		"in %s, and %d other requests were answered",
		planeStreams, planeServers, words, run.endpoints+run.filters, took.Round(time.Second), answered)
	t.Logf("from the change of a file to both Envoys' acceptance:")
	t.Logf("  %4d changes of endpoints:     %s", len(endpoints), spread(endpoints))
	t.Logf("  %4d changes of the filter:    %s", len(filters), spread(filters))
	t.Logf("  %4d restarts, with a change:  %s, %s from the new start", len(restarts), restarts[0].Round(time.Millisecond),
		restarts[1].Round(time.Millisecond))
}

// restart ends the control plane, changes the servers while there is none, starts another, and returns how soon both
// Envoys have accepted that.
func (p *plane) restart(signal syscall.Signal, servers []string) time.Duration {
	p.Helper()
	p.end(signal)
	if signal == syscall.SIGTERM && p.process.ExitCode(p.T) != 0 {
		p.Errorf("the control plane ended so: %v", p.process.Err)
	}
	p.setServers(servers)
	began := time.Now()
	p.start()
	p.await("the Envoys are current after a restart", func(server.Status) bool { return true })
	return time.Since(began)
}

// someServers are other servers than before. The servers of this block are among them, and of the next, so that there
// are always some that every Envoy has found well.
func someServers(random *rand.Rand, all, before []string, block int) []string {
	for {
		some := []string{all[block%len(all)], all[(block+1)%len(all)]}
		for _, url := range all {
			if random.IntN(2) == 0 && !slices.Contains(some, url) {
				some = append(some, url)
			}
		}
		slices.Sort(some)
		if sorted := slices.Sorted(slices.Values(before)); !slices.Equal(some, sorted) {
			return some
		}
	}
}

// askAlong keeps asking each Envoy, by some clients at once, until the function that it returns is called, which says
// how many were answered. All must be.
func askAlong(t *testing.T, p *plane) func() int {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var answered atomic.Int32
	stop := func() int {
		cancel()
		all.Wait()
		return int(answered.Load())
	}
	t.Cleanup(func() { stop() })
	for _, url := range slices.Repeat(p.urls, planeOthers) {
		client := lab.HTTP1(t)
		all.Go(func() {
			for ctx.Err() == nil {
				if a := lab.AskChat(client, url); a.Status != http.StatusOK || a.Err != nil {
					t.Errorf("a request meanwhile: %+v", a)
					return
				}
				answered.Add(1)
				select {
				case <-ctx.Done():
				case <-time.After(lab.Pause):
				}
			}
		})
	}
	return stop
}

// spread is the median, the 99th of a hundred and the longest of times.
func spread(times []time.Duration) string {
	slices.Sort(times)
	at := func(part float64) time.Duration {
		return times[min(len(times)-1, int(part*float64(len(times))))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("median %s, p99 %s, max %s", at(0.5), at(0.99), at(1))
}
