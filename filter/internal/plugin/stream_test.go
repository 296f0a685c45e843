package plugin

import (
	"slices"
	"testing"
)

// TestStreams: streams end in any order, and those that are left are the others.
func TestStreams(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}} {
		p := &plugin{}
		open := map[*stream]bool{}
		var all []*stream
		for i := range order {
			s := &stream{id: uint32(i)}
			p.begin(s)
			open[s], all = true, append(all, s)
		}
		for _, i := range order {
			p.end(all[i])
			p.end(all[i]) // a second end has no effect
			delete(open, all[i])
			if len(p.streams) != len(open) || slices.ContainsFunc(p.streams, func(s *stream) bool { return !open[s] }) {
				t.Fatalf("%v: after %d there are %d streams", order, i, len(p.streams))
			}
		}
	}
}
