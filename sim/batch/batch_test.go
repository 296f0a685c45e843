package batch

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// ids returns n ids that no other prompt of a test begins with.
func ids(first uint32, n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = first<<16 | uint32(i)
	}
	return all
}

// drain takes steps until nothing is left, and returns how long they took.
func drain(t *testing.T, s *Scheduler) time.Duration {
	t.Helper()
	var all time.Duration
	for range 1_000_000 {
		took, ok := s.Begin()
		if !ok {
			if s.Running() > 0 || s.Waiting() > 0 {
				t.Fatalf("it stands still with %d running and %d waiting", s.Running(), s.Waiting())
			}
			return all
		}
		all += took
		s.End()
	}
	t.Fatal("it never ends")
	return 0
}

// ask adds a request, computes everything, and returns how much of the prompt was cached.
func ask(t *testing.T, s *Scheduler, prompt, answer []uint32) int {
	t.Helper()
	r := NewRequest("", DefaultBlockSize, prompt, answer)
	s.Add(r)
	drain(t, s)
	if !r.Done() {
		t.Fatal("the request is not done")
	}
	return r.Cached
}

// TestHits asks for prompts of which the cache has some whole blocks. The last token of a prompt is always computed.
func TestHits(t *testing.T) {
	s := New(Options{Blocks: 1000})
	a := ids(1, 100)
	for _, c := range []struct {
		name           string
		prompt, answer []uint32
		cached         int
	}{
		{"new", a, ids(2, 30), 0},
		{"again: 6 blocks of 16, and 4 tokens that fill no block", a, ids(2, 30), 96},
		{"as far as a block's end", a[:64], ids(3, 1), 48},
		{"with the answer, whose last token is not computed", slices.Concat(a, ids(2, 30), ids(4, 10)), ids(3, 1), 128},
		{"another first token", append([]uint32{9}, a[1:]...), ids(3, 1), 0},
		{"another last block", slices.Concat(a[:80], ids(5, 20)), ids(3, 1), 80},
	} {
		if got := ask(t, s, c.prompt, c.answer); got != c.cached {
			t.Errorf("%s: %d tokens cached, want %d", c.name, got, c.cached)
		}
	}
	counts := s.Counts()
	if counts.Queries != 100+100+64+140+100+100 || counts.Hits != 96+48+128+80 || s.Usage() != 0 {
		t.Errorf("%+v, usage %v", counts, s.Usage())
	}
	if counts.Prefilled != counts.Queries-counts.Hits || counts.Generated != 30+30+4 {
		t.Errorf("computed %+v", counts)
	}
}

// TestEviction fills a cache of 9 blocks. The block that was freed first goes first, and the last blocks of a request
// are freed before its first.
func TestEviction(t *testing.T) {
	s := New(Options{Blocks: 10})
	a, b := ids(1, 65), ids(2, 65) // 5 blocks each, 4 of them full
	ask(t, s, a, ids(3, 1))
	ask(t, s, b, ids(3, 1)) // takes the 4 that are left, and the last of a, which was not full
	if got := ask(t, s, a[:17], ids(3, 1)); got != 16 {
		t.Errorf("%d of a cached, want 16", got)
	}
	ask(t, s, ids(4, 40), ids(3, 1)) // takes two more of a, and b's last, which was not full
	if got := ask(t, s, b, ids(3, 1)); got != 64 {
		t.Errorf("%d of b cached, want 64", got)
	}
	if got := ask(t, s, a, ids(3, 1)); got != 16 {
		t.Errorf("%d of a cached, want the first block, which was asked for again", got)
	}
	if s.Usage() != 0 {
		t.Errorf("usage %v", s.Usage())
	}
}

// TestPreemption runs two answers that do not fit together. Both end, and the later one had to wait.
func TestPreemption(t *testing.T) {
	s := New(Options{Blocks: 11})
	one := NewRequest("", DefaultBlockSize, ids(1, 64), ids(2, 60))
	two := NewRequest("", DefaultBlockSize, ids(3, 64), ids(4, 60))
	s.Add(one)
	s.Add(two)
	for !one.Done() {
		if _, ok := s.Begin(); !ok {
			t.Fatal("it stands still")
		}
		s.End()
	}
	if two.Done() || s.Counts().Preemptions == 0 {
		t.Errorf("done %v, %+v", two.Done(), s.Counts())
	}
	drain(t, s)
	if !two.Done() || two.Cached != 0 || s.Counts().Queries != 128 {
		t.Errorf("done %v, cached %d, %+v: a request that comes back is not looked up again", two.Done(), two.Cached,
			s.Counts())
	}
}

// TestTime adds up what steps take.
func TestTime(t *testing.T) {
	o := Options{Blocks: 1000, StepTime: 10 * time.Millisecond, PrefillRate: 1000, DecodeRate: 100, StepTokens: 300}
	for _, c := range []struct {
		name            string
		prompts, answer int
		want            time.Duration
	}{
		{"a piece of a prompt, a whole one, and nothing more", 1, 1, 2*10*time.Millisecond + 500*time.Millisecond},
		{"a token of the answer comes with the prompt's end", 1, 3, 4*10*time.Millisecond + 520*time.Millisecond},
		{"two prompts share steps", 2, 1, 4*10*time.Millisecond + time.Second},
	} {
		s := New(o)
		for i := range c.prompts {
			s.Add(NewRequest("", DefaultBlockSize, ids(uint32(i+1), 500), ids(9, c.answer)))
		}
		if got := drain(t, s); got.Round(time.Microsecond) != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestMaxRunning never has more requests in the batch than allowed.
func TestMaxRunning(t *testing.T) {
	s := New(Options{Blocks: 1000, MaxRunning: 2})
	for i := range 5 {
		s.Add(NewRequest("", DefaultBlockSize, ids(uint32(i+1), 20), ids(9, 5)))
	}
	s.Begin()
	if s.Running() != 2 || s.Waiting() != 3 {
		t.Errorf("%d running, %d waiting", s.Running(), s.Waiting())
	}
	drain(t, s)
}

// TestAnyOrder adds and removes requests at random. No block is lost, and none is known under a wrong hash.
func TestAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := New(Options{Blocks: 60, MaxRunning: 8, StepTokens: 64})
	var live []*Request
	for range 20_000 {
		switch random.IntN(4) {
		case 0:
			n := 1 + random.IntN(200)
			r := NewRequest("", DefaultBlockSize, ids(uint32(1+random.IntN(5)), n), ids(9, random.IntN(60)))
			s.Add(r)
			live = append(live, r)
		case 1:
			if len(live) > 4 {
				at := random.IntN(len(live))
				s.Remove(live[at])
				live = slices.Delete(live, at, at+1)
			}
		}
		s.Begin()
		s.End()
		live = slices.DeleteFunc(live, (*Request).Done)
		check(t, s)
	}
	for _, r := range live {
		s.Remove(r)
	}
	check(t, s)
	if s.blocks.free != s.blocks.usable || s.Running()+s.Waiting() != 0 {
		t.Errorf("%d of %d blocks free", s.blocks.free, s.blocks.usable)
	}
}

func check(t *testing.T, s *Scheduler) {
	t.Helper()
	users := map[*block]int{}
	for _, r := range s.running {
		for i, one := range r.held {
			users[one]++
			if one.cached && one.hash != r.hashes[i] {
				t.Fatal("a request holds a block of another prompt")
			}
		}
	}
	for one, n := range users {
		if one.users != n {
			t.Fatalf("a block has %d users, and thinks that it has %d", n, one.users)
		}
	}
	free := s.blocks.unused
	for one := s.blocks.queue.next; one != &s.blocks.queue; one = one.next {
		if free++; one.users != 0 {
			t.Fatal("a block in use is in the queue of free ones")
		}
	}
	if free != s.blocks.free || free+len(users) != s.blocks.usable {
		t.Fatalf("%d free, %d in use, of %d: want %d free", free, len(users), s.blocks.usable, s.blocks.free)
	}
	for h, one := range s.blocks.cached {
		for ; one != nil; one = one.twin {
			if !one.cached || one.hash != h {
				t.Fatal("a block is known by a hash that it does not have")
			}
		}
	}
}

// TestManyWaiting has far more requests than fit into the batch.
func TestManyWaiting(t *testing.T) {
	s := New(Options{Blocks: 100, MaxRunning: 4})
	const many = 100_000
	for i := range many {
		s.Add(NewRequest("", DefaultBlockSize, ids(uint32(i%7), 40), ids(9, 1)))
	}
	drain(t, s)
	if n := s.Counts().Generated; n != many {
		t.Errorf("%d answers, want %d", n, many)
	}
	if s.Fits(99*DefaultBlockSize+1) || !s.Fits(99*DefaultBlockSize) {
		t.Error("as many tokens fit as there are in all blocks but one")
	}
}

// TestRead reads prompts without a scheduler.
func TestRead(t *testing.T) {
	b := NewBlocks(100)
	a := ids(1, 40)
	for i, want := range []int{0, 32, 0} {
		if got := b.Read([]string{"", "", "salt"}[i], DefaultBlockSize, a); got != want {
			t.Errorf("%d: %d cached, want %d", i, got, want)
		}
	}
	if got := b.Read("", DefaultBlockSize, ids(7, 10_000)); got != 0 || b.Usage() != 0 {
		t.Errorf("a prompt that is larger than the cache: %d cached, usage %v", got, b.Usage())
	}
	if got := b.Read("", 1, a); got != 0 {
		t.Errorf("%d cached by another size", got)
	}
	if got := b.Read("", 1, a); got != 39 {
		t.Errorf("%d cached by token", got)
	}
	b.Read("", DefaultBlockSize, nil)
}
