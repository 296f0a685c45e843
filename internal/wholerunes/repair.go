package wholerunes

import "unicode/utf8"

// Replacement stands in place of bytes that are not UTF-8.
const Replacement = "\uFFFD"

// ValidPrefix returns the length of the prefix of b that is whole, valid UTF-8.
func ValidPrefix(b []byte) int {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// BadPrefix returns the length of the bad bytes with which b begins: the maximal subpart of Unicode's table 3-7, which
// one U+FFFD replaces. cut reports whether those bytes could still become a rune if more bytes follow. b must not be
// empty and must not begin with a valid rune.
func BadPrefix(b []byte) (n int, cut bool) {
	low, high, more := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		more = 1
	case c >= 0xE0 && c <= 0xEF:
		more = 2
		switch c {
		case 0xE0:
			low = 0xA0
		case 0xED:
			high = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		more = 3
		switch c {
		case 0xF0:
			low = 0x90
		case 0xF4:
			high = 0x8F
		}
	}
	for n = 1; n <= more; n++ {
		if n == len(b) {
			return n, true
		}
		if b[n] < low || b[n] > high {
			return n, false
		}
		low, high = 0x80, 0xBF
	}
	return n, false
}

// Repaired is the result of [AppendRepaired]: how many bytes it took, and how many bad parts it replaced.
type Repaired struct {
	Used  int
	Parts uint32
}

// AppendRepaired appends b as valid UTF-8: each maximal bad part becomes U+FFFD. Unless last is set, it leaves out a
// rune that is cut off at the end.
func AppendRepaired(dst, b []byte, last bool) ([]byte, Repaired) {
	var r Repaired
	for r.Used < len(b) {
		n := ValidPrefix(b[r.Used:])
		dst = append(dst, b[r.Used:r.Used+n]...)
		if r.Used += n; r.Used == len(b) {
			break
		}
		invalid, cut := BadPrefix(b[r.Used:])
		if cut && !last {
			break
		}
		dst = append(dst, Replacement...)
		r.Used += invalid
		r.Parts++
	}
	return dst, r
}
