package plugin

import "testing"

// TestMaxInUse checks that the gauge is the fullest VM's, whichever wrote last. A VM that has not written for a while
// does not count.
func TestMaxInUse(t *testing.T) {
	var table []byte
	for i, step := range []struct {
		id, inUse uint64
		at        int64
		want      uint64
		entries   int
	}{
		{1, 100, 0, 100, 1},
		{2, 5, 100, 100, 2}, // another VM, with less in use
		{3, 300, 200, 300, 3},
		{2, 7, 300, 300, 3},                                // the same again
		{3, 50, 400, 100, 3},                               // the fullest was collected
		{2, 8, 5_001, 50, 2},                               // the first has ended
		{2, 9, 5_001 + heapLifetime, 9, 1},                 // the third, too
		{4, 1, 1, 1, 1},                                    // the host's clock was set back
		{5, 1 << 40, 2, 1 << 40, 2}, {4, 1, 3, 1 << 40, 2}, // more than a word of 32 bits
	} {
		var largest uint64
		table, largest = updateHeaps(table, step.id, step.inUse, step.at)
		if largest != step.want || len(table) != step.entries*heapEntry {
			t.Errorf("step %d: the maximum is %d of %d, want %d of %d", i, largest, len(table)/heapEntry,
				step.want, step.entries)
		}
	}
	if _, largest := updateHeaps([]byte("not of ours, and no whole entry"), 1, 10, 0); largest < 10 {
		t.Errorf("most is %d", largest)
	}
}
