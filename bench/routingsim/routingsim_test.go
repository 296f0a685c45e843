package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// fleetOf returns servers with so many requests each.
func fleetOf(active ...int) []*server {
	var all []*server
	for _, n := range active {
		all = append(all, &server{engine: batch.New(batch.Options{Blocks: 100}), active: n})
	}
	return all
}

// TestBound compares the choice with Envoy's: (total + 1) × bound, rounded up, is divided among the servers, and a server
// with more requests than that is passed over.
func TestBound(t *testing.T) {
	key := func(*ask) affinity.Hash { return 1 }
	at := rendezvous(1, 4)
	for _, c := range []struct {
		bound, own, others int
		stays              bool
	}{
		{0, 1000, 0, true}, // no bound
		{125, 0, 0, true},  // one slot each
		{125, 1, 0, true},  // two at most, as Envoy counts
		{125, 2, 0, false},
		{125, 13, 10, true},  // 44 × 1.25 / 4 = 13.75, so 14 slots
		{125, 16, 10, false}, // 47 × 1.25 / 4 = 14.7, so 15 slots
		{200, 20, 10, true},
		{100, 12, 10, false},
	} {
		active := []int{c.others, c.others, c.others, c.others}
		active[at] = c.own
		got := (&hashed{key, c.bound}).choose(&ask{}, fleetOf(active...))
		if (got == at) != c.stays {
			t.Errorf("bound %d, %d requests beside %d: stays %v", c.bound, c.own, c.others, got == at)
		}
	}
	// If all servers have too many, it is the one with the fewest.
	p := &hashed{key, 100}
	if got := p.bounded(1, at, fleetOf(9, 9, 9, 9)); got != at {
		t.Errorf("server %d of equal ones, want its own", got)
	}
}

// TestLeastRequest never chooses a server that has more than another.
func TestLeastRequest(t *testing.T) {
	p := &leastRequest{rand.New(rand.NewPCG(1, 1))}
	chosen := map[int]int{}
	for range 1000 {
		chosen[p.choose(nil, fleetOf(3, 1, 2, 1))]++
	}
	if len(chosen) != 2 || chosen[1] < 400 || chosen[3] < 400 {
		t.Errorf("chosen %v", chosen)
	}
}

// TestKeys compares the keys of a conversation's turns.
func TestKeys(t *testing.T) {
	chats := preparedOf(t, "chats")
	within, beyond := byPrefix(64, true), byPrefix(1024, false)
	same, changed := 0, 0
	for _, c := range chats.conversations {
		for _, a := range c.asks[1:] {
			if within(a) != within(c.asks[0]) {
				t.Fatal("the key changes from turn to turn")
			}
			if same++; beyond(a) != beyond(c.asks[0]) {
				changed++
			}
		}
	}
	if same == 0 || changed != same {
		t.Errorf("%d of %d keys of whole prompts change", changed, same)
	}
}

func preparedOf(t *testing.T, name string) *prepared {
	t.Helper()
	for _, w := range workload.All(1, workload.Scale{Servers: 2, Length: 10 * time.Second}) {
		if w.Name == name {
			p, err := prepare(w)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("there is no workload %q", name)
	return nil
}

// TestSimulate holds what the recommendation rests on: with prefix conversations find their caches, and without a bound
// one tenant takes one server.
func TestSimulate(t *testing.T) {
	o := batch.Options{Blocks: 12288, MaxRunning: 64, PrefillRate: 4000, DecodeRate: 1500, StepTime: 25 * time.Millisecond}
	play := func(name string, p policy) result { return simulate(preparedOf(t, name), 4, o, p) }
	least := play("chats", &leastRequest{rand.New(rand.NewPCG(1, 1))})
	prefixed := play("chats", &hashed{byPrefix(64, true), 125})
	if prefixed.hitRate < least.hitRate+0.1 || prefixed.p95 > least.p95 {
		t.Errorf("chats: prefix %+v, least request %+v", prefixed, least)
	}
	if again := play("chats", &hashed{byPrefix(64, true), 125}); again != prefixed {
		t.Errorf("the same again: %+v, want %+v", again, prefixed)
	}
	unbound := play("one tenant", &hashed{byPrefix(64, true), 0})
	bound := play("one tenant", &hashed{byPrefix(64, true), 125})
	if unbound.spread != 4 || bound.spread > 2 {
		t.Errorf("one tenant: max ÷ mean %v without a bound, and %v with it", unbound.spread, bound.spread)
	}
}

// TestOracle asks the oracle about prompts whose answer is known.
func TestOracle(t *testing.T) {
	a, b := []int{1, 2, 3, 4, 5}, []int{9, 2, 3, 4, 5}
	for _, c := range []struct {
		name            string
		blocks          int
		prompts         [][]int
		hits, unbounded int
	}{
		{"the last token is always computed", 10, [][]int{{1, 2, 3, 4}, {1, 2, 3, 4}}, 2, 2},
		{"a block is known only with what is before it", 10, [][]int{a, b}, 0, 0},
		{"two conversations in turns do not fit", 2, [][]int{a, b, a, b}, 4, 8},
		{"what comes sooner is kept", 2, [][]int{a, b, b, a}, 4, 8},
		{"no room", 0, [][]int{a, a}, 0, 4},
	} {
		file := filepath.Join(t.TempDir(), "prompts")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := json.NewEncoder(f)
		for _, p := range c.prompts {
			if err := lines.Encode(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		blocks, _ := json.Marshal(c.blocks)
		said, err := exec.Command("python3", "oracle.py", "--blocks", string(blocks), "--block-size", "2", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Queried, Hits, Unbounded int }
		if err := json.Unmarshal(said, &got); err != nil || got.Hits != c.hits || got.Unbounded != c.unbounded {
			t.Errorf("%s: %s, want hits %d and %d", c.name, said, c.hits, c.unbounded)
		}
	}
}
