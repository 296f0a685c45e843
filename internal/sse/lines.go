package sse

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// LineSize returns the position of b's first line end, or the length of b. One loop looks for both line ends: two
// searches would scan all of a large write for each of its lines. It examines eight bytes at once.
func LineSize(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		// The loop's condition is the check: TinyGo would make two more of each access.
		w := binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))[:])
		lf, cr := w^ones*'\n', w^ones*'\r'
		// The highest bit of the first zero byte of each is set, and perhaps the highest bits of later bytes.
		if found := ((lf-ones)&^lf | (cr-ones)&^cr) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for i < len(b) && b[i] != '\n' && b[i] != '\r' {
		i++
	}
	return i
}
