package plugin

import "testing"

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
		if h.admit(need, 1, at) || !h.makeRoom(1, at) || h.admit(need, 1, at) {
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

// TestDue checks when the heap is collected although nothing has to be: for enough garbage at a quiet moment, and for
// much of it in a heap that is nearly full.
func TestDue(t *testing.T) {
	for name, test := range map[string]struct {
		heap heap
		want bool
	}{
		"quiet, hardly any garbage":  {heap{size: 800, inUse: 300, collected: 200}, false},
		"quiet, some garbage":        {heap{size: 800, inUse: 301, collected: 200}, true},
		"busy, some garbage":         {heap{size: 800, inUse: 301, collected: 200, busy: true}, false},
		"busy, much garbage":         {heap{size: 800, inUse: 700, collected: 200, busy: true}, false},
		"busy, and nearly full":      {heap{size: 800, inUse: 701, collected: 500, busy: true}, true},
		"busy, and full of no waste": {heap{size: 800, inUse: 800, collected: 600, busy: true}, false},
		"quiet, less than before":    {heap{size: 800, inUse: 100, collected: 200}, false},
	} {
		if got := test.heap.due(); got != test.want {
			t.Errorf("%s: due is %t", name, got)
		}
	}
	pauses := 0
	h := heap{paused: func(int64) { pauses++ }}
	h.begin()
	h.measure()
	h.size, h.collected = h.inUse, 0 // whatever is in use may be garbage
	h.busy = false
	if h.measureAt = 1; h.enforce(1<<60, 0) || pauses != 1 {
		t.Errorf("%d collections at a quiet tick", pauses)
	}
	if h.enforce(1<<60, 0); pauses != 1 {
		t.Errorf("%d collections after a tick with nothing new", pauses)
	}
}

// TestAllocatedSince checks what a heap does about what was allocated since its last collection: a new stream collects
// a heap that may be full of it, and a request that needs no larger heap without it is to be asked again.
func TestAllocatedSince(t *testing.T) {
	collections := 0
	const size = 64 << 20
	h := heap{paused: func(int64) { collections++ }}
	h.begin()
	h.size, h.collected = size, size/2
	if h.begin(); collections != 0 {
		t.Error("a heap with room was collected")
	}
	allocate(size / 3)
	if h.full() || h.admit(size/3, 1<<60, 0) || h.wanted != size/3 || !h.admit(1, 1<<60, 0) {
		t.Errorf("a request that needs no larger heap: %+v", h)
	}
	if !h.makeRoom(1<<60, 0) || collections != 1 || !h.admit(size/3, 1<<60, 0) {
		t.Errorf("after %d collections: %+v", collections, h)
	}
	h.size, h.collected = size, size/2
	allocate(size/2 + 1)
	if h.begin(); collections != 2 || h.full() {
		t.Errorf("a full heap was collected %d times: %+v", collections, h)
	}
	h.size, h.collected = size, size
	allocate(size / 4)
	if h.begin(); collections != 2 {
		t.Error("a heap of hardly any garbage was collected instead of growing")
	}
}

var allocated []byte

func allocate(size int) { allocated = make([]byte, size) }
