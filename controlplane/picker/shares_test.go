package picker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestMore: a client with more at the servers than the others of its class has more than its share, by weight. One that
// is alone has not. A client counts for some time after its last request.
func TestMore(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := newShares(2)
	if s.more("noisy", 0, 1, now) {
		t.Error("a client without requests has more than its share")
	}
	noisy := s.begin("noisy", 0, 1, 1000)
	if s.more("noisy", 0, 1, now) {
		t.Error("a client that is alone has more than its share")
	}
	quiet := s.begin("quiet", 0, 1, 100)
	if !s.more("noisy", 0, 1, now) || s.more("quiet", 0, 1, now) || s.more("new", 0, 1, now) {
		t.Error("the client with most is not the one with more than its share")
	}
	s.end(quiet, 100, now)
	if !s.more("noisy", 0, 1, now.Add(recently-1)) {
		t.Error("a client is forgotten at once")
	}
	if s.more("noisy", 0, 1, now.Add(recently)) || len(s.clients) != 1 {
		t.Errorf("a client that is away counts: %d are known", len(s.clients))
	}
	heavy := s.begin("heavy", 0, 10, 5000)
	if s.more("heavy", 0, 10, now) || !s.more("noisy", 0, 1, now) {
		t.Error("weights do not count")
	}
	if !s.more("nightly", 1, 1, now) || s.more("first", 0, 1, now) {
		t.Error("a class that goes last has a share while the first one wants something")
	}
	batch := s.begin("nightly", 1, 1, 100_000)
	if s.more("noisy", 0, 1, now) {
		t.Error("what a worse class has is not there for a better one")
	}
	s.end(batch, 100_000, now)
	s.end(heavy, 5000, now)
	s.end(noisy, 1000, now)
	if s.more("nightly", 1, 1, now.Add(recently)) {
		t.Error("a class that is alone has no share")
	}
}

// TestSharesBooks plays random requests: what a class has is what its clients have, and nothing stays.
func TestSharesBooks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s, now := newShares(3), time.Unix(1_000_000, 0)
	type running struct {
		of   *standing
		cost int64
	}
	var all []running
	for range 20_000 {
		now = now.Add(time.Duration(random.IntN(1000)) * time.Millisecond)
		if len(all) == 0 || random.IntN(2) == 0 {
			cost := random.Int64N(100_000)
			all = append(all, running{s.begin(fmt.Sprint(random.IntN(50)), random.IntN(3), random.IntN(4), cost), cost})
		} else {
			at := random.IntN(len(all))
			s.end(all[at].of, all[at].cost, now)
			all[at] = all[len(all)-1]
			all = all[:len(all)-1]
		}
		for class := range s.classes {
			tokens, weights := 0.0, 0.0
			for _, c := range s.clients {
				if c.class == class {
					tokens, weights = tokens+c.running, weights+c.weight
				}
			}
			if got := s.classes[class]; got != (having{tokens, weights}) {
				t.Fatalf("class %d has %+v, its clients %v and %v", class, got, tokens, weights)
			}
		}
	}
	for _, one := range all {
		s.end(one.of, one.cost, now)
	}
	s.forget(now.Add(recently))
	if len(s.clients) != 0 || s.idle.Len() != 0 || s.classes[0] != (having{}) {
		t.Errorf("%d clients stay, %+v", len(s.clients), s.classes)
	}
}

// TestKept: of a server's room for 12, two are kept for clients that have less than their share. They wait for nothing
// while another waits. A client that is alone gets all of it.
func TestKept(t *testing.T) {
	p := queuing(oneClass(12), servers(1)...)
	var running []*choice
	admitted := func(one *ticket) bool {
		d := decided(one)
		if d != nil && d.choice != nil {
			running = append(running, d.choice)
		}
		return d != nil && d.choice != nil
	}
	for range 12 {
		if !admitted(p.ask("noisy", 100)) {
			t.Fatal("a client that is alone does not get all room")
		}
	}
	quiet, waiting := p.ask("quiet", 100), []*ticket{p.ask("noisy", 100), p.ask("noisy", 100), p.ask("noisy", 100)}
	running[0].end()
	if !admitted(quiet) {
		t.Fatal("the quiet client does not go first")
	}
	running[1].end()
	running[2].end()
	for _, one := range waiting {
		if admitted(one) {
			t.Fatal("a client with more than its share gets what is kept")
		}
	}
	if !admitted(p.ask("quiet", 100)) || !admitted(p.ask("other", 100)) {
		t.Error("a client with less than its share waits")
	}
	if admitted(p.ask("third", 100)) {
		t.Error("the server has more than its capacity")
	}
	for i, one := range running[3:6] {
		one.end()
		if i == 0 {
			continue // the third client's
		}
		if n, most := p.running(); most > 11 || n != most {
			t.Errorf("%d run", n)
		}
	}
	if n, _ := p.running(); n != 10 {
		t.Errorf("%d run, want 10: the rest is kept", n)
	}
	for _, one := range waiting {
		if admitted(one) {
			t.Error("a client with more than its share gets what is kept")
		}
	}
	running[6].end()
	if !admitted(waiting[0]) {
		t.Error("nothing that waits gets the room that is not kept")
	}
}

// TestKeptOf: what is kept, and that a server without room for four keeps nothing.
func TestKeptOf(t *testing.T) {
	for capacity, want := range map[int]int{0: 0, 1: 0, 3: 0, 4: 1, 9: 1, 10: 2, 16: 3, 256: 43} {
		if got := kept(capacity); got != want {
			t.Errorf("%d of %d are kept, want %d", got, capacity, want)
		}
	}
}

// TestKeptForTheFirstClass: what is kept is not for a class that goes last, while another wants something.
func TestKeptForTheFirstClass(t *testing.T) {
	o := oneClass(8)
	o.Classes, o.Deadlines = []string{"interactive", "batch"}, []time.Duration{time.Minute, time.Minute}
	o.ClassOf = func(client string) (int, int) {
		if client == "agent" {
			return 0, 1
		}
		return 1, 1
	}
	p := queuing(o, servers(1)...)
	agent := decided(p.ask("agent", 100))
	for i := range 7 {
		if d := decided(p.ask("nightly", 100)); (d != nil) != (i < 6) {
			t.Fatalf("request %d of the batch: %+v", i, d)
		}
	}
	if decided(p.ask("agent", 100_000)) == nil {
		t.Error("the first class does not get what is kept for it")
	}
	agent.choice.end()
	if n, _ := p.running(); n != 7 {
		t.Errorf("%d run, want 7", n)
	}
}
