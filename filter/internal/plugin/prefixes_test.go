package plugin

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
)

// TestOneMemory: all configurations of a VM share one memory, which is given up as a whole. It has the size that the
// last one allows, and what a configuration without one finds is freed.
func TestOneMemory(t *testing.T) {
	var v vm
	fill := func(m *prefixmemory.Memory) {
		for i := range 1000 {
			none, text := m.None(), make([]byte, 2000)
			none.AddRoot(prefixmemory.Tag{}, m.Digest([]byte{byte(i), byte(i >> 8)}), m.Digest(nil),
				&prefixmemory.Entry{Parts: []prefixmemory.Part{{Size: len(text)}}, Text: text})
		}
	}
	large := v.remember(1 << 20)
	small := v.remember(256 << 10)
	fill(large)
	fill(small)
	if got := large.Bytes(); large != small || got > 256<<10 || got == 0 {
		t.Errorf("%d bytes are used; one memory: %t", got, large == small)
	}
	if v.forget(); large.Bytes()+small.Bytes() > 0 {
		t.Errorf("%d and %d bytes are not given up", large.Bytes(), small.Bytes())
	}
	fill(v.remember(1 << 20))
	if m := v.remember(0); m != nil || small.Bytes() > 0 {
		t.Errorf("%v is remembered, and %d bytes are not freed", m, small.Bytes())
	}
}
