//go:build e2e

package routing

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestDeadServerIsIdle: one of four servers is killed, no Envoy has noticed yet, and the others are busy. The dead
// server has the fewest requests, so Envoy chooses it first, also for a retry. The requests are answered by the busy
// servers all the same: none is answered 503, and none goes to a spare. Each case has a model and servers of its own in
// one Envoy.
func TestDeadServerIsIdle(t *testing.T) {
	c := lab.OneModel("http://127.0.0.1:1")
	c.Models = nil
	var cases []*deadServer
	for _, policy := range []string{config.PolicyLeastRequest, config.PolicyRoundRobin} {
		for _, spares := range []int{0, 1} {
			for _, requests := range []int{1, 8} {
				d := &deadServer{model: fmt.Sprintf("m-%d", len(cases)), policy: policy, spares: spares, requests: requests}
				d.addTo(t, c)
				cases = append(cases, d)
			}
		}
	}
	host := lab.RunEnvoy(t, c)
	for _, d := range cases {
		t.Run(fmt.Sprintf("%s/%d spares/%d requests", d.policy, d.spares, d.requests),
			func(t *testing.T) { d.test(t, host.URL) })
	}
}

// deadServer is a case of [TestDeadServerIsIdle].
type deadServer struct {
	model, policy    string
	spares, requests int
	servers          []*sim.Server
}

// ownServers is how many servers a model has beside spares.
const ownServers = 4

// addTo starts the case's servers, and adds its model and pools to a configuration.
func (d *deadServer) addTo(t *testing.T, c *config.Config) {
	script := sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})
	var urls []string
	for range ownServers + d.spares {
		s, url := lab.RunSim(t, sim.Options{Models: []string{d.model}, Script: script, HoldAfter: 2})
		d.servers, urls = append(d.servers, s), append(urls, url)
	}
	unchecked := config.Health{Path: config.NoHealthChecks} // so that nothing but requests finds the server dead
	pool := config.Pool{Name: "pool-" + d.model, Policy: d.policy, Health: unchecked, Servers: urls[:ownServers]}
	if d.spares > 0 {
		spare := config.Pool{Name: "spare-" + d.model, Servers: urls[ownServers:], Health: unchecked}
		pool.Spares = []string{spare.Name}
		c.Pools = append(c.Pools, spare)
	}
	addPooled(c, d.model, pool)
}

func (d *deadServer) test(t *testing.T, url string) {
	const own = ownServers
	servers, spares, requests := d.servers, d.spares, d.requests
	ask := func() lab.Answer { return lab.Ask(lab.HTTP1(t), url+lab.ChatPath, lab.ChatBody(d.model, "Hi")) }
	answers := make(chan lab.Answer, own-1+requests)
	// send sends a request and waits until a server has it. A request that no server gets is answered.
	sent := 0
	send := func(n int) {
		t.Helper()
		sent += n
		for range n {
			go func() { answers <- ask() }()
		}
		for end := time.Now().Add(lab.Patience); ; {
			arrived := len(answers)
			for _, n := range servedBy(servers) {
				arrived += n
			}
			if arrived == sent {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d of %d requests have arrived", arrived, sent)
			}
			time.Sleep(lab.Pause)
		}
	}
	for range own - 1 {
		send(1)
	}
	dead := slices.Index(servedBy(servers)[:own], 0)
	servers[dead].Close()
	send(requests)
	got := servedBy(servers)
	if got[dead] != 0 || spares > 0 && got[own] != 0 {
		t.Errorf("the servers have got %d requests; %d is dead, and from %d on they are spares", got, dead, own)
	}
	for _, s := range servers {
		s.Release()
	}
	for range sent {
		if a := <-answers; a.Status != http.StatusOK {
			t.Errorf("got %d %s %v", a.Status, a.Body, a.Err)
		}
	}
}
