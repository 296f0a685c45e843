package picker

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
)

// oneClass are the options of a queue with one class.
func oneClass(capacity int) QueueOptions {
	return QueueOptions{Capacity: capacity, BlockSize: 16, Classes: []string{"all"},
		Deadlines: []time.Duration{10 * time.Second}, ClassOf: func(string) (int, int) { return 0, 1 }}
}

// queuing is a picker with a pool that has a queue, and whose clock stands still.
func queuing(o QueueOptions, s ...Server) *picking {
	p := pickingOf(Options{}, s...)
	p.SetQueues(map[string]QueueOptions{"p": o})
	return p
}

func (p *picking) ask(client string, tokens int64) *ticket {
	return p.Picker.ask(p.pool("p"), nil, cost{prompt: tokens, client: client, bytes: 100}, -1)
}

// decided returns the decision about a request, or nil if there is none yet.
func decided(t *ticket) *decision {
	select {
	case d := <-t.done:
		return &d
	default:
		return nil
	}
}

func (p *picking) running() (n, most int) {
	for _, s := range p.status()["p"].servers {
		n, most = n+s.Running, max(most, s.Running)
	}
	return n, most
}

// TestCapacity: requests beyond the capacity wait, one is admitted for each that ends, and no server has more than its
// capacity.
func TestCapacity(t *testing.T) {
	p := queuing(oneClass(3), servers(2)...)
	var running []*choice
	var waiting []*ticket
	for i := range 10 {
		one := p.ask("a", 100)
		switch d := decided(one); {
		case i < 6 && (d == nil || d.choice == nil || d.waited != 0 || d.class != "all"):
			t.Fatalf("request %d is not admitted: %+v", i, d)
		case i < 6:
			running = append(running, d.choice)
		case d != nil:
			t.Fatalf("request %d is admitted: %+v", i, d)
		default:
			waiting = append(waiting, one)
		}
	}
	if n, most := p.running(); n != 6 || most != 3 {
		t.Errorf("%d run, %d of them on one server", n, most)
	}
	p.at = p.at.Add(time.Second)
	for i, one := range waiting {
		running[i].end()
		if d := decided(one); d == nil || d.choice == nil || d.waited != time.Second {
			t.Fatalf("request %d is not admitted: %+v", i, d)
		}
		if n, most := p.running(); n != 6 || most != 3 {
			t.Errorf("%d run, %d of them on one server", n, most)
		}
	}
}

// TestMoreServers: a server that comes takes requests that wait, and one that goes gives none back.
func TestMoreServers(t *testing.T) {
	p := queuing(oneClass(1), servers(1)...)
	var all []*ticket
	for range 4 {
		all = append(all, p.ask("a", 1))
	}
	p.Set(map[string][]Server{"p": servers(3)})
	for i, one := range all {
		if d := decided(one); (d == nil) != (i == 3) {
			t.Errorf("request %d: %+v", i, d)
		}
	}
	o := oneClass(2)
	p.SetQueues(map[string]QueueOptions{"p": o}) // a larger capacity
	if d := decided(all[3]); d == nil || d.choice == nil {
		t.Errorf("the last request: %+v", d)
	}
	for range 2 {
		p.ask("a", 1)
	}
	last := p.ask("a", 1)
	p.SetQueues(nil)
	if d := decided(last); d == nil || d.choice == nil {
		t.Errorf("a request waits in a queue that is not there any more: %+v", d)
	}
}

// TestOtherClasses: requests that wait stay in the queue when its classes change, in the class that their client has
// now.
func TestOtherClasses(t *testing.T) {
	o := oneClass(1)
	p := queuing(o, servers(1)...)
	first := decided(p.ask("a", 1))
	batch, agent := p.ask("batch", 1), p.ask("agent", 1)
	p.at = p.at.Add(time.Second)
	o.Classes, o.Deadlines = []string{"agents", "rest"}, []time.Duration{time.Minute, time.Minute}
	o.ClassOf = func(client string) (int, int) {
		if client == "agent" {
			return 0, 1
		}
		return 1, 1
	}
	o.All = queue.Limits{Requests: 2}
	p.SetQueues(map[string]QueueOptions{"p": o})
	if decided(batch) != nil || decided(agent) != nil {
		t.Fatal("requests are let go")
	}
	first.choice.end()
	if d := decided(agent); d == nil || d.class != "agents" || d.waited != time.Second {
		t.Errorf("got %+v", d)
	}
	o.Classes, o.Deadlines = o.Classes[:1], o.Deadlines[:1]
	p.SetQueues(map[string]QueueOptions{"p": o})
	if p.leave(p.pool("p"), batch); p.status()["p"].queue.Classes[0].Ended["left"] != 1 {
		t.Error("a request cannot leave the new queue")
	}
}

// TestAlternatives: a server without room is named after one with room, for a request that cannot reach the first.
func TestAlternatives(t *testing.T) {
	p := queuing(oneClass(1), servers(3)...)
	p.ask("a", 1)
	p.ask("a", 1)
	d := decided(p.ask("a", 1))
	if d == nil || len(d.choice.named) != 3 || d.choice.named[0] != d.choice.first.Address {
		t.Errorf("got %+v", d)
	}
}

// TestDoubtfulServers: a server that is the last choice gets nothing while another is there, and all if none is.
func TestDoubtfulServers(t *testing.T) {
	all := servers(2)
	all[0].Doubtful = true
	p := queuing(oneClass(1), all...)
	if d := decided(p.ask("a", 1)); d == nil || d.choice.named[0] != all[1].Address {
		t.Fatalf("got %+v", d)
	}
	second := p.ask("a", 1)
	if d := decided(second); d != nil {
		t.Errorf("the doubtful server got a request: %+v", d)
	}
	all[1].Doubtful = true
	p.Set(map[string][]Server{"p": all})
	if d := decided(second); d == nil || d.choice.named[0] != all[0].Address {
		t.Errorf("got %+v", d)
	}
}

// TestForeignRequests: requests that a server has from elsewhere take room. Those of a sample that have ended since
// then do not.
func TestForeignRequests(t *testing.T) {
	sample := func(p *picking, working, waiting float64) {
		s := servers(1)
		s[0].Working, s[0].Waiting, s[0].Requests = working, waiting, working+waiting
		p.at = p.at.Add(time.Second)
		s[0].Sampled = p.at
		p.Set(map[string][]Server{"p": s})
	}
	room := func(p *picking) int {
		n := 0
		for ; ; n++ {
			if decided(p.ask("a", 1)) == nil {
				return n
			}
		}
	}
	p := queuing(oneClass(8), servers(1)...)
	sample(p, 5, 0)
	if n := room(p); n != 3 {
		t.Errorf("beside 5 others there is room for %d", n)
	}
	p = queuing(oneClass(8), servers(1)...)
	var own []*choice
	for range 8 {
		own = append(own, decided(p.ask("a", 1)).choice)
	}
	for _, c := range own {
		c.end()
	}
	sample(p, 8, 0) // it was taken before they ended
	if n := room(p); n != 8 {
		t.Errorf("after 8 of its own there is room for %d", n)
	}
	p = queuing(oneClass(8), servers(1)...)
	for range 8 {
		p.ask("a", 1)
	}
	sample(p, 6, 2) // its memory is full
	p2 := p.pool("p")
	if n := p2.limitOf(p2.servers[0]); n != 6 {
		t.Errorf("a server in which requests wait may have %v", n)
	}
}

// TestCostsLessInCache: tokens that a server has in its cache do not count.
func TestCostsLessInCache(t *testing.T) {
	p := queuing(oneClass(1), servers(1)...)
	chain := prompt(1, 10)
	c := cost{prompt: 165, answer: 20, client: "a"}
	p.Picker.ask(p.pool("p"), chain, c, -1)
	p.Picker.ask(p.pool("p"), chain, c, -1)
	if s := p.status()["p"].queue.Classes[0]; s.Tokens != 25 || s.Requests != 1 {
		t.Errorf("%d requests cost %d tokens", s.Requests, s.Tokens)
	}
}

// TestRefusals: why a request is not admitted, and that it may come again.
func TestRefusals(t *testing.T) {
	o := oneClass(1)
	o.All, o.Client = queue.Limits{Requests: 2}, queue.Limits{Requests: 1}
	p := queuing(o, servers(1)...)
	p.ask("a", 1)
	p.ask("a", 1)
	if d := decided(p.ask("a", 1)); d == nil || d.ending != queue.Share || d.after < time.Second {
		t.Errorf("a client with too many: %+v", d)
	}
	p.ask("b", 1)
	if d := decided(p.ask("c", 1)); d == nil || d.ending != queue.Full || d.choice != nil {
		t.Errorf("a full queue: %+v", d)
	}
	if d := decided(p.Picker.ask(p.pool("p"), nil, cost{client: "d"}, 0)); d == nil || d.ending != queue.Late {
		t.Errorf("a request that does not wait: %+v", d)
	}
	for client, patience := range map[string]time.Duration{"patient": time.Hour, "hasty": 2 * time.Second} {
		p := queuing(oneClass(1), servers(1)...)
		p.ask("a", 1)
		one := p.Picker.ask(p.pool("p"), nil, cost{client: client}, patience)
		want := min(patience, 10*time.Second)
		if d := p.expire(p.pool("p"), one); d != time.Second && d != want {
			t.Errorf("%s: asked again after %s", client, d)
		}
		p.at = p.at.Add(want)
		if d := p.expire(p.pool("p"), one); d != 0 {
			t.Errorf("%s: asked again after %s", client, d)
		}
		if d := decided(one); d == nil || d.ending != queue.Late || d.waited != want {
			t.Errorf("%s: %+v", client, d)
		}
	}
}

// TestHold: without a ready server requests wait for one, which is asked for once. The first one that comes gets them,
// and their own time begins then.
func TestHold(t *testing.T) {
	var woken []queue.Amount
	o := oneClass(1)
	o.Hold, o.Wake = time.Minute, func(a queue.Amount) { woken = append(woken, a) }
	p := queuing(o)
	first := p.ask("a", 7)
	second := p.ask("a", 7)
	if len(woken) != 1 || woken[0].Requests != 1 || woken[0].Tokens != 7 {
		t.Fatalf("asked was %v", woken)
	}
	p.at = p.at.Add(50 * time.Second) // beyond the class's deadline
	for _, one := range []*ticket{first, second} {
		if p.expire(p.pool("p"), one) == 0 || decided(one) != nil {
			t.Fatal("a request is given up early")
		}
	}
	third := p.ask("a", 7)
	doubtful := servers(1)
	doubtful[0].Doubtful = true
	p.Set(map[string][]Server{"p": doubtful})
	if d := decided(first); d != nil {
		t.Errorf("a server that is not ready got a request: %+v", d)
	}
	p.Set(map[string][]Server{"p": servers(1)})
	d := decided(first)
	if d == nil || d.choice == nil || d.waited != 50*time.Second {
		t.Fatalf("the first one: %+v", d)
	}
	p.at = p.at.Add(9 * time.Second)
	if p.expire(p.pool("p"), second) == 0 {
		t.Error("the time of a request that was held has begun before there was a server")
	}
	p.at = p.at.Add(time.Second)
	if p.expire(p.pool("p"), second) != 0 || decided(second).ending != queue.Late {
		t.Error("a request that was held waits longer than its deadline")
	}
	// The pool loses its server. Those that wait are held for the whole time, and then refused.
	p.Set(map[string][]Server{"p": nil})
	if len(woken) != 2 {
		t.Errorf("a server was asked for %d times", len(woken))
	}
	p.at = p.at.Add(time.Minute - time.Second)
	if p.expire(p.pool("p"), third) == 0 {
		t.Error("a request is given up early")
	}
	p.at = p.at.Add(time.Second)
	if p.expire(p.pool("p"), third) != 0 {
		t.Error("a request is held for too long")
	}
	if e := decided(third); e == nil || e.ending != queue.Unserved || e.after < time.Second {
		t.Errorf("got %+v", e)
	}
	p.ask("a", 7)
	if len(woken) != 3 {
		t.Errorf("after the time of those that were held a server was asked for %d times", len(woken))
	}
	if hasty := decided(p.Picker.ask(p.pool("p"), nil, cost{}, 0)); hasty == nil || hasty.ending != queue.Late {
		t.Errorf("a request that does not wait: %+v", hasty)
	}
}

// TestNoHold: without a hold, requests to a pool without servers are as without a queue, and those that wait when the
// last one goes are refused.
func TestNoHold(t *testing.T) {
	p := queuing(oneClass(1))
	if d := decided(p.ask("a", 1)); d == nil || d.choice != nil || d.ending != queue.Admitted {
		t.Errorf("got %+v", d)
	}
	p.Set(map[string][]Server{"p": servers(1)})
	p.ask("a", 1)
	one := p.ask("a", 1)
	p.Set(map[string][]Server{"p": nil})
	if d := decided(one); d == nil || d.ending != queue.Unserved {
		t.Errorf("got %+v", d)
	}
}

// TestBooksBalance plays random requests, ends, departures and servers: each request gets one decision, at no time a
// server has more than its capacity, and no request waits while there is room.
func TestBooksBalance(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		o := oneClass(2)
		o.Classes, o.Deadlines = []string{"a", "b"}, []time.Duration{5 * time.Second, 20 * time.Second}
		o.ClassOf = func(client string) (int, int) { return len(client) % 2, 1 + len(client) }
		o.All = queue.Limits{Requests: 20, Tokens: 5000}
		if seed%2 == 0 {
			o.Hold = 10 * time.Second
		}
		p := queuing(o, servers(3)...)
		arrived := 0
		waiting, running := map[*ticket]bool{}, map[*choice]bool{}
		settle := func() {
			for one := range waiting {
				if d := decided(one); d != nil {
					delete(waiting, one)
					if d.choice != nil {
						running[d.choice] = true
					}
				}
			}
		}
		for range 1500 {
			switch random.IntN(8) {
			case 0, 1, 2:
				arrived++
				timeout := time.Duration(-1)
				if random.IntN(4) == 0 {
					timeout = time.Duration(random.IntN(8)) * time.Second
				}
				client := strings.Repeat("c", random.IntN(6))
				waiting[p.Picker.ask(p.pool("p"), prompt(random.Uint64N(4), 4),
					cost{prompt: random.Int64N(900), client: client}, timeout)] = true
			case 3, 4:
				for c := range running {
					c.end()
					delete(running, c)
					break
				}
			case 5:
				for one := range waiting {
					p.leave(p.pool("p"), one)
					delete(waiting, one)
					break
				}
			case 6:
				p.at = p.at.Add(time.Duration(random.IntN(2000)) * time.Millisecond)
				for one := range waiting {
					p.expire(p.pool("p"), one)
				}
			case 7:
				if random.IntN(10) == 0 {
					p.Set(map[string][]Server{"p": servers(random.IntN(4))})
				}
			}
			settle()
			s := p.status()["p"]
			free, queued := 0, 0
			for _, one := range s.servers {
				if one.Running > 2 {
					t.Fatalf("seed %d: a server has %d requests", seed, one.Running)
				}
				free += 2 - one.Running
			}
			for _, c := range s.queue.Classes {
				queued += c.Requests
			}
			if queued != len(waiting) || free > 0 && queued > 0 {
				t.Fatalf("seed %d: %d requests wait, %d are in the queue, there is room for %d", seed, len(waiting), queued, free)
			}
			if n := len(p.pool("p").queued.pending); n != queued {
				t.Fatalf("seed %d: %d are pending, %d in the queue", seed, n, queued)
			}
		}
		ended := uint64(0)
		for _, c := range p.status()["p"].queue.Classes {
			for _, n := range c.Ended {
				ended += n
			}
		}
		if int(ended)+len(waiting) != arrived {
			t.Fatalf("seed %d: %d have come, %d have ended and %d wait", seed, arrived, ended, len(waiting))
		}
	}
}

func TestParseCost(t *testing.T) {
	if c, ok := parseCost("12 34 56 team-a"); !ok || c != (cost{12, 34, 56, "team-a"}) {
		t.Errorf("got %+v", c)
	}
	if c, ok := parseCost("12 34 56 "); !ok || c.client != "" {
		t.Errorf("got %+v", c)
	}
	for _, text := range []string{"", "1 2 3", "1 2", "-1 2 3 a", "1 x 3 a", "1 2 99999999999 a", "1  2 3 a"} {
		if c, ok := parseCost(text); ok {
			t.Errorf("%q: got %+v", text, c)
		}
	}
}

func TestParseTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"5": 5 * time.Second, "0": 0, "2.5": 2500 * time.Millisecond,
		"800ms": 800 * time.Millisecond, "1m30s": 90 * time.Second, "1e300": 24 * time.Hour, "+Inf": 24 * time.Hour,
		"9999999h": 0, "-1": -1, "-1s": -1, "soon": -1, "": -1, "NaN": -1, "5 s": -1} {
		got, ok := parseTimeout(text)
		if text == "9999999h" {
			continue // more than a duration has: either is right, as long as nothing breaks
		}
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: got %s, %t", text, got, ok)
		}
	}
}

// TestManyWait: ten thousand requests wait, each takes little memory, and all are admitted.
func TestManyWait(t *testing.T) {
	const n = 10_000
	p := queuing(oneClass(1), servers(1)...)
	first := decided(p.ask("a", 1))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := make([]*ticket, n)
	begin := time.Now()
	for i := range all {
		all[i] = p.ask(fmt.Sprint("client ", i%100), 1000)
	}
	pushed := time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	begin = time.Now()
	first.choice.end()
	for admitted := 0; admitted < n; {
		for _, one := range all {
			if d := decided(one); d != nil {
				admitted++
				d.choice.end()
			}
		}
	}
	each := int64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%d bytes a request; %s to ask, %s to admit each", each, pushed/n, time.Since(begin)/n)
	if each > 2048 {
		t.Errorf("a request takes %d bytes", each)
	}
}

// BenchmarkChoice measures what a queue adds to a choice when nothing waits.
func BenchmarkChoice(b *testing.B) {
	chain := prompt(1, 512)
	b.Run("without", func(b *testing.B) {
		p := pickingOf(Options{}, servers(8)...)
		b.ReportAllocs()
		for b.Loop() {
			p.Picker.choose(p.pool("p"), chain, nil).end()
		}
	})
	b.Run("with", func(b *testing.B) {
		p := queuing(oneClass(8), servers(8)...)
		b.ReportAllocs()
		for b.Loop() {
			c, _ := parseCost("8192 4096 40000 team-search")
			t := p.Picker.ask(p.pool("p"), chain, c, -1)
			d := <-t.done
			d.choice.end()
		}
	})
}
