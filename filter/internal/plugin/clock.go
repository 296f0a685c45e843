package plugin

import (
	"encoding/binary"
	"time"
)

// randomNumber returns a random number from the host, or the time if the host has no random numbers.
func randomNumber() uint64 {
	var drawn [8]byte
	if err := random(drawn[:]); err != nil {
		return uint64(time.Now().UnixNano())
	}
	return binary.LittleEndian.Uint64(drawn[:])
}

// newID returns 32 random hexadecimal digits from the host.
func newID() string {
	const digits = "0123456789abcdef"
	var drawn [16]byte
	if err := random(drawn[:]); err != nil {
		// A host without random numbers still has a clock that advances.
		t := uint64(time.Now().UnixNano())
		for i := range drawn[:8] {
			drawn[i] = byte(t >> (8 * i))
		}
	}
	var id [32]byte
	for i, b := range drawn {
		id[2*i], id[2*i+1] = digits[b>>4], digits[b&15]
	}
	return string(id[:])
}
