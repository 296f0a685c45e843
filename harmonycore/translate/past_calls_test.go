package translate

import "testing"

func TestPastCalls(t *testing.T) {
	var calls pastCalls
	if shown, ok := calls.find("", 0); ok {
		t.Errorf("found %q among no calls", shown)
	}
	for _, c := range []pastCall{{"b", "first"}, {"a", "second"}, {"b", "third"}, {"", "fourth"}, {"b", "fifth"}} {
		calls.add(c.id, c.shown)
	}
	for _, tt := range []struct {
		id   string
		made int
		want string // empty: none
	}{
		{"b", 0, ""}, {"b", 1, "first"}, {"b", 2, "first"}, {"b", 3, "third"}, {"b", 4, "third"}, {"b", 5, "fifth"}, {"b", 9, "fifth"},
		{"a", 1, ""}, {"a", 2, "second"}, {"a", 5, "second"},
		{"", 3, ""}, {"", 4, "fourth"}, {"c", 5, ""}, {"aa", 5, ""}, {"0", 5, ""},
	} {
		if shown, ok := calls.find(tt.id, tt.made); ok != (tt.want != "") || ok && shown != tt.want {
			t.Errorf("%q among %d: got %q, %t, want %q", tt.id, tt.made, shown, ok, tt.want)
		}
	}
}
