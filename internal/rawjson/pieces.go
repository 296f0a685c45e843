package rawjson

import "strings"

// Pieces follows one JSON value whose text comes in pieces, cut anywhere. It finds where the value ends, and keeps nothing
// of it. It does not look at the inside of objects and arrays beyond their brackets and strings. The zero value has seen
// no text.
type Pieces struct {
	// depth counts the open objects and arrays.
	depth             int32
	inString, escaped bool
	// literal is the rest of true, false or null at the top level. inNumber reports whether a number is there.
	literal  string
	inNumber bool
	// ended reports whether the value has ended. wrong reports whether the text is not one value.
	ended, wrong bool
}

// Add reads the next piece.
func (p *Pieces) Add(piece []byte) {
	for _, c := range piece {
		p.next(c)
	}
}

// Whole reports whether the text so far is one value. More digits may still follow a number.
func (p *Pieces) Whole() bool { return (p.ended || p.inNumber) && !p.wrong }

func (p *Pieces) next(c byte) {
	switch {
	case p.wrong:
	case p.inString:
		p.inString = p.escaped || c != '"'
		p.escaped = !p.escaped && c == '\\'
		p.ended = !p.inString && p.depth == 0
	case p.literal != "":
		p.wrong = c != p.literal[0]
		p.literal = p.literal[1:]
		p.ended = p.literal == ""
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		p.ended = p.ended || p.inNumber
	case p.ended:
		p.wrong = true
	case p.inNumber:
		p.wrong = !isNumeric(c)
	case c == '"':
		p.inString = true
	case c == '{' || c == '[':
		p.depth++
	case p.depth > 0:
		if c == '}' || c == ']' {
			p.depth--
			p.ended = p.depth == 0
		}
	case c == 't':
		p.literal = "rue"
	case c == 'f':
		p.literal = "alse"
	case c == 'n':
		p.literal = "ull"
	default:
		p.inNumber = isNumeric(c)
		p.wrong = !p.inNumber
	}
}

func isNumeric(c byte) bool { return c >= '0' && c <= '9' || strings.IndexByte("+-.eE", c) >= 0 }
