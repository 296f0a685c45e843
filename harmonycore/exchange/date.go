package exchange

import (
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// dateOf returns the date in the system message by the setting [contract.System.Date], for a request that came at now,
// in milliseconds since 1970.
func dateOf(setting string, now int64) harmony.Optional {
	switch setting {
	case contract.DateUTC:
	case contract.DateOmit:
		return harmony.Optional{}
	default:
		return harmony.Some(setting)
	}
	year, month, day := time.UnixMilli(now).UTC().Date()
	text := []byte("0000-00-00")
	for i, n := 3, year; i >= 0; i, n = i-1, n/10 {
		text[i] += byte(n % 10)
	}
	text[5] += byte(int(month) / 10)
	text[6] += byte(int(month) % 10)
	text[8] += byte(day / 10)
	text[9] += byte(day % 10)
	return harmony.Some(string(text))
}
