package picker

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
)

func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 8000)
}

// servers returns n servers, of which only the load from here is known.
func servers(n int) []Server {
	var all []Server
	for i := range n {
		all = append(all, Server{Address: address(i), Requests: -1})
	}
	return all
}

// picking is a picker with one pool whose clock stands still.
type picking struct {
	*Picker
	at time.Time
}

func pickingOf(o Options, s ...Server) *picking {
	p := &picking{Picker: New(o), at: time.Now()}
	p.now = func() time.Time { return p.at }
	p.Set(map[string][]Server{"p": s})
	return p
}

func (p *picking) choose(t *testing.T, chain []uint64) *choice {
	t.Helper()
	c := p.Picker.choose(p.pool("p"), chain, nil)
	if c == nil {
		t.Fatal("no server is chosen")
	}
	return c
}

// prompt returns a chain that has nothing in common with other tenants' chains.
func prompt(tenant uint64, blocks int) []uint64 {
	chain := make([]uint64, blocks)
	for i := range chain {
		chain[i] = tenant<<32 + uint64(i)
	}
	return chain
}

func TestSamePrefixSameServer(t *testing.T) {
	p := pickingOf(Options{}, servers(8)...)
	home := map[uint64]netip.AddrPort{}
	for turn := range 5 {
		for tenant := range uint64(64) {
			c := p.choose(t, prompt(tenant, 40+10*turn))
			if turn == 0 {
				home[tenant] = c.first.Address
			} else if c.first.Address != home[tenant] || c.reason != ReasonPrefix {
				t.Fatalf("turn %d: %v for %s, want %v", turn, c.first.Address, c.reason, home[tenant])
			}
			if a := c.named; len(a) != 3 || a[0] == a[1] || a[1] == a[2] || a[0] == a[2] {
				t.Fatalf("chosen are %v", a)
			}
			c.end()
			p.at = p.at.Add(time.Second)
		}
	}
}

func TestBusyServerPassesOn(t *testing.T) {
	p := pickingOf(Options{}, servers(4)...)
	var open []*choice
	perServer := map[netip.AddrPort]int{}
	reasonsOf := map[Reason]int{}
	for i := range 400 {
		c := p.choose(t, prompt(1, 100+i))
		perServer[c.first.Address]++
		reasonsOf[c.reason]++
		open = append(open, c)
	}
	for a, n := range perServer {
		if n > 400/4*125/100+spareRequests+1 {
			t.Errorf("%v has %d of 400 requests", a, n)
		}
	}
	if reasonsOf[ReasonPrefix] == 0 || reasonsOf[ReasonBalance] == 0 {
		t.Errorf("the reasons are %v", reasonsOf)
	}
	for _, c := range open {
		c.end()
		c.end() // a second end is harmless
	}
	for _, s := range p.pool("p").servers {
		if s.running != 0 {
			t.Errorf("%v has %d requests after all have ended", s.Address, s.running)
		}
	}
}

func TestLoadAlone(t *testing.T) {
	all := servers(3)
	all[0].Requests, all[1].Requests, all[2].Requests = 9, 2, 5
	p := pickingOf(Options{}, all...)
	c := p.choose(t, nil)
	if got := c.named; c.reason != ReasonLoad || !slices.Equal(got, []netip.AddrPort{address(1), address(2), address(0)}) {
		t.Errorf("chosen are %v for %s", got, c.reason)
	}
}

// TestBacklog: a long prompt that a server has to read keeps others away for a while.
func TestBacklog(t *testing.T) {
	p := pickingOf(Options{}, servers(2)...)
	long := p.choose(t, prompt(1, 2000))
	long.end() // what it would still hold is the backlog alone
	for range 8 {
		c := p.choose(t, nil)
		if c.first.backlog(p.at) > 0 {
			t.Errorf("%v has a backlog of %v", c.first.Address, c.first.backlog(p.at))
		}
		c.end()
	}
	p.at = p.at.Add(3 * time.Second)
	for _, s := range p.pool("p").servers {
		if b := s.backlog(p.at); b != 0 {
			t.Errorf("%v has a backlog of %v after 3 s", s.Address, b)
		}
	}
}

// TestOtherServerAnswers: a server that has not taken a request is the last choice for some time, and the one that has
// answered has the prompt.
func TestOtherServerAnswers(t *testing.T) {
	p := pickingOf(Options{}, servers(3)...)
	c := p.choose(t, prompt(1, 50))
	dead, second := c.named[0], c.named[1]
	c.answered(second)
	c.answered(second)
	c.end()
	for range 20 {
		c := p.choose(t, prompt(1, 60))
		if a := c.named; a[0] != second || a[2] != dead {
			t.Fatalf("chosen are %v; %v has not answered, and %v has", a, dead, second)
		}
		c.end()
	}
	p.at = p.at.Add(suspicion)
	if best, _, _ := p.rank(p.pool("p"), nil, nil); best[2].last {
		t.Error("the server is still suspected")
	}
	c = p.choose(t, nil)
	c.answered(netip.MustParseAddrPort("192.0.2.1:1")) // a spare
	c.end()
	for _, s := range p.pool("p").servers {
		if s.running != 0 {
			t.Errorf("%v has %d requests", s.Address, s.running)
		}
	}
}

func TestServersComeAndGo(t *testing.T) {
	p := pickingOf(Options{BlocksPerServer: 100, MaxBlocks: 240}, servers(2)...)
	first := p.choose(t, prompt(1, 200))
	p.at = p.at.Add(time.Second)
	if n := first.first.cache.len(); n != 100 {
		t.Errorf("the cache has %d blocks", n)
	}
	p.Set(map[string][]Server{"p": servers(4), "q": nil})
	for _, s := range p.pool("p").servers {
		if s.cache.len() > 60 {
			t.Errorf("%v has %d blocks, and 240 are for four servers", s.Address, s.cache.len())
		}
	}
	if c := p.choose(t, prompt(1, 200)); c.first.Address != first.first.Address {
		t.Error("the server has lost its blocks because others came")
	}
	gone := first.first.Address
	p.Set(map[string][]Server{"p": slices.DeleteFunc(servers(4), func(s Server) bool { return s.Address == gone })})
	first.answered(gone)
	first.end()
	if c := p.choose(t, prompt(1, 200)); c.first.Address == gone || c.reason != ReasonLoad || c.first.running != 1 {
		t.Errorf("chosen is %v for %s", c.first.Address, c.reason)
	}
	p.Set(map[string][]Server{"p": {}})
	if c := p.Picker.choose(p.pool("p"), nil, nil); c != nil {
		t.Errorf("chosen is %v of no servers", c.named)
	}
	doubtful := servers(2)
	doubtful[0].Doubtful = true
	p.Set(map[string][]Server{"p": doubtful})
	for range 20 {
		if c := p.choose(t, nil); c.first.Address != address(1) {
			t.Fatal("a doubtful server is chosen before one that is there")
		}
	}
	p.Set(map[string][]Server{"p": doubtful[:1]})
	p.choose(t, nil)
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	p := New(Options{MaxBlocks: 1000})
	p.Set(map[string][]Server{"p": servers(10)})
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range 300 {
				c := p.choose(p.pool("p"), prompt(r.Uint64N(20), 1+r.IntN(50)), nil)
				if i%10 == 0 {
					p.Set(map[string][]Server{"p": servers(5 + r.IntN(10))})
					p.status()
				}
				if r.IntN(2) == 0 {
					c.answered(address(r.IntN(15)))
				}
				c.end()
			}
		})
	}
	all.Wait()
	for _, s := range p.pool("p").servers {
		if s.running != 0 {
			t.Errorf("%v has %d requests", s.Address, s.running)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{8, 200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := New(Options{})
			p.Set(map[string][]Server{"p": servers(n)})
			pool := p.pool("p")
			var i uint64
			for b.Loop() {
				i++
				p.choose(pool, prompt(i%1000, 512), nil).end()
			}
		})
	}
}
