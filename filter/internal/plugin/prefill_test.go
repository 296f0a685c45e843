package plugin

import "testing"

// TestReaders: the server with the fewest calls is chosen, those that failed last, and what is not needed is forgotten.
func TestReaders(t *testing.T) {
	r, servers := readers{}, []string{"a:1", "b:1", "c:1"}
	counts := map[string]int{}
	for range 9 {
		counts[servers[r.choose(servers, 1, 0)]]++
	}
	if counts["a:1"] != 3 || counts["b:1"] != 3 || counts["c:1"] != 3 {
		t.Errorf("got %v", counts)
	}
	r.done("a:1", false, 100)
	for i := range 4 {
		if got := servers[r.choose(servers, uint64(i), 100)]; got == "a:1" {
			t.Error("a server that has just failed is chosen")
		}
	}
	if got := servers[r.choose(servers, 0, 100+avoidMS)]; got != "a:1" {
		t.Errorf("%s is chosen when a:1 may be tried again", got)
	}
	// Where all have failed, one of them is chosen all the same.
	for _, s := range servers {
		for range 20 {
			r.done(s, false, 0)
		}
		r.forget(0)
	}
	if got := r.choose(servers[:1], 0, 1); got != 0 || len(r) != 3 {
		t.Errorf("got %d of %v", got, r)
	}
	r.done("a:1", true, 1)
	r.done("nobody:1", true, 1)
	if r.forget(avoidMS); len(r) != 0 {
		t.Errorf("left are %v", r)
	}
	first := map[int]bool{}
	for from := range uint64(3) {
		first[readers{}.choose(servers, from, 0)] = true
	}
	if len(first) != 3 {
		t.Errorf("all begin with %v", first)
	}
}
