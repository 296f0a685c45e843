package plugin

import "testing"

func TestSeconds(t *testing.T) {
	for ms, want := range map[int64]string{0: "0.000", 7: "0.007", 42: "0.042", 950: "0.950", 1000: "1.000",
		3_600_123: "3600.123"} {
		if got := string(appendSeconds(nil, ms)); got != want {
			t.Errorf("%d ms are %s, want %s", ms, got, want)
		}
	}
}
