package repetition

import (
	"math/rand/v2"
	"testing"
)

var limits = Limits{MaxPatternSize: 128, MinCount: 4, MinTokens: 96}

// first returns the number of tokens that the detector reads of those before it reports a repetition, or 0.
func first(d *Detector, ids []uint32) int {
	for at, id := range ids {
		if d.Add(id) {
			return at + 1
		}
	}
	return 0
}

// cycle returns n tokens that repeat a pattern of size distinct ones, after before tokens that do not repeat.
func cycle(before, size, n int) []uint32 {
	var ids []uint32
	for at := range before {
		ids = append(ids, uint32(10_000+at))
	}
	for at := range n {
		ids = append(ids, uint32(at%size))
	}
	return ids
}

// TestCycles: a cycle of each size is found when it is long enough, and at most 63 tokens later.
func TestCycles(t *testing.T) {
	for _, before := range []int{0, 1, 63, 777, 5_000} {
		for size := 1; size <= 128; size++ {
			enough := max(96, 4*size)
			ids := cycle(before, size, enough+pace-1)
			if got := first(New(limits), ids); got < before+enough || got == 0 {
				t.Errorf("%d before, size %d: found after %d, want %d to %d", before, size, got, before+enough, len(ids))
			}
			if got := first(New(limits), cycle(before, size, enough-1)); got != 0 {
				t.Errorf("%d before, size %d: found after %d of %d tokens", before, size, got, enough-1)
			}
		}
		if got := first(New(limits), cycle(before, 129, 10_000)); got != 0 {
			t.Errorf("%d before: a pattern of 129 tokens was found after %d", before, got)
		}
	}
}

// TestAlmostCycles: one token that differs in each stretch shorter than the threshold is enough to go on.
func TestAlmostCycles(t *testing.T) {
	for size := 1; size <= 128; size++ {
		ids := cycle(0, size, 20_000)
		for at := max(96, 4*size) - 1; at < len(ids); at += max(96, 4*size) - 1 {
			ids[at] = uint32(1_000_000 + at)
		}
		if got := first(New(limits), ids); got != 0 {
			t.Errorf("size %d: found after %d", size, got)
		}
	}
}

// TestAgainstAllTails compares the detector with the plain definition, on random tokens of few kinds.
func TestAgainstAllTails(t *testing.T) {
	small := Limits{MaxPatternSize: 7, MinCount: 2, MinTokens: 5}
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 3_000 {
		d, ids := New(small), []uint32(nil)
		for range 400 {
			ids = append(ids, random.Uint32N(2))
			got, want := d.Add(ids[len(ids)-1]), len(ids)%pace == 0 && isRepetition(small, ids)
			if got != want {
				t.Fatalf("%v: got %v, want %v", ids, got, want)
			}
			if got {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no repetition among the random tokens")
	}
}

func isRepetition(l Limits, ids []uint32) bool {
	for size := 1; size <= l.MaxPatternSize; size++ {
		length, equal := max(l.MinTokens, size*l.MinCount), 0
		for at := len(ids) - 1; at >= size && ids[at] == ids[at-size]; at-- {
			equal++
		}
		if length <= len(ids) && equal >= length-size {
			return true
		}
	}
	return false
}

// TestBegin: what one message repeats of the last is no repetition.
func TestBegin(t *testing.T) {
	d := New(limits)
	for range 100 {
		d.Begin()
		if got := first(d, cycle(0, 5, 95)); got != 0 {
			t.Fatalf("found after %d tokens of a message of 95", got)
		}
	}
}

// TestText: white space, dots and ellipses in any order say nothing, however their bytes are cut.
func TestText(t *testing.T) {
	idle := []string{" ", "\n", "\t\t", "…", "...", "\xE2", "\x80\xA6", " \r\n"}
	d, tokens := New(limits), 0
	for !d.Text([]byte(idle[tokens%len(idle)]), 1) {
		if tokens++; tokens > 96 {
			t.Fatal("96 tokens that say nothing were not found")
		}
	}
	if tokens != 95 {
		t.Errorf("found after %d tokens, want 96", tokens+1)
	}
	for range 1_000 {
		for range 90 {
			if d.Begin(); d.Text([]byte("   "), 95) {
				t.Fatal("found in 95 tokens")
			}
		}
		if d.Text([]byte("a"), 1) || d.Text(nil, 1_000) || d.Text([]byte(" "), 0) {
			t.Fatal("found in text")
		}
	}
}

func TestAllocatesOnce(t *testing.T) {
	d := New(limits)
	n := testing.AllocsPerRun(10, func() {
		for id := range uint32(10_000) {
			d.Add(id)
		}
	})
	if n != 0 || len(d.recent) != 1024+pace {
		t.Errorf("%v allocations, room for %d tokens; want 0, %d", n, len(d.recent), 1024+pace)
	}
}

func BenchmarkAdd(b *testing.B) {
	d, id := New(limits), uint32(0)
	for b.Loop() {
		id = id*1_664_525 + 1_013_904_223
		d.Add(id >> 20)
	}
}
