package inprocess

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestFailures: failed attempts are counted by pool under the name that the filter's metric has in Envoy, and logged
// with the same words, not more often than once a second.
func TestFailures(t *testing.T) {
	s := &counts{}
	var lines []string
	h := newHold(&failures{
		count: func(name string) { s.metrics = append(s.metrics, wasmhost.Metric{Name: name, Value: 1}) },
		log: func(level wasmhost.Level, line string) {
			if level != wasmhost.Warn {
				t.Errorf("level %v", level)
			}
			lines = append(lines, line)
		},
	})
	held := contract.Attempt{Kind: contract.VLLM, Pool: "a.b", SilentMS: 1000}.String()
	read := h.Begin(held, "text/event-stream")
	if read == nil {
		t.Fatal("the answer is not held")
	}
	decided, how := read(nil, true)
	if !decided || how != "empty" {
		t.Fatalf("got %v, %q", decided, how)
	}
	h.Failed(held, "10.0.0.1:8000", how, false)
	h.Failed(held, "10.0.0.2:8000", "", true)
	h.Failed("no attempt", "10.0.0.1:8000", "", true)
	if want := []string{"harmony: pool a.b: 10.0.0.1:8000 has failed before its first token: empty: " +
		"see docs/pools.md#failed-attempts"}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	rules, err := readStats(xds.Stats(), "harmony", "harmony")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.metrics); n != 2 {
		t.Fatalf("%d are counted", n)
	}
	for _, m := range s.metrics {
		named := rules.of(m.Name)
		if named.name != contract.FailedAttemptsTotal.Info().Name || len(named.labels) != 1 ||
			named.labels[0].GetName() != "pool" || named.labels[0].GetValue() != "a.b" {
			t.Errorf("got %+v", named)
		}
	}
}
