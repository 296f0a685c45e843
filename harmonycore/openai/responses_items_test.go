package openai

import "testing"

// TestAddItems checks that a list of items has room for no more of them than a body of so many values may hold, and
// that growing it leaves little garbage behind. A number of values that is not known, or is too small, does no harm.
func TestAddItems(t *testing.T) {
	for _, tt := range []struct{ values, items, most int }{
		{2 * 10_000, 10_000, 10_000}, {3 * 10_000, 10_000, 15_000}, {5, 2, 2}, {0, 1000, 2000}, {100, 1000, 2000},
	} {
		r, made, last := NewItemsRequest("m", tt.values, false), 0, 0
		for i := range tt.items {
			r.Add(&InputItem{Index: i})
			if now := cap(r.Input); now != last {
				made, last = made+now, now
			}
		}
		for i := range r.Input {
			if r.Input[i].Index != i {
				t.Fatalf("%+v: item %d is item %d", tt, i, r.Input[i].Index)
			}
		}
		if len(r.Input) != tt.items || cap(r.Input) > tt.most {
			t.Errorf("%+v: %d items, room for %d", tt, len(r.Input), cap(r.Input))
		}
		if tt.values >= 2*tt.items && made > tt.values {
			t.Errorf("%+v: room was made for %d", tt, made)
		}
	}
}
