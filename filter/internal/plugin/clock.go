package plugin

import (
	"encoding/binary"
	"time"
	"unsafe"
)

// now returns the time in milliseconds since 1970.
func now() int64 { return micros() / 1_000 }

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
	id := make([]byte, 32)
	drawn := id[16:] // each of its bytes is read before it is overwritten
	if err := random(drawn); err != nil {
		// A host without random numbers still has a clock that advances.
		binary.LittleEndian.PutUint64(drawn, uint64(time.Now().UnixNano()))
	}
	for i := range drawn {
		b := drawn[i]
		id[2*i], id[2*i+1] = digits[b>>4], digits[b&15]
	}
	return unsafe.String(&id[0], len(id))
}
