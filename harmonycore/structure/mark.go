package structure

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// MaxMark is the maximum length of a [Mark], in bytes.
const MaxMark = harmony.MaxMark

// Mark finds a mark in text that comes in pieces. It holds back no more than the beginning of a mark.
type Mark struct {
	mark []byte
	// matched is how many bytes of the mark end the text so far.
	matched int
	// shorter[n] is the length of the longest beginning of the mark that also ends its first n bytes, without being all
	// of them.
	shorter [MaxMark + 1]uint8
}

// NewMark returns a Mark that finds text. Only the first [MaxMark] bytes of text count. An empty text is never found.
func NewMark(text string) *Mark {
	m := &Mark{mark: []byte(text[:min(len(text), MaxMark)])}
	n := 0
	for i := 1; i < len(m.mark); i++ {
		for n > 0 && m.mark[i] != m.mark[n] {
			n = int(m.shorter[n])
		}
		if m.mark[i] == m.mark[n] {
			n++
		}
		m.shorter[i+1] = uint8(n)
	}
	return m
}

// Next reads on until the mark, or to the end of b. First what was held back and then text come before the mark. rest
// follows it, and found reports whether it is there. held is valid until the next call.
func (m *Mark) Next(b []byte) (held, text, rest []byte, found bool) {
	before, n := m.matched, len(m.mark)
	if n == 0 {
		return nil, b, nil, false
	}
	i := 0
	for i < len(b) && m.matched < n {
		if m.matched == 0 {
			at := bytes.IndexByte(b[i:], m.mark[0])
			if at < 0 {
				i = len(b)
				break
			}
			i += at
		}
		for m.matched > 0 && b[i] != m.mark[m.matched] {
			m.matched = int(m.shorter[m.matched])
		}
		if b[i] == m.mark[m.matched] {
			m.matched++
		}
		i++
	}
	found = m.matched == n
	passed := before + i - m.matched // bytes that are not part of a mark
	held = m.mark[:min(before, passed)]
	text = b[:max(passed-before, 0)]
	if found {
		m.matched = 0
	}
	return held, text, b[i:], found
}

// Release returns what is held back, which turned out to be text. It is valid until the next call.
func (m *Mark) Release() []byte {
	held := m.mark[:m.matched]
	m.matched = 0
	return held
}
