//go:build e2e

package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// middle is the weight of a server that has as much to do as the others of its pool.
const middle = 100

// loadedPool is a plane with a pool of simulated servers.
type loadedPool struct {
	*plane
	servers []*sim.Server
	client  *http.Client
}

// startLoaded starts a plane with so many servers in the pool.
func startLoaded(t *testing.T, n int, settings string) *loadedPool {
	t.Helper()
	p := &loadedPool{client: lab.HTTP1(t)}
	var urls []string
	for range n {
		urls = append(urls, p.server(t))
	}
	p.plane = startPlane(t, planeSettings{servers: urls, pool: settings, envoys: 1})
	return p
}

// server starts one more server, and returns its URL.
func (p *loadedPool) server(t *testing.T) string {
	t.Helper()
	s, url := lab.RunSim(t, sim.Options{Keep: 1 << 20})
	p.servers = append(p.servers, s)
	return url
}

// ask sends a request with a session and returns which server answered.
func (p *loadedPool) ask(session string) int {
	p.Helper()
	before := p.answered()
	if a := lab.AskChat(p.client, p.urls[0], "x-session-id", session); a.Status != http.StatusOK {
		p.Fatalf("got %+v", a)
	}
	for i, n := range p.answered() {
		if n > before[i] {
			return i
		}
	}
	p.Fatal("no server got the request")
	return -1
}

func (p *loadedPool) answered() []int {
	n := make([]int, len(p.servers))
	for i, s := range p.servers {
		n[i] = len(lab.Completions(s))
	}
	return n
}

// weightInEnvoy returns the weight that the Envoy has of a server.
func (p *loadedPool) weightInEnvoy(url string) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), lab.Patience)
	defer cancel()
	page, err := p.envoys[0].Get(ctx, "/clusters")
	if err != nil {
		p.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		at := "harmony-pool-gpus::" + strings.TrimPrefix(url, "http://") + "::weight::"
		if weight, ok := strings.CutPrefix(strings.TrimSpace(line), at); ok {
			return weight
		}
	}
	return ""
}

// shown returns a server as the status has it.
func shown(s server.Status, url string) server.PoolServer {
	for _, one := range s.Pools[0].Servers {
		if one.URL == url {
			return one
		}
	}
	return server.PoolServer{}
}

// TestWeightsMoveRequests checks with each policy that a server with more to do than the others gets fewer requests, and
// that no version tells of it.
func TestWeightsMoveRequests(t *testing.T) {
	for _, policy := range []string{"round_robin", "least_request"} {
		t.Run(policy, func(t *testing.T) {
			if policy == "round_robin" {
				lab.Long(t, "e2e-long")
			}
			p := startLoaded(t, 4, "    policy: "+policy+"\n    load: { weights: true, interval: 500ms }\n")
			busy := p.settings.servers[0]
			for _, s := range p.servers {
				s.SetLoad(&sim.Load{Running: 5})
			}
			p.await("all loads are known", func(s server.Status) bool {
				for _, url := range p.settings.servers {
					if one := shown(s, url); one.State != pools.Ready || one.Weight != middle || one.WeightReason != "" {
						return false
					}
				}
				return true
			})
			const requests = 200
			p.share(requests, func(parts []float64) {
				if parts[0] < 0.1 {
					t.Errorf("shares %.2f at the same load", parts)
				}
			})
			before := p.versions()
			p.servers[0].SetLoad(&sim.Load{Running: 60, Waiting: 20})
			took := p.await("a smaller weight", func(s server.Status) bool { return shown(s, busy).Weight <= 35 })
			t.Logf("the weight is 35 after %s: %s", took.Round(time.Millisecond), shown(p.now(), busy).WeightReason)
			p.eventually("the Envoy has it", func() bool { w := p.weightInEnvoy(busy); return w == "35" || w == "25" })
			if after := p.versions(); after["endpoints"] != before["endpoints"] {
				t.Errorf("the version of the endpoints is %s, and was %s", after["endpoints"], before["endpoints"])
			}
			p.share(requests, func(parts []float64) {
				t.Logf("shares with the weights 35 or 25, 100, 100 and 100: %.2f", parts)
				if parts[0] > 0.15 || parts[0] == 0 {
					t.Errorf("the busy server gets %.2f of the requests", parts[0])
				}
			})
			p.servers[0].SetLoad(&sim.Load{Running: 5})
			p.await("the middle's weight again", func(s server.Status) bool { return shown(s, busy).Weight == middle })
			p.eventually("the Envoy has it", func() bool { return p.weightInEnvoy(busy) == "100" })
		})
	}
}

// share sends requests one after the other, and passes the servers' shares of them.
func (p *loadedPool) share(requests int, check func(parts []float64)) {
	p.Helper()
	before := p.answered()
	for range requests {
		p.ask("")
	}
	var parts []float64
	for i, n := range p.answered() {
		parts = append(parts, float64(n-before[i])/float64(requests))
	}
	check(parts)
}

func (p *loadedPool) now() server.Status {
	p.Helper()
	s, err := p.plane.ask()
	if err != nil {
		p.Fatal(err)
	}
	return s
}

// eventually polls until ok reports true.
func (p *loadedPool) eventually(what string, ok func() bool) {
	p.Helper()
	for deadline := time.Now().Add(lab.Patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatal("not so far that " + what)
		}
	}
}

// TestNewServerWarms checks that a server that comes to a pool takes over few sessions at first and its share in the
// end, and that no session moves between the others.
func TestNewServerWarms(t *testing.T) {
	p := startLoaded(t, 4, "    policy: session\n    session: { header: x-session-id }\n    slow_start: 20s\n")
	p.await("all are ready", func(s server.Status) bool {
		for _, url := range p.settings.servers {
			if shown(s, url).State != pools.Ready {
				return false
			}
		}
		return true
	})
	const sessions = 300
	homes := func() (all [sessions]int) {
		for i := range all {
			all[i] = p.ask(fmt.Sprintf("session-%d", i))
		}
		return all
	}
	before := homes()
	url := p.server(t)
	p.setServers(append(p.settings.servers[:4:4], url))
	p.await("the new server is there", func(s server.Status) bool { return shown(s, url).State == pools.Ready })
	// moved returns the parts of the sessions that the new server has, and that have moved between the others.
	moved := func() (here, elsewhere float64) {
		for i, home := range homes() {
			if home == 4 {
				here += 1.0 / sessions
			} else if home != before[i] {
				elsewhere += 1.0 / sessions
			}
		}
		return here, elsewhere
	}
	early, between := moved()
	t.Logf("early, with the weight %d, the new server has %.3f of the sessions; %.3f moved between the others; %s",
		shown(p.now(), url).Weight, early, between, shown(p.now(), url).WeightReason)
	if early > 0.12 || between > 0.05 {
		t.Errorf("early %.3f of the sessions moved to the new server, and %.3f between the others", early, between)
	}
	p.await("its full share", func(s server.Status) bool { return shown(s, url).Weight == 0 })
	p.eventually("the Envoy has it", func() bool { return p.weightInEnvoy(url) == "1" })
	late, between := moved()
	t.Logf("in the end it has %.3f; %.3f moved between the others", late, between)
	if late < 0.12 || late > 0.3 || between > 0.05 {
		t.Errorf("in the end %.3f of the sessions are with the new server, and %.3f moved between the others", late, between)
	}
}
