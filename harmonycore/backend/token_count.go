package backend

import "math"

// TokenCount finds the number of tokens in a server's answer to POST /tokenize: the member "count" of an object. It
// reads the answer in pieces and keeps nothing of it, because the object also holds all tokens. The zero value is
// ready.
type TokenCount struct {
	depth int
	// quoted reports whether a string is open, and escaped whether its next byte is.
	quoted, escaped bool
	// matched is how many bytes of a member's name agree with countMember. It is -1 for any other name, and in a value.
	matched int
	// named reports whether the name before the value was countMember.
	named bool
	// inValue reports whether the outermost object's open member has a value.
	inValue bool
	// begun reports whether there was an object, digits whether the number has begun, and invalid whether the answer is
	// none with a number.
	begun, digits, invalid bool
	count                  int
}

const countMember = "count"

// Write reads the next piece.
func (c *TokenCount) Write(piece []byte) {
	for _, b := range piece {
		if c.quoted {
			c.inString(b)
		} else {
			c.outside(b)
		}
	}
}

func (c *TokenCount) inString(b byte) {
	switch {
	case c.escaped:
		c.escaped = false
		c.matched = -1
	case b == '\\':
		c.escaped = true
	case b == '"':
		c.quoted = false
	case c.matched >= 0 && c.matched < len(countMember) && b == countMember[c.matched]:
		c.matched++
	default:
		c.matched = -1
	}
}

func (c *TokenCount) outside(b byte) {
	switch b {
	case '"':
		c.quoted, c.matched = true, 0
		if c.depth != 1 || c.inValue {
			c.matched = -1
		}
	case '{', '[':
		c.begun = true
		c.invalid = c.invalid || c.depth == 0 && b == '['
		c.depth++
	case '}', ']':
		c.depth--
		c.invalid = c.invalid || c.depth < 0
	case ':':
		if c.depth == 1 {
			c.named, c.inValue = c.matched == len(countMember), true
			if c.named {
				c.count, c.digits = 0, false
			}
		}
	case ',':
		if c.depth == 1 {
			c.named, c.inValue = false, false
		}
	case ' ', '\t', '\n', '\r':
	default:
		if c.depth == 1 && c.named {
			c.digit(b)
		}
	}
}

func (c *TokenCount) digit(b byte) {
	if b < '0' || b > '9' || c.count > math.MaxInt32/16 {
		c.invalid = true
		return
	}
	c.count, c.digits = c.count*10+int(b-'0'), true
}

// Count returns the number at the end of the answer. ok reports whether there was one.
func (c *TokenCount) Count() (n int, ok bool) { return c.count, c.digits && c.Whole() }

// Whole reports whether the answer was one object, with or without a number.
func (c *TokenCount) Whole() bool { return c.begun && !c.invalid && !c.quoted && c.depth == 0 }
