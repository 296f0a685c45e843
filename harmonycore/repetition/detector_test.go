package repetition

import (
	"math/rand/v2"
	"testing"
)

// words are the texts of tokens: all say something.
type words struct{}

func (words) TokenBytes(uint32) ([]byte, bool) { return word, true }

var word = []byte("word")

var limits = Limits{MaxPatternSize: 128, MinCount: 4, MinTokens: 96}

// first returns the number of tokens that the detector reads of those before it reports a repetition, or 0.
func first(d *Detector, ids []uint32) int {
	for at, id := range ids {
		if d.Add(id) && d.Look() {
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

// TestCycles: a cycle of each size is found when it is long enough, and at most 79 tokens later.
func TestCycles(t *testing.T) {
	for _, before := range []int{0, 1, 63, 777, 5_000} {
		for size := 1; size <= 128; size++ {
			enough := max(96, 4*size)
			ids := cycle(before, size, enough+pace-1)
			if got := first(New(limits, words{}), ids); got < before+enough || got == 0 {
				t.Errorf("%d before, size %d: found after %d, want %d to %d", before, size, got, before+enough, len(ids))
			}
			if got := first(New(limits, words{}), cycle(before, size, enough-1)); got != 0 {
				t.Errorf("%d before, size %d: found after %d of %d tokens", before, size, got, enough-1)
			}
		}
		if got := first(New(limits, words{}), cycle(before, 129, 10_000)); got != 0 {
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
		if got := first(New(limits, words{}), ids); got != 0 {
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
		d, ids := New(small, words{}), []uint32(nil)
		for range 400 {
			ids = append(ids, random.Uint32N(2))
			got, want := d.Add(ids[len(ids)-1]) && d.Look(), len(ids)%pace == 0 && isRepetition(small, ids)
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

// TestLate: a look may wait, and finds what has come until then.
func TestLate(t *testing.T) {
	for _, late := range []int{1, 500, 10_000} {
		d := New(limits, words{})
		for at, id := range cycle(pace, 5, 95+late) {
			if due := d.Add(id); due != (at >= pace-1) {
				t.Fatalf("token %d: time for a look: %v", at, due)
			}
		}
		if !d.Look() || d.Add(0) {
			t.Errorf("%d tokens late: not found, or the next look comes at once", late)
		}
	}
}

// idle are the texts of tokens that say nothing, but for one.
type idle []string

func (i idle) TokenBytes(id uint32) ([]byte, bool) {
	if int(id) >= len(i) {
		return nil, false
	}
	return []byte(i[id]), true
}

// TestIdle: white space, dots and ellipses in any order say nothing, however their bytes are cut.
func TestIdle(t *testing.T) {
	texts := idle{" ", "\n", "\t\t", "…", "...", "\xE2", "\x80\xA6", " \r\n", "a"}
	random := rand.New(rand.NewPCG(3, 4))
	for _, tt := range []struct {
		n     int
		found bool
	}{{96, true}, {95, false}} {
		for _, last := range []uint32{8, 1_000} { // a word, and no token at all
			d, found := New(limits, texts), false
			for at := range 2 * pace {
				id := random.Uint32N(8)
				if at == 2*pace-1-tt.n {
					id = last
				}
				found = d.Add(id) && d.Look()
			}
			if found != tt.found {
				t.Errorf("%d tokens that say nothing, behind %d: found %v", tt.n, last, found)
			}
		}
	}
}

func TestAllocatesOnce(t *testing.T) {
	d := New(limits, words{})
	n := testing.AllocsPerRun(10, func() {
		for id := range uint32(10_000) {
			_ = d.Add(id) && d.Look()
		}
	})
	if n != 0 || len(d.recent) != 1024+pace {
		t.Errorf("%v allocations, room for %d tokens; want 0, %d", n, len(d.recent), 1024+pace)
	}
}

func BenchmarkAdd(b *testing.B) {
	d, id := New(limits, words{}), uint32(0)
	for b.Loop() {
		id = id*1_664_525 + 1_013_904_223
		_ = d.Add(id>>20) && d.Look()
	}
}
