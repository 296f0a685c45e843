package sse

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// MaxEvent is the largest event accepted, in bytes: its data so far and the line that is being read. Servers' events
// are a few hundred bytes long; the limit only keeps a broken server from filling the memory. It bounds an event, not a
// write: how many events come at once does not matter.
const MaxEvent = 4 << 20

// maxKeptBuffer is the largest buffer kept from one event to the next, in bytes.
const maxKeptBuffer = 64 << 10

// Lines splits a stream into lines, as [Decoder] splits one into events. A stream whose lines are JSON (NDJSON) needs no
// more. The zero Lines is ready. Line ends are LF, CR LF or CR.
type Lines struct {
	// rest is the part of the last write that is not read yet. It is the caller's memory.
	rest []byte
	// line is the beginning of a line whose end has not been written yet.
	line []byte
	// afterCR reports whether the last line ended with CR, so that an LF right after it does not begin another line.
	afterCR bool
	broken  bool
}

// Write is [Decoder.Write].
func (l *Lines) Write(p []byte) {
	switch {
	case l.broken:
	case len(l.rest) == 0:
		l.rest = p
	default:
		joined := make([]byte, 0, len(l.rest)+len(p))
		l.rest = append(append(joined, l.rest...), p...)
	}
}

// Broken reports whether Next has met a line larger than [MaxEvent]. No lines follow it.
func (l *Lines) Broken() bool { return l.broken }

// Next returns the next whole line without its end. The line is valid until the next call of Next or Write.
func (l *Lines) Next() ([]byte, bool) { return l.next(0) }

// between reports whether everything written is read, and the next byte begins a line.
func (l *Lines) between() bool {
	return len(l.rest) == 0 && len(l.line) == 0 && !l.afterCR && !l.broken
}

// next is Next for a caller that holds so many bytes of an event beside the line.
func (l *Lines) next(held int) ([]byte, bool) {
	if l.afterCR && len(l.rest) > 0 {
		if l.rest[0] == '\n' {
			l.rest = l.rest[1:]
		}
		l.afterCR = false
	}
	size := LineSize(l.rest)
	if held+len(l.line)+size > MaxEvent {
		*l = Lines{broken: true}
		return nil, false
	}
	line := l.rest[:size]
	if size == len(l.rest) {
		l.line = append(l.line, line...)
		l.rest = nil
		return nil, false
	}
	l.afterCR = l.rest[size] == '\r'
	l.rest = l.rest[size+1:]
	if len(l.line) > 0 {
		line = append(l.line, line...)
		l.line = emptied(line)
	}
	return line, true
}

// LineSize returns the position of b's first line end, or the length of b. One loop looks for both line ends: two
// searches would scan all of a large write for each of its lines. It examines eight bytes at once.
func LineSize(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		// The loop's condition is the check: TinyGo would make two more of each access.
		w := binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))[:])
		lf, cr := w^ones*'\n', w^ones*'\r'
		// The highest bit of the first zero byte of each is set, and perhaps those of later bytes.
		if found := ((lf-ones)&^lf | (cr-ones)&^cr) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for i < len(b) && b[i] != '\n' && b[i] != '\r' {
		i++
	}
	return i
}

// emptied returns b emptied for reuse, or nil if it is too large to keep.
func emptied(b []byte) []byte {
	if cap(b) > maxKeptBuffer {
		return nil
	}
	return b[:0]
}
