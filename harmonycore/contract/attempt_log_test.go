package contract

import (
	"strconv"
	"testing"
)

// TestAttemptLog: there is at most one line a second for each pool, it counts those that were left out, and a clock
// that is put back silences none. Pools beyond a number share their lines.
func TestAttemptLog(t *testing.T) {
	var l AttemptLog
	const line = ": 10.0.0.1:8000 has failed before its first token: aborted"
	const see = ": see docs/pools.md#failed-attempts"
	wants := func(pool string, at int64, want string) {
		t.Helper()
		if got := l.Line(pool, "10.0.0.1:8000", "aborted", at); got != want {
			t.Errorf("%s at %d: %q, want %q", pool, at, got, want)
		}
	}
	for _, tt := range []struct {
		pool string
		at   int64
		want string
	}{
		{"p", 1_000, line + see}, {"p", 1_001, ""}, {"q", 1_001, line + see}, {"p", 1_999, ""},
		{"p", 2_000, line + ", and 2 more since the last such line" + see}, {"p", 3_000, line + see},
		{"p", 500, line + see}, {"p", 600, ""}, {"q", 2_001, line + see},
	} {
		want := tt.want
		if want != "" {
			want = "harmony: pool " + tt.pool + want
		}
		wants(tt.pool, tt.at, want)
	}
	for i := range maxLoggedPools - 2 {
		wants(strconv.Itoa(i), 5_000, "harmony: pool "+strconv.Itoa(i)+line+see)
	}
	wants("one more", 5_000, "")
	wants("one more", 6_000, "harmony: pool one more"+line+", and 1 more since the last such line"+see)
	if len(l.pools) != maxLoggedPools {
		t.Errorf("%d pools", len(l.pools))
	}
}
