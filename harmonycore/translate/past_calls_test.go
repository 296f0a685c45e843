package translate

import (
	"strings"
	"testing"
)

func TestPastCalls(t *testing.T) {
	var calls pastCalls
	if found := calls.answer("", 0); found != nil {
		t.Errorf("found %+v among no calls", found)
	}
	for _, c := range [][2]string{{"b", "first"}, {"a", "second"}, {"b", "third"}, {"", "fourth"}, {"b", "fifth"}} {
		calls.interrupt()
		calls.add(c[0], calledTool{shown: c[1]})
	}
	for _, tt := range []struct {
		id   string
		made int
		want string // empty means nil
	}{
		{"b", 0, ""}, {"b", 1, "first"}, {"b", 2, "first"}, {"b", 3, "third"}, {"b", 4, "third"}, {"b", 5, "fifth"},
		{"b", 9, "fifth"},
		{"a", 1, ""}, {"a", 2, "second"}, {"a", 5, "second"},
		{"", 3, ""}, {"", 4, "fourth"}, {"c", 5, ""}, {"aa", 5, ""}, {"0", 5, ""},
	} {
		found := calls.answer(tt.id, tt.made)
		if (found != nil) != (tt.want != "") || found != nil && found.shown != tt.want {
			t.Errorf("%q among %d: got %+v, want %q", tt.id, tt.made, found, tt.want)
		}
	}
}

// TestPastCallsWithOneID has histories in which ids repeat. A history is a list of words: a call is ID=NAME, a result
// is ID>NAME of the call that it belongs to.
func TestPastCallsWithOneID(t *testing.T) {
	for _, history := range []string{
		"x=a x=b x>a x>b",
		"=a =b >a >b",
		"x=a y=b x=c x>a y>b x>c",
		"x=a x=b x=c x>a x>b x>c x>c x>c",
		"x=a x>a x=b x>b",
		"x=a x=b x>a x=c x>c x>c", // b has no result; the newest run counts
		"x=a x=b y=c x>a x>b y>c x=d x=e x>d x>e",
		"x=a y=b y>b x>a",
	} {
		var calls pastCalls
		words := strings.Fields(history)
		for _, w := range words {
			if id, name, call := strings.Cut(w, "="); call {
				calls.add(id, calledTool{shown: name})
			} else {
				calls.interrupt()
			}
		}
		made := 0
		for _, w := range words {
			id, name, result := strings.Cut(w, ">")
			if !result {
				made++
			} else if call := calls.answer(id, made); call == nil || call.shown != name {
				t.Errorf("%s: the result %s got %+v", history, w, call)
			}
		}
	}
}

// TestManyPastCallsWithOneID has as many calls and results as a request may have, all with one id.
func TestManyPastCallsWithOneID(t *testing.T) {
	const n = 8000
	var calls pastCalls
	for range n {
		calls.add("x", calledTool{})
	}
	for i := range n {
		if call := calls.answer("x", n); call != &calls.list[i] {
			t.Fatalf("result %d got another call", i)
		}
	}
}
