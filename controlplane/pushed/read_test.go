package pushed

import (
	"math"
	"testing"
	"time"
)

// TestBeginning: a time is read in nanoseconds, as OTLP has it, and in microseconds, as Envoy 1.40 pushes it.
func TestBeginning(t *testing.T) {
	at := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)
	for started, want := range map[uint64]time.Time{uint64(at.UnixNano()): at, uint64(at.UnixMicro()): at, 0: {},
		math.MaxUint64: {}} {
		if got := (&push{started: started}).beginning(); !got.Equal(want) {
			t.Errorf("%d: %v, want %v", started, got, want)
		}
	}
}
