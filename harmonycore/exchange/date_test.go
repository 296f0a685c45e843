package exchange

import (
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

func TestDateOf(t *testing.T) {
	midnight := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC).UnixMilli()
	for _, tt := range []struct {
		date string
		now  int64
		want harmony.Optional
	}{
		{contract.DateUTC, midnight - 1, harmony.Some("2026-01-02")},
		{contract.DateUTC, midnight, harmony.Some("2026-01-03")},
		{contract.DateUTC, 0, harmony.Some("1970-01-01")}, {"2025-06-30", midnight, harmony.Some("2025-06-30")},
		{contract.DateOmit, midnight, harmony.Optional{}},
	} {
		if got := dateOf(tt.date, tt.now); got != tt.want {
			t.Errorf("%s at %d: %+v", tt.date, tt.now, got)
		}
	}
}
