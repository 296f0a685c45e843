package plugin

import (
	"crypto/rand"
	"time"
)

// now is the host's clock, in milliseconds since 1970.
func now() int64 { return time.Now().UnixMilli() }

// newID is 32 random hexadecimal digits from the host.
func newID() string {
	const digits = "0123456789abcdef"
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		// A host without randomness still has a clock that moves on.
		t := uint64(time.Now().UnixNano())
		for i := range random[:8] {
			random[i] = byte(t >> (8 * i))
		}
	}
	var id [32]byte
	for i, b := range random {
		id[2*i], id[2*i+1] = digits[b>>4], digits[b&15]
	}
	return string(id[:])
}
