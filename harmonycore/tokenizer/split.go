package tokenizer

import "math/bits"

// The splitter cuts text into pre-tokens without a regular expression. It follows the rules of
// docs/harmony-format.md#splitting-into-pieces, which are numbered 1 to 7 both there and here. Each rule reads a run of
// characters once or twice and then consumes most of it, so the time is linear in the input.

// next returns the end of the pre-token that begins at i, which must be inside s. The end is always after i. It handles
// words, numbers and marks in ASCII itself. Whatever touches another character is left to nextAny, which has all rules.
func next(s string, i int) int {
	j := i
	switch c := asciiClass[s[i]]; {
	case c&letter != 0:
	case c&(number|newline|wide) != 0:
		return nextAny(s, i)
	default: // may stand before a word
		j++
		if j >= len(s) || asciiClass[s[j]]&(letter|wide) == 0 {
			return nextMark(s, i)
		}
		if s[j] >= 0x80 {
			return nextAny(s, i)
		}
	}
	// Rules 1 and 2 have the same result here: capitals, then small letters. Most words have a capital at most, and end in
	// the next eight bytes.
	if n := smallLetters(s, j+1); n < 8 && (n > 0 || asciiClass[s[j]]&lower != 0) {
		if end := j + 1 + n; end < len(s) && s[end] < 0x80 && s[end] != '\'' {
			return end
		}
	}
	for j < len(s) && asciiClass[s[j]]&upper != 0 {
		j++
	}
	for j < len(s) && asciiClass[s[j]]&lower != 0 {
		j++
	}
	if j < len(s) {
		switch c := s[j]; {
		case c >= 0x80: // the word may continue
			return nextAny(s, i)
		case c == '\'':
			return contraction(s, j)
		}
	}
	return j
}

// smallLetters returns how many small letters in ASCII are at i, of eight bytes. It returns 8 where fewer bytes are left.
func smallLetters(s string, i int) int {
	if i+8 > len(s) {
		return 8
	}
	w := load64(s[i:])
	ascii := w &^ highs
	// Adding sets the highest bit of each byte that is at least 'a', or more than 'z'.
	others := ^((ascii + ones*(0x80-'a')) &^ (ascii + ones*(0x7f-'z'))) | w
	return bits.TrailingZeros64(others&highs) >> 3
}

// ones has the lowest bit of each byte set, highs the highest.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load64 reads eight bytes. The caller has checked that they exist.
func load64(s string) uint64 {
	s = s[:8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// nextMark is next for an ASCII character other than a letter, a number or a line end, with no letter after it. It
// applies rule 4 if that matches at once, else nextAny.
func nextMark(s string, i int) int {
	j := i
	if s[j] == ' ' {
		j++
	}
	from := j
	for j < len(s) && asciiClass[s[j]]&(letter|number|space|wide) == 0 {
		j++
	}
	if j == from || j < len(s) && s[j] >= 0x80 {
		return nextAny(s, i)
	}
	return lineEnds(s, j)
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
