package server

import (
	"slices"
	"testing"
)

// TestPlacesAreForgotten: a batch keeps nothing of a request that has left.
func TestPlacesAreForgotten(t *testing.T) {
	s := &Server{Options: Options{CacheBlocks: 8, BlockSize: 16}, released: make(chan struct{}),
		closed: make(chan struct{})}
	b := newBatching(s)
	j := &Job{Server: s, Asked: &Completion{IDs: slices.Repeat([]uint32{1}, 20)}, Answer: Generation{IDs: []uint32{1, 2}}}
	p := b.enter(j)
	if n := len(b.places); n != 1 {
		t.Errorf("%d places, want 1", n)
	}
	b.leave(p)
	if n := len(b.places); n != 0 {
		t.Errorf("%d places are left", n)
	}
}
