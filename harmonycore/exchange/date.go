package exchange

import (
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// DatePolicy decides which date the system message carries. The zero DatePolicy is the UTC day.
type DatePolicy struct {
	// Omit leaves the date out: a date makes every prefix cache useless at midnight.
	Omit bool
	// Fixed is a day as YYYY-MM-DD, or empty.
	Fixed string
}

// on returns the date for a request that came at now, in milliseconds since 1970.
func (p DatePolicy) on(now int64) harmony.Optional {
	if p.Omit {
		return harmony.Optional{}
	}
	if p.Fixed != "" {
		return harmony.Some(p.Fixed)
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
