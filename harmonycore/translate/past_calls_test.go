package translate

import "testing"

func TestPastCalls(t *testing.T) {
	var calls pastCalls
	if found := calls.find("", 0); found != nil {
		t.Errorf("found %+v among no calls", found)
	}
	for _, c := range [][2]string{{"b", "first"}, {"a", "second"}, {"b", "third"}, {"", "fourth"}, {"b", "fifth"}} {
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
		if found := calls.find(tt.id, tt.made); (found != nil) != (tt.want != "") || found != nil && found.shown != tt.want {
			t.Errorf("%q among %d: got %+v, want %q", tt.id, tt.made, found, tt.want)
		}
	}
}
