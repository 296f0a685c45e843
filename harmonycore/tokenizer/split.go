package tokenizer

// The splitter cuts text into pre-tokens without a regular expression, by the rules of
// docs/harmony-format.md#splitting-into-pieces, numbered 1 to 7 there and here. Each rule looks at a run of characters
// once or twice and then consumes most of it, so time grows linearly on every input.

// next is the end of the pre-token that begins at i, which must be inside s; it is always beyond i. Words, numbers and
// marks in ASCII are decided here; whatever touches another character goes to nextAny, which knows all rules.
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
	// Rules 1 and 2 come to the same here: capitals, then small letters.
	for j < len(s) && asciiClass[s[j]]&upper != 0 {
		j++
	}
	for j < len(s) && asciiClass[s[j]]&lower != 0 {
		j++
	}
	if j < len(s) {
		switch c := s[j]; {
		case c >= 0x80: // the word may go on
			return nextAny(s, i)
		case c == '\'':
			return contraction(s, j)
		}
	}
	return j
}

// nextMark is next for an ASCII character that is no letter, number or line end, with no letter after it: rule 4 if
// that holds at once, else nextAny.
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

// lineEnds is where the CR, LF and slashes end that rule 4 adds to a mark.
func lineEnds(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n' || s[i] == '/') {
		i++
	}
	return i
}

// nextSpace is rules 5 to 7, for whitespace at i.
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
		return last // rule 6 leaves the last one to what follows
	case end > i:
		return end // rule 7
	}
	return i + 1 // never: rule 4 takes whatever is not whitespace
}

// nextWord is rules 1 and 2 for the character at i, of class c; 0 if neither matches. Each is tried with that character
// as the optional one before the word, then without.
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

// word is where a word ends by rule 1 (small) and by rule 2 (any); 0 where the rule does not match.
type word struct{ small, any int }

// wordAt matches the run of UP and then the run of LOW from i. Rule 1 needs a LOW at the end: if the second run is
// empty, the first one gives back what follows its last character that is LOW too.
func wordAt(s string, i int) (w word) {
	both := upper | lower // what goes on with the word
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

// contraction is where the word that ends at i ends with its contraction, if one follows: 's 't 're 've 'm 'll 'd in
// either case, and 'ſ (U+017F), which folds to s.
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
