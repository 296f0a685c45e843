package plugin

import (
	"encoding/binary"
	"unsafe"
)

// headersRead is reused for all headers that are read.
var headersRead headerList

// headerList are headers, as names and values.
type headerList [][2]string

// decode returns the headers that the host has handed over: their number, the sizes of each one's name and value, and
// the names and values themselves with a zero after each. They lie in b, and are valid until the next call. It reports
// whether b holds all of them.
func (l *headerList) decode(b []byte) ([][2]string, bool) {
	*l = (*l)[:0]
	if len(b) < 4 {
		return nil, false
	}
	n := uint64(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if n > uint64(len(b)/8) {
		return nil, false
	}
	sizes, text := b[:8*n], b[8*n:]
	for ; len(sizes) >= 8; sizes = sizes[8:] {
		var h [2]string
		for i := range h {
			size := uint64(binary.LittleEndian.Uint32(sizes[4*i:]))
			if size >= uint64(len(text)) {
				return nil, false
			}
			h[i] = unsafe.String(unsafe.SliceData(text), int(size))
			text = text[size+1:]
		}
		*l = append(*l, h)
	}
	return *l, true
}

// find returns the first value of a header, and reports whether there is one.
func find(headers [][2]string, name string) (string, bool) {
	for _, h := range headers {
		if h[0] == name {
			return h[1], true
		}
	}
	return "", false
}
