package main

import (
	"slices"
	"testing"
)

func TestParseCrowds(t *testing.T) {
	got, err := parseCrowds("1x1000,64x10000")
	if want := []crowd{{1, 1000}, {64, 10_000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if all := loads(options{crowds: got}); len(all) != 2 || all[1].name != "64 × 10000" {
		t.Errorf("the loads are %v", all)
	}
	for _, text := range []string{"", "64", "x1", "1x", "0x1", "1x0", "1x1,", "2*3"} {
		if got, err := parseCrowds(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
