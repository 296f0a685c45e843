package rawjson

import (
	"math"
	"unicode/utf8"
)

// MaxDepth is the deepest accepted nesting of arrays and objects. It bounds the recursion of every reader that runs
// after the check (RATIONALE.md#76).
const MaxDepth = 128

// ErrorKind is the closed list of reasons why a text is refused.
type ErrorKind uint8

const (
	// Malformed is text outside RFC 8259.
	Malformed ErrorKind = iota + 1
	// BadUTF8 is a string that is not UTF-8, or an escape for half of a surrogate pair.
	BadUTF8
	// TooDeep is nesting beyond the limit.
	TooDeep
	// TooMany is more values than the limit.
	TooMany
)

// SyntaxError describes where and why a text is not acceptable JSON.
type SyntaxError struct {
	Kind ErrorKind
	// Offset is the byte at which the reader stopped.
	Offset int
	// Member is the name of the outermost object's member that contains the error. It is empty if there is none or if the
	// name is longer than 64 bytes.
	Member string
	// Reason is one clause in lower case, without the offset.
	Reason string
}

// maxMember is the longest name that an error repeats, in bytes.
const maxMember = 64

// Error implements error.
func (e *SyntaxError) Error() string {
	return e.Reason + " at byte " + string(AppendInt(nil, int64(e.Offset)))
}

// Validate returns an error, which is a [*SyntaxError], unless data is exactly one JSON value: RFC 8259 grammar, UTF-8
// strings without lone surrogate escapes, and at most maxDepth arrays and objects inside each other. It takes linear
// time and constant stack.
func Validate(data []byte, maxDepth int) error {
	_, err := Count(data, maxDepth, math.MaxInt)
	return err
}

// Count is [Validate] and also returns the number of JSON values in data: the outermost one, and all elements and
// members inside. A reader's memory grows with this number. Count stops with an error at the first value over the limit
// most.
func Count(data []byte, maxDepth, maxValues int) (values int, err error) {
	s := scanner{data: data, maxValues: maxValues}
	err = s.whole(maxDepth)
	return s.values, err
}

// SkipString returns the position after the JSON string that begins at i in data, or -1 if none does. It accepts the
// strings that [Validate] accepts.
func SkipString(data []byte, i int) int {
	s := scanner{data: data, pos: i}
	if s.peek() != '"' || s.str() != nil {
		return -1
	}
	return s.pos
}

// SkipNumber returns the position after the JSON number that begins at i in data, or -1 if none does. The text after
// the number is not looked at.
func SkipNumber(data []byte, i int) int {
	s := scanner{data: data, pos: i}
	if s.number() != nil {
		return -1
	}
	return s.pos
}

// SkipValid returns the position after the JSON value that begins at i in data, or -1 if none does. It accepts the
// values that [Validate] accepts. The text after the value is not looked at.
func SkipValid(data []byte, i, maxDepth int) int {
	s := scanner{data: data, pos: i, maxValues: math.MaxInt}
	if s.value(maxDepth) != nil {
		return -1
	}
	return s.pos
}

// scanner walks through one text. Nesting is one bit per level (set: object), so no input can exhaust the stack.
type scanner struct {
	data   []byte
	pos    int
	levels [MaxDepth/64 + 1]uint64
	depth  int
	// values counts the values that have begun, and maxValues limits them.
	values, maxValues int
	// topKey is the last key of the outermost object, as it is spelled between its quotes.
	topKey []byte
	// ends gets where long values end. It may be nil.
	ends *Ends
}

func (s *scanner) fail(kind ErrorKind, reason string) error {
	e := &SyntaxError{Kind: kind, Offset: s.pos, Reason: reason}
	if s.depth > 0 {
		e.Member = Unescape(s.topKey)
	}
	return e
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) push(object bool, maxDepth int) bool {
	if s.depth >= maxDepth || s.depth >= MaxDepth {
		return false
	}
	word, bit := s.depth/64, uint(s.depth%64)
	if object {
		s.levels[word] |= 1 << bit
	} else {
		s.levels[word] &^= 1 << bit
	}
	s.depth++
	return true
}

func (s *scanner) inObject() bool {
	top := s.depth - 1
	return s.levels[top/64]>>(uint(top%64))&1 == 1
}

// whole reads a value with nothing after it.
func (s *scanner) whole(maxDepth int) error {
	if err := s.value(maxDepth); err != nil {
		return err
	}
	s.space()
	if s.pos < len(s.data) {
		return s.fail(Malformed, "unexpected text after the value")
	}
	return nil
}

// value reads one whole value. Each iteration of the loop begins where a value is expected. The inner loop then closes
// the levels that the value completes.
func (s *scanner) value(maxDepth int) error {
	for {
		s.space()
		if s.values++; s.values > s.maxValues {
			return s.fail(TooMany, "more than "+string(AppendInt(nil, int64(s.maxValues)))+" values")
		}
		opened := false
		switch c := s.peek(); {
		case c == '{' || c == '[':
			if !s.push(c == '{', maxDepth) {
				return s.fail(TooDeep, "nesting deeper than "+string(AppendInt(nil, int64(maxDepth)))+" levels")
			}
			if s.ends != nil {
				s.ends.begin(s.depth-1, s.pos, s.values)
			}
			s.pos++
			s.space()
			switch {
			case c == '{' && s.peek() == '}', c == '[' && s.peek() == ']':
			case c == '{':
				if err := s.key(); err != nil {
					return err
				}
				opened = true
			default:
				opened = true
			}
		case c == '"':
			from := s.pos
			if err := s.str(); err != nil {
				return err
			}
			if s.ends != nil {
				s.ends.string(s.depth, from, s.pos)
			}
		case c == '-' || (c >= '0' && c <= '9'):
			if err := s.number(); err != nil {
				return err
			}
		default:
			if err := s.literal(); err != nil {
				return err
			}
		}
		if opened {
			continue
		}
		more, err := s.closeLevels()
		if err != nil || !more {
			return err
		}
	}
}

// closeLevels is called after a complete value, or before the closing bracket of an empty container. It reports whether
// another value must follow.
func (s *scanner) closeLevels() (bool, error) {
	for s.depth > 0 {
		s.space()
		object := s.inObject()
		switch c := s.peek(); {
		case c == '}' && object, c == ']' && !object:
			s.pos++
			s.depth--
			if s.ends != nil {
				s.ends.end(s.depth, s.pos, s.values)
			}
		case c == ',' && object:
			s.pos++
			s.space()
			return true, s.key()
		case c == ',':
			s.pos++
			s.space()
			if s.peek() == ']' {
				return false, s.fail(Malformed, "trailing comma in an array")
			}
			return true, nil
		case object:
			return false, s.fail(Malformed, "expected ',' or '}' in an object")
		default:
			return false, s.fail(Malformed, "expected ',' or ']' in an array")
		}
	}
	return false, nil
}

func (s *scanner) key() error {
	if s.peek() != '"' {
		return s.fail(Malformed, "expected a string as object key")
	}
	if s.depth == 1 {
		s.topKey = nil
	}
	start := s.pos + 1
	if err := s.str(); err != nil {
		return err
	}
	if s.depth == 1 && s.pos-1-start <= maxMember {
		s.topKey = s.data[start : s.pos-1]
	}
	s.space()
	if s.peek() != ':' {
		return s.fail(Malformed, "expected ':' after an object key")
	}
	s.pos++
	return nil
}

func (s *scanner) literal() error {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(s.data)-s.pos >= len(word) && View(s.data[s.pos:s.pos+len(word)]) == word {
			s.pos += len(word)
			return nil
		}
	}
	if s.pos >= len(s.data) {
		return s.fail(Malformed, "the text ends where a value is expected")
	}
	return s.fail(Malformed, "expected a value")
}

func (s *scanner) digits() bool {
	from := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > from
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail(Malformed, "expected a digit")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.fail(Malformed, "expected a digit after the decimal point")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.fail(Malformed, "expected a digit in the exponent")
		}
	}
	return nil
}

func (s *scanner) str() error {
	s.pos++
	for {
		if s.pos = plain(s.data, s.pos); s.pos >= len(s.data) {
			break
		}
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			for s.peek() == '\\' {
				if err := s.escape(); err != nil {
					return err
				}
			}
		case c < 0x20:
			return s.fail(Malformed, "unescaped control character in a string")
		default:
			if err := s.readNonASCII(); err != nil {
				return err
			}
		}
	}
	return s.fail(Malformed, "the text ends inside a string")
}

// readNonASCII reads a run of characters outside ASCII.
func (s *scanner) readNonASCII() error {
	for s.pos < len(s.data) && s.data[s.pos] >= utf8.RuneSelf {
		// Nearly all of them have two or three bytes, and most first bytes allow any continuation byte as the second.
		if c := s.data[s.pos]; c >= 0xC2 && c <= 0xDF && s.continues(1) {
			s.pos += 2
			continue
		} else if c >= 0xE1 && c <= 0xEF && c != 0xED && s.continues(1) && s.continues(2) {
			s.pos += 3
			continue
		}
		r, n := utf8.DecodeRune(s.data[s.pos:])
		if r == utf8.RuneError && n <= 1 {
			return s.fail(BadUTF8, "invalid UTF-8 in a string")
		}
		s.pos += n
	}
	return nil
}

// continues reports whether the byte at pos+ahead is a UTF-8 continuation byte.
func (s *scanner) continues(ahead int) bool {
	at := s.pos + ahead
	return at < len(s.data) && s.data[at]&0xC0 == 0x80
}

func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
	default:
		return s.fail(Malformed, "unknown escape in a string")
	}
	unit, ok := hex4(s.data, s.pos)
	if !ok {
		return s.fail(Malformed, "expected four hexadecimal digits")
	}
	if unit >= 0xDC00 && unit <= 0xDFFF {
		return s.fail(BadUTF8, "lone surrogate escape in a string")
	}
	s.pos += 4
	if unit < 0xD800 || unit > 0xDBFF {
		return nil
	}
	if s.pos+1 < len(s.data) && s.data[s.pos] == '\\' && s.data[s.pos+1] == 'u' {
		if low, ok := hex4(s.data, s.pos+2); ok && low >= 0xDC00 && low <= 0xDFFF {
			s.pos += 6
			return nil
		}
	}
	return s.fail(BadUTF8, "lone surrogate escape in a string")
}

func hex4(data []byte, at int) (rune, bool) {
	if at+4 > len(data) {
		return 0, false
	}
	var v rune
	for _, c := range data[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
