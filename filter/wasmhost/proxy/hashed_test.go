package proxy

import (
	"fmt"
	"testing"
)

func hashedCluster(servers, maxLoad int) *cluster {
	c := &cluster{Cluster: Cluster{MaxLoad: maxLoad}}
	for i := range servers {
		c.endpoints = append(c.endpoints, &endpoint{Endpoint: Endpoint{Address: fmt.Sprintf("10.0.0.%d:8000", i)}})
	}
	return c
}

// TestHashed: texts are spread evenly, each stays with its server, and a server that goes takes only its own with it.
func TestHashed(t *testing.T) {
	const texts = 5000
	five := hashedCluster(5, 125)
	gone := five.endpoints[2]
	homes := map[*endpoint]int{}
	for i := range texts {
		text := fmt.Sprintf("%016x", i)
		home := five.pickHashed(text, nil)
		homes[home]++
		if again := five.pickHashed(text, nil); again != home {
			t.Fatalf("%s went from %s to %s", text, home.Address, again.Address)
		}
		if next := five.pickHashed(text, []*endpoint{gone}); next == gone || home != gone && next != home {
			t.Fatalf("%s went from %s to %s", text, home.Address, next.Address)
		}
	}
	for e, n := range homes {
		if n < texts/5*8/10 || n > texts/5*12/10 {
			t.Errorf("%s has %d of %d texts", e.Address, n, texts)
		}
	}
	if e := five.pickHashed("x", five.endpoints); e != nil {
		t.Errorf("all were tried, and %s is chosen", e.Address)
	}
}

// TestHashedLoad: one text for all requests does not load one server alone.
func TestHashedLoad(t *testing.T) {
	for maxLoad, most := range map[int]int64{125: 14, 0: 40} {
		c := hashedCluster(4, maxLoad)
		for range 40 {
			c.pickHashed("the only one", nil).active.Add(1)
		}
		top := int64(0)
		for _, e := range c.endpoints {
			top = max(top, e.active.Load())
		}
		if top != most {
			t.Errorf("with a bound of %d %% a server has %d of 40 requests, want %d", maxLoad, top, most)
		}
	}
}

// TestTakenOut checks that a server that is out gets nothing, by load and by hash, unless all are out.
func TestTakenOut(t *testing.T) {
	two := hashedCluster(2, 0)
	p := &Proxy{clusters: map[string]*cluster{"c": two}}
	chosen := func() map[string]bool {
		all := map[string]bool{}
		for i := range 50 {
			all[two.pickHashed(fmt.Sprintf("%016x", i), nil).Address] = true
			all[two.pick(nil).Address] = true
		}
		return all
	}
	two.endpoints[1].active.Store(5)
	p.TakeOut("c", func(address string) bool { return address == "10.0.0.0:8000" })
	if got := chosen(); got["10.0.0.0:8000"] || !got["10.0.0.1:8000"] {
		t.Errorf("one is out, and chosen are %v", got)
	}
	if e := two.pick([]*endpoint{two.endpoints[1]}); e != nil || two.inUse() != 1 {
		t.Errorf("the other was tried, and %v is chosen; in use: %d", e, two.inUse())
	}
	p.TakeOut("c", func(string) bool { return true })
	if got := chosen(); len(got) != 2 || two.inUse() != 2 {
		t.Errorf("all are out, and chosen are %v", got)
	}
	p.TakeOut("c", func(string) bool { return false })
	p.TakeOut("another", func(string) bool { return true })
	if got := chosen(); len(got) != 2 {
		t.Errorf("none is out, and chosen are %v", got)
	}
}
