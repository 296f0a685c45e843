package tokenizer

import "unicode/utf8"

// class is the set of a character's classes in the o200k pattern. They follow Unicode 16.0, the reference's version.
// The standard package unicode is older and gives other ids (docs/harmony-format.md#splitting-into-pieces).
type class uint8

const (
	letter  class = 1 << iota // L
	number                    // N
	space                     // White_Space
	upper                     // UP: Lu Lt Lm Lo M
	lower                     // LOW: Ll Lm Lo M
	newline                   // CR and LF, which are also space
	wide                      // in asciiClass only: not ASCII, look further
)

// kindClass translates the kinds of the generated table (tools/vocab/classes).
const kindClass = "" +
	"\x00" + // 0 anything else
	"\x04" + // 1 whitespace
	"\x02" + // 2 number
	"\x09" + // 3 Lu, Lt
	"\x11" + // 4 Ll
	"\x19" + // 5 Lm, Lo
	"\x18" + // 6 M: part of a word, yet no letter
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00" // so that four bits are a safe index

// asciiClass holds the class of every byte. Bytes from 0x80 are wide.
var asciiClass = func() (t [256]class) {
	for c := range t {
		switch {
		case c >= 0x80:
			t[c] = wide
		case c >= 'a' && c <= 'z':
			t[c] = letter | lower
		case c >= 'A' && c <= 'Z':
			t[c] = letter | upper
		case c >= '0' && c <= '9':
			t[c] = number
		case c == '\r' || c == '\n':
			t[c] = space | newline
		case c == ' ' || c >= 9 && c <= 12:
			t[c] = space
		}
	}
	return t
}()

// classAt returns the class of the character at i, and its length in bytes. i must be inside s. A byte that is not
// UTF-8 counts as a character without a class.
func classAt(s string, i int) (class, int) {
	if c := asciiClass[s[i]]; c != wide {
		return c, 1
	}
	return wideAt(s, i)
}

// wideAt is classAt for a character beyond ASCII.
func wideAt(s string, i int) (class, int) {
	if i < len(s)-2 { // nearly always
		b0, b1, b2 := rune(s[i]), rune(s[i+1]), rune(s[i+2])
		switch {
		case b1&0xC0 != 0x80:
		case b0 >= 0xC2 && b0 < 0xE0:
			return classOf(b0&0x1F<<6 | b1&0x3F), 2
		case b0 > 0xE0 && b0 < 0xED && b2&0xC0 == 0x80:
			return classOf(b0&0x0F<<12 | b1&0x3F<<6 | b2&0x3F), 3
		}
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	return classOf(r), size // U+FFFD, for a bad byte, has no class
}

// classOf returns the class of a character beyond ASCII.
func classOf(r rune) class {
	if r >= 0x4E00 && r < 0xA000 { // most Chinese and Japanese: Lo throughout
		return letter | upper | lower
	}
	if r < 0 || r >= classLimit {
		if r >= 0xE0100 && r <= 0xE01EF { // variation selectors: M
			return upper | lower
		}
		return 0
	}
	page := int(classFirst[r>>7])
	at := page<<6 | int(r>>1)&63
	if at >= len(classSecond) {
		return 0 // never: all pages are in the table
	}
	return class(kindClass[classSecond[at]>>((r&1)*4)&15])
}
