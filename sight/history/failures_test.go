package history

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// failing is the metrics of an Envoy whose attempts at servers of pools have failed so often.
func failing(t *testing.T, a, b int) Families {
	t.Helper()
	all, err := Parse(strings.NewReader(fmt.Sprintf("# TYPE harmony_failed_attempts_total counter\n"+
		"harmony_failed_attempts_total{pool=%q} %d\nharmony_failed_attempts_total{pool=%q} %d\n", "a", a, "b", b)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFailed: failed attempts are counted by pool, of all Envoys together, and forgotten after a while. Attempts that
// an Envoy has counted before it was known, or before its pool was, do not count; attempts that it has counted since it
// was started again does.
func TestFailed(t *testing.T) {
	h, c := newHistory(t)
	wants := func(when string, want map[string]int) {
		t.Helper()
		if got := h.Failed(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	h.Add(c.now, "one", failing(t, 3, 3))
	h.SetPools([]string{"a"})
	h.Add(c.now, "one", failing(t, 4, 4))
	wants("pool a is new", map[string]int{})
	h.Add(c.now, "one", failing(t, 6, 6))
	h.Add(c.now, "two", nil)
	h.Add(c.now, "two", failing(t, 1, 0))
	wants("two Envoys", map[string]int{"a": 3})
	c.now = c.now.Add(5 * time.Second)
	h.SetPools([]string{"a", "b"})
	h.Add(c.now, "one", failing(t, 6, 8))
	h.Add(c.now, "one", failing(t, 6, 9))
	wants("pool b is new", map[string]int{"a": 3, "b": 1})
	h.Add(c.now, "one", failing(t, 2, 0)) // it was started again
	wants("a restart", map[string]int{"a": 5, "b": 1})
	c.now = c.now.Add(FailedFor - 5*time.Second)
	wants("soon", map[string]int{"a": 5, "b": 1})
	c.now = c.now.Add(5 * time.Second)
	wants("later", map[string]int{"a": 2, "b": 1})
	h.AddOf(c.now, "three", c.now.Add(-FailedFor), failing(t, 7, 0))
	wants("an Envoy that was there before", map[string]int{"a": 2, "b": 1})
	h.AddOf(c.now, "four", c.now.Add(-5*time.Second), failing(t, 0, 3))
	wants("an Envoy that was just started", map[string]int{"a": 2, "b": 4})
	h.SetPools([]string{"a"})
	wants("without b", map[string]int{"a": 2})
	c.now = c.now.Add(5 * time.Second)
	wants("over", map[string]int{})
	if n := len(h.Page().Series); n != len(quantiles) {
		t.Errorf("%d series", n)
	}
}

// TestFailedBeforeTheFirstReading: what an Envoy that was just started has counted by the first reading counts.
func TestFailedBeforeTheFirstReading(t *testing.T) {
	h, _ := newHistory(t)
	h.SetPools([]string{"a"})
	ctx, cancel := context.WithCancel(t.Context())
	h.Poll(ctx, "one", func(context.Context) ([]byte, error) {
		cancel()
		return []byte("# TYPE harmony_failed_attempts_total counter\nharmony_failed_attempts_total{pool=\"a\"} 3\n"), nil
	})
	if got := h.Failed(); got["a"] != 3 {
		t.Errorf("got %v", got)
	}
}
