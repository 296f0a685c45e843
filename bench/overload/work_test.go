package main

import (
	"maps"
	"math"
	"testing"
)

// TestShare: no client gets more than it asks for, and what it leaves is for the others.
func TestShare(t *testing.T) {
	for _, tt := range []struct {
		asked, want map[string]float64
		amount      float64
	}{
		{map[string]float64{"a": 10, "b": 100, "c": 100}, map[string]float64{"a": 10, "b": 45, "c": 45}, 100},
		{map[string]float64{"a": 10, "b": 20}, map[string]float64{"a": 10, "b": 20}, 100},
		{map[string]float64{"a": 50, "b": 50}, map[string]float64{"a": 20, "b": 20}, 40},
	} {
		if got := share(tt.asked, tt.amount); !maps.Equal(got, tt.want) {
			t.Errorf("%v of %v: got %v", tt.amount, tt.asked, got)
		}
	}
}

func TestJain(t *testing.T) {
	for _, tt := range []struct {
		parts []float64
		want  float64
	}{{[]float64{1, 1, 1, 1}, 1}, {[]float64{0.5, 0.5}, 1}, {[]float64{1, 0, 0, 0}, 0.25}, {nil, 0}} {
		if got := jain(tt.parts); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: got %v, want %v", tt.parts, got, tt.want)
		}
	}
}
