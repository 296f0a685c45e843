package wasmhost

import (
	"slices"
	"testing"
)

// TestHistograms: a value counts in every bucket whose bound is not below it, and in the sum and the number of all.
func TestHistograms(t *testing.T) {
	m := &metrics{bounds: func(name string) []float64 {
		if name == "own" {
			return []float64{10, 100}
		}
		return nil
	}}
	own, other, gauge := m.define(histogram, "own"), m.define(histogram, "other"), m.define(gauge, "gauge")
	for _, value := range []uint64{0, 10, 11, 100, 101, 1 << 40} {
		for _, id := range []uint32{own, m.define(histogram, "own"), other} {
			if status := m.with(id, func(x *metric) Status { x.observe(value); return StatusOK }); status != StatusOK {
				t.Fatal(status)
			}
		}
	}
	m.with(gauge, func(x *metric) Status { x.value = 7; return StatusOK })
	got := m.read()
	const sum = 10 + 11 + 100 + 101 + 1<<40
	if h := got[0]; h.Name != "own" || h.Kind != HistogramMetric || h.Value != 12 || h.Sum != 2*sum ||
		!slices.Equal(h.Bounds, []float64{10, 100}) || !slices.Equal(h.Buckets, []uint64{4, 8}) {
		t.Errorf("got %+v", h)
	}
	if h := got[1]; !slices.Equal(h.Bounds, defaultBounds) || h.Buckets[0] != 1 || h.Buckets[len(h.Buckets)-1] != 5 {
		t.Errorf("got %+v", h)
	}
	if g := got[2]; g.Kind != GaugeMetric || g.Value != 7 || g.Buckets != nil {
		t.Errorf("got %+v", g)
	}
	if n := m.snapshot()["own"]; n != 12 {
		t.Errorf("%d values are counted", n)
	}
}

func TestFlagNames(t *testing.T) {
	for flags, want := range map[uint64]string{
		0: "", flagNoRoute: "NR", flagUpstreamConnectionFailure | flagStreamIdleTimeout: "UF,SI", 1 << 60: "",
	} {
		if got := flagNames(flags); got != want {
			t.Errorf("%b is %q, want %q", flags, got, want)
		}
	}
}

// TestCount: what the host counts in the filter's place is in the filter's own counter.
func TestCount(t *testing.T) {
	h := &Host{}
	h.Count("a")
	id := h.metrics.define(counter, "a")
	h.metrics.with(id, func(m *metric) Status { m.value += 2; return StatusOK })
	h.Count("a")
	h.Count("b")
	if got := h.Metrics(); len(got) != 2 || got["a"] != 4 || got["b"] != 1 {
		t.Errorf("got %v", got)
	}
}
