package plugin

import "testing"

// TestHeld walks requests through all that can become of them: what is counted must be what is held.
func TestHeld(t *testing.T) {
	var h held
	want := func(bytes int, largest *stream) {
		t.Helper()
		if h.bytes != bytes || h.largest() != largest {
			t.Errorf("held are %d bytes, most of them of %v; want %d of %v", h.bytes, h.largest(), bytes, largest)
		}
	}
	a, b, c := &stream{id: 1}, &stream{id: 2}, &stream{id: 3}
	h.release(a) // of which no byte has come
	want(0, nil)
	h.grow(a, 10)
	h.grow(b, 30)
	h.grow(a, 20)
	want(50, b)
	h.grow(a, 40)
	want(70, a)
	h.grow(a, 5) // a host that takes something away
	want(35, b)
	h.release(b)
	h.release(b) // refused, and then done
	want(5, a)
	h.grow(c, 0)
	h.release(c)
	h.release(a)
	want(0, nil)
	h.grow(&stream{id: 1}, 7) // the id of one that has ended
	h.release(a)
	if h.bytes != 7 {
		t.Errorf("held are %d bytes after the end of another stream of that id, want 7", h.bytes)
	}
}
