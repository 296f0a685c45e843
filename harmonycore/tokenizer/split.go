package tokenizer

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The splitter cuts text into pre-tokens without a regular expression. It follows the rules of
// docs/harmony-format.md#splitting-into-pieces, which are numbered 1 to 7 both there and here. Each rule reads a run of
// characters once or twice and then consumes most of it, so the time is linear in the input.

// next returns the end of the pre-token that begins at i, which must be inside s. The end is always after i. It handles
// ASCII itself. A pre-token that touches another character is left to nextAny, which has all rules.
func next(s string, i int) int {
	first := asciiClass[s[i]]
	if first&letter != 0 {
		return nextLetters(s, i, i)
	}
	if first&(number|newline|wide) == 0 && i+1 < len(s) { // may stand before a word
		switch second := asciiClass[s[i+1]]; {
		case second&letter != 0:
			return nextLetters(s, i, i+1)
		case second&wide != 0:
			return nextAny(s, i)
		case second&(number|space) == 0 && (first == 0 || s[i] == ' '):
			return nextMark(s, i)
		}
	}
	switch {
	case first&space != 0:
		return nextSpace(s, i)
	case first&number != 0:
		return nextNumber(s, i)
	case first == 0:
		return nextMark(s, i)
	}
	return nextAny(s, i)
}

// nextLetters applies rules 1 and 2 to a word in ASCII, whose letters begin at j. Both have the same result: capitals,
// then small letters. Most words have one capital at most.
func nextLetters(s string, i, j int) int {
	n := smallLetters(s, j+1)
	end := j + 1 + n
	if n == 0 && asciiClass[s[j]]&upper != 0 {
		for end < len(s) && asciiClass[s[end]]&upper != 0 {
			end++
		}
		n = smallLetters(s, end)
		end += n
	}
	for n == 8 {
		n = smallLetters(s, end)
		end += n
	}
	if end < len(s) {
		switch c := s[end]; {
		case c >= 0x80: // the word may continue
			return nextAny(s, i)
		case c == '\'':
			return contraction(s, end)
		}
	}
	return end
}

// smallLetters returns how many small letters in ASCII are at i, 8 at most.
func smallLetters(s string, i int) int {
	if i+8 > len(s) {
		return fewSmallLetters(s, i)
	}
	w := load64(s, i)
	ascii := w &^ highs
	// Adding sets the highest bit of each byte that is at least 'a', or more than 'z'.
	others := ^((ascii + ones*(0x80-'a')) &^ (ascii + ones*(0x7f-'z'))) | w
	return bits.TrailingZeros64(others&highs) >> 3
}

// fewSmallLetters is smallLetters where fewer than eight bytes are left.
func fewSmallLetters(s string, i int) int {
	n := 0
	for i+n < len(s) && asciiClass[s[i+n]]&lower != 0 {
		n++
	}
	return n
}

// ones has the lowest bit of each byte set, highs the highest.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load64 reads eight bytes. The caller has checked that they exist.
func load64(s string, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.StringData(s)), at))[:])
}

// nextMark is next for a mark in ASCII, which a space may precede, with no letter after its first character. It applies
// rule 4.
func nextMark(s string, i int) int {
	j := i + 1
	for j < len(s) && asciiClass[s[j]] == 0 {
		j++
	}
	if j < len(s) && s[j] >= 0x80 { // the mark may continue
		return nextAny(s, i)
	}
	return lineEnds(s, j)
}

// nextNumber is next for a number in ASCII. It applies rule 3.
func nextNumber(s string, i int) int {
	end := i + 1
	for end < len(s) && end < i+3 && asciiClass[s[end]]&(number|wide) != 0 {
		if s[end] >= 0x80 {
			return nextAny(s, i)
		}
		end++
	}
	return end
}

// nextAny tries all rules in their order. It is the plain form of next.
func nextAny(s string, i int) int {
	c, size := classAt(s, i)
	if end := nextWord(s, i, c, size); end > 0 {
		return end
	}
	if c&number != 0 { // rule 3
		end := i + size
		for range 2 {
			if end >= len(s) {
				break
			}
			c, size := classAt(s, end)
			if c&number == 0 {
				break
			}
			end += size
		}
		return end
	}
	// Rule 4
	from := i
	if s[i] == ' ' {
		from++
	}
	end := from
	for end < len(s) {
		c, size := classAt(s, end)
		if c&(letter|number|space) != 0 {
			break
		}
		end += size
	}
	if end > from {
		return lineEnds(s, end)
	}
	return nextSpace(s, i)
}

// lineEnds returns the end of the CR, LF and slashes that rule 4 adds to a mark.
func lineEnds(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n' || s[i] == '/') {
		i++
	}
	return i
}

// nextSpace applies rules 5 to 7 to white space at i.
func nextSpace(s string, i int) int {
	end, last, lines := i, i, 0
	for end < len(s) {
		c, size := asciiClass[s[end]], 1 // classAt, but for a call in ASCII
		if c == wide {
			c, size = wideAt(s, end)
		}
		if c&space == 0 {
			break
		}
		last = end
		end += size
		if c&newline != 0 {
			lines = end
		}
	}
	switch {
	case lines > 0:
		return lines // rule 5
	case end < len(s) && last > i:
		return last // rule 6 leaves the last one to the next pre-token
	case end > i:
		return end // rule 7
	}
	return i + 1 // never: rule 4 takes whatever is not whitespace
}

// nextWord applies rules 1 and 2 to the character at i, of class c. It returns 0 if neither matches. It tries each rule
// with that character as the optional one before the word, then without.
func nextWord(s string, i int, c class, size int) int {
	var before word
	if c&(letter|number|newline) == 0 {
		if before = wordAt(s, i+size); before.small > 0 {
			return contraction(s, before.small)
		}
	}
	if c&(upper|lower) != 0 {
		at := wordAt(s, i)
		if at.small > 0 {
			return contraction(s, at.small)
		}
		if before.any == 0 {
			before = at
		}
	}
	if before.any > 0 {
		return contraction(s, before.any)
	}
	return 0
}

// word holds the end of a word by rule 1 (small) and by rule 2 (any). An end is 0 if the rule does not match.
type word struct{ small, any int }

// wordAt matches the run of UP and then the run of LOW from i. Rule 1 requires a LOW at the end. If the second run is
// empty, the first run gives up what follows its last character that is also LOW.
func wordAt(s string, i int) (w word) {
	both := upper | lower // what continues the word
	for end := i; end < len(s); {
		c, size := asciiClass[s[end]], 1 // classAt, but for a call in ASCII
		if c == wide {
			c, size = wideAt(s, end)
		}
		if c &= both; c == 0 {
			break
		}
		end += size
		if c&upper == 0 {
			both = lower // the second run has begun
		}
		if c&lower != 0 {
			w.small = end
		}
		if both&upper != 0 {
			w.any = end
		}
	}
	return w
}

// contraction returns the end of the word that ends at i, with the contraction that may follow: 's 't 're 've 'm 'll 'd
// in either case, and 'ſ (U+017F), which folds to s.
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return i
	}
	second := byte(0)
	if i+2 < len(s) {
		second = s[i+2]
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if second|0x20 == 'e' {
			return i + 3
		}
	case 'l':
		if second|0x20 == 'l' {
			return i + 3
		}
	case 0xC5 | 0x20:
		if s[i+1] == 0xC5 && second == 0xBF {
			return i + 3
		}
	}
	return i
}
