package structure

// jsonValue finds the end of a JSON value that comes in pieces. It does not check the value.
type jsonValue struct {
	kind      jsonKind
	depth     int
	quoted    bool
	backslash bool
}

type jsonKind uint8

const (
	noValue jsonKind = iota
	nestedValue
	stringValue
	scalarValue
	// rawValue is text that is no value. It has no end.
	rawValue
)

// next reads on. n is how much of b belongs to the value, and ended reports whether the value ends there. The first
// byte of a value is no space.
func (v *jsonValue) next(b []byte) (n int, ended bool) {
	for i, c := range b {
		if v.kind == noValue {
			v.begin(c)
			continue
		}
		switch {
		case v.kind == scalarValue:
			if c == ',' || c == '}' || c == ']' || isSpace(c) {
				return i, true
			}
		case v.quoted:
			switch {
			case v.backslash:
				v.backslash = false
			case c == '\\':
				v.backslash = true
			case c == '"':
				v.quoted = false
				if v.kind == stringValue {
					return i + 1, true
				}
			}
		case c == '"':
			v.quoted = true
		case c == '{' || c == '[':
			v.depth++
		case c == '}' || c == ']':
			if v.depth--; v.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

func (v *jsonValue) begin(c byte) {
	switch c {
	case '{', '[':
		v.kind, v.depth = nestedValue, 1
	case '"':
		v.kind, v.quoted = stringValue, true
	default:
		v.kind = scalarValue
	}
}
