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
// servers all the same: none is answered 503, and none goes to a spare.
func TestDeadServerIsIdle(t *testing.T) {
	for _, policy := range []string{config.PolicyLeastRequest, config.PolicyRoundRobin} {
		for _, spares := range []int{0, 1} {
			for _, requests := range []int{1, 8} {
				t.Run(fmt.Sprintf("%s/%d spares/%d requests", policy, spares, requests), func(t *testing.T) {
					testDeadServer(t, policy, spares, requests)
				})
			}
		}
	}
}

func testDeadServer(t *testing.T, policy string, spares, requests int) {
	const own = 4
	script := sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})
	var servers []*sim.Server
	var urls []string
	for range own + spares {
		s, url := lab.RunSim(t, sim.Options{Script: script, HoldAfter: 2})
		servers, urls = append(servers, s), append(urls, url)
	}
	unchecked := config.Health{Path: config.NoHealthChecks} // so that nothing but requests finds the server dead
	c := poolOf(config.Pool{Policy: policy, Health: unchecked}, urls[:own]...)
	if spares > 0 {
		c.Pools[0].Spares = []string{"spare"}
		c.Pools = append(c.Pools, config.Pool{Name: "spare", Servers: urls[own:], Health: unchecked})
	}
	host := lab.RunEnvoy(t, c)
	answers := make(chan lab.Answer, own-1+requests)
	// send sends a request and waits until a server has it. A request that no server gets is answered.
	sent := 0
	send := func(n int) {
		t.Helper()
		sent += n
		for range n {
			go func() { answers <- lab.AskChat(lab.HTTP1(t), host.URL) }()
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
