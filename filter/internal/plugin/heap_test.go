package plugin

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/internal/gcroots"
)

// TestStuck checks when a VM ends itself: only without streams, and only if its successor would have more room.
func TestStuck(t *testing.T) {
	const limit = 256
	idle := heap{everOpen: true, initial: 10}
	for name, test := range map[string]struct {
		edit func(h *heap)
		want bool
	}{
		"empty":                               {func(h *heap) { h.inUse = 20 }, false},
		"full":                                {func(h *heap) { h.inUse = limit + 1 }, true},
		"full, with a stream":                 {func(h *heap) { h.inUse, h.open = limit+1, 1 }, false},
		"full, and new":                       {func(h *heap) { h.inUse, h.everOpen = limit+1, false }, false},
		"has refused":                         {func(h *heap) { h.inUse, h.refused = 252, 5 }, true},
		"has refused, with a stream":          {func(h *heap) { h.inUse, h.refused, h.open = 252, 5, 1 }, false},
		"has refused, and has room":           {func(h *heap) { h.inUse, h.refused = 251, 5 }, false},
		"has refused what a new one refuses":  {func(h *heap) { h.inUse, h.refused = 252, 247 }, false},
		"has refused what a new one can take": {func(h *heap) { h.inUse, h.refused = 11, 246 }, true},
	} {
		h := idle
		test.edit(&h)
		if got := h.stuck(limit); got != test.want {
			t.Errorf("%s: stuck is %t", name, got)
		}
	}
}

// TestRefused checks that a VM without streams looks at its refusals once.
func TestRefused(t *testing.T) {
	h := heap{}
	h.begin()
	for i, need := range []uint64{9, 8, 10} {
		at := int64(i) * 60_000
		if h.admit(need, 1) || !h.makeRoom(1, 0, at) || h.admit(need, 1) {
			t.Fatalf("%+v", h)
		}
		h.refuse()
	}
	if h.initial == 0 || h.refused != 8 {
		t.Fatalf("%+v", h)
	}
	if h.enforce(1<<60, 0); h.refused != 8 {
		t.Error("a VM with a stream has forgotten what it refused")
	}
	h.end()
	if h.enforce(1<<60, 0); h.refused != 0 {
		t.Error("an idle VM still holds a refusal that has room")
	}
}

// TestRoomIsMade: a full heap is not collected again and again, but always for a request that fits into what was given
// up for it.
func TestRoomIsMade(t *testing.T) {
	const limit, need, mib = 100 << 20, 30 << 20, 1 << 20 // far more than this test allocates
	for name, test := range map[string]struct {
		at    int64
		freed uint64
		made  bool
	}{
		"a while after the last one":            {50, 0, true},
		"soon after":                            {49, 0, false},
		"soon after, for less than it needs":    {49, 9 * mib, false},
		"soon after, for as much as it needs":   {49, 11 * mib, true},
		"a while after, for less than it needs": {50, 9 * mib, true},
	} {
		pauses := 0
		h := heap{paused: func(int64) { pauses++ }, quietUntil: 50}
		h.collected = 80 * mib
		h.allocated = gcroots.Allocated()
		if h.admit(need, limit) {
			t.Fatalf("%s: there is room", name)
		}
		if made := h.makeRoom(limit, test.freed, test.at); made != test.made || made != (pauses == 1) {
			t.Errorf("%s: %t, after %d collections", name, made, pauses)
		}
	}
}

// TestDue checks when the timer collects the heap: for some garbage at a quiet moment, for too much at any moment.
func TestDue(t *testing.T) {
	const live = 64 << 20
	for name, test := range map[string]struct {
		garbage         int
		busy, collected bool
	}{
		"quiet, hardly any garbage": {live / 32, false, false},
		"quiet, some garbage":       {live / 8, false, true},
		"busy, some garbage":        {live / 8, true, false},
		"busy, too much garbage":    {live / 2, true, true},
	} {
		pauses := 0
		h := heap{paused: func(int64) { pauses++ }}
		h.begin()
		h.account(live)
		allocate(test.garbage)
		h.busy = test.busy
		if h.enforce(1<<60, 0) || pauses > 1 || (pauses == 1) != test.collected {
			t.Errorf("%s: %d collections", name, pauses)
		}
		if before := pauses; !h.enforce(1<<60, 0) && test.collected && pauses != before {
			t.Errorf("%s: another collection after a tick with nothing new", name)
		}
	}
}

// TestRelieve checks what a heap does about what was allocated since its last collection, whenever something begins:
// too much is collected, and before something large a quarter of that.
func TestRelieve(t *testing.T) {
	const live = 64 << 20
	for name, test := range map[string]struct {
		garbage   int
		begins    func(*heap)
		collected bool
	}{
		"a stream, a heap with room":      {live / 3, (*heap).begin, false},
		"a stream, too much garbage":      {live / 2, (*heap).begin, true},
		"a small request":                 {live / 3, func(h *heap) { h.relieveFor(arenaFrom - 1) }, false},
		"a large one":                     {live / 3, func(h *heap) { h.relieveFor(arenaFrom) }, true},
		"a large one, hardly any garbage": {live / 16, func(h *heap) { h.relieveFor(64 << 20) }, false},
	} {
		pauses := 0
		h := heap{paused: func(int64) { pauses++ }}
		h.begin()
		h.account(live)
		allocate(test.garbage)
		if test.begins(&h); (pauses == 1) != test.collected {
			t.Errorf("%s: %d collections", name, pauses)
		}
	}
	h := heap{}
	h.begin()
	if most := h.mostGarbage(); most < minGarbage {
		t.Errorf("a small heap may have %d bytes of garbage", most)
	}
}

var allocated []byte

func allocate(size int) { allocated = make([]byte, size) }
