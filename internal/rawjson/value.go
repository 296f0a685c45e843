package rawjson

import (
	"slices"
	"unicode/utf8"
	"unsafe"
)

// runeLen is the length in bytes of the rune that s begins with, or 0 when s does not begin with valid UTF-8.
func runeLen(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n <= 1 {
		return 0
	}
	return n
}

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of JSON values. The zero Kind is no value at all.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

// Value is a JSON value that keeps what maps lose: the order of members, and numbers as they were spelled. Tool schemas
// are read into it, because their order and spelling reach the prompt (docs/harmony-format.md#schemas).
type Value struct {
	Kind Kind
	// Bool is the value of a Bool.
	Bool bool
	// Text is a String's unescaped text, or a Number's spelling.
	Text string
	// Elements are an Array's values.
	Elements []Value
	// Members are an Object's members: a key that came twice stands at its first place with its last value.
	Members []Member
}

// Member is one member of an object.
type Member struct {
	Key   string
	Value Value
}

// Get returns the member called key, or nil when v is no object or has none.
func (v *Value) Get(key string) *Value {
	if v == nil || v.Kind != Object {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Key == key {
			return &v.Members[i].Value
		}
	}
	return nil
}

// Parse reads data, which must be one JSON value as Validate accepts it, nested at most maxDepth deep.
func Parse(data []byte, maxDepth int) (*Value, error) {
	if maxDepth > MaxDepth {
		maxDepth = MaxDepth
	}
	if err := Validate(data, maxDepth); err != nil {
		return nil, err
	}
	r := reader{data: data}
	v := r.value()
	return &v, nil
}

// reader builds Values out of bytes that Validate has accepted; its recursion is bounded by the same check. Its
// bounds checks keep it from trapping all the same.
type reader struct {
	data []byte
	pos  int
}

func (r *reader) peek() byte {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

func (r *reader) value() Value {
	switch c := r.peek(); c {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return Value{Kind: String, Text: r.str()}
	case 't':
		r.pos += len("true")
		return Value{Kind: Bool, Bool: true}
	case 'f':
		r.pos += len("false")
		return Value{Kind: Bool}
	case 'n':
		r.pos += len("null")
		return Value{Kind: Null}
	default:
		from := r.pos
		for r.pos < len(r.data) && isNumberByte(r.data[r.pos]) {
			r.pos++
		}
		return Value{Kind: Number, Text: string(r.data[from:r.pos])}
	}
}

func isNumberByte(c byte) bool {
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

func (r *reader) object() Value {
	v := Value{Kind: Object}
	r.pos++
	// The index keeps an object of many members linear; small ones are quicker without.
	var index map[string]int
	for r.peek() == '"' {
		key := r.str()
		r.peek()
		r.pos++ // ':'
		member := r.value()
		at := -1
		switch {
		case index != nil:
			if i, ok := index[key]; ok {
				at = i
			}
		default:
			for i := range v.Members {
				if v.Members[i].Key == key {
					at = i
					break
				}
			}
		}
		if at >= 0 {
			v.Members[at].Value = member
		} else {
			v.Members = append(v.Members, Member{Key: key, Value: member})
			if index != nil {
				index[key] = len(v.Members) - 1
			} else if len(v.Members) == fewValues {
				more := r.left(2)
				v.Members = slices.Grow(v.Members, more)
				index = make(map[string]int, fewValues+more)
				for i := range v.Members {
					index[v.Members[i].Key] = i
				}
			}
		}
		if r.peek() == ',' {
			r.pos++
		}
	}
	r.pos++ // '}'
	return v
}

// fewValues is how many values of an array or an object are read before the others are counted, so that there is room for
// all of them at once: to grow by doubling takes three times the memory.
const fewValues = 16

// left is how many members follow in the object, or elements in the array, that the reader is in; a member is two values.
func (r *reader) left(each int) int {
	values := 0
	for i := r.pos; i < len(r.data); {
		switch r.data[i] {
		case '}', ']':
			return values / each
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
		default:
			i = max(Skip(r.data, i), i+1)
			values++
		}
	}
	return values / each
}

func (r *reader) array() Value {
	v := Value{Kind: Array}
	r.pos++
	for {
		if c := r.peek(); c == ']' || c == 0 {
			break
		}
		if len(v.Elements) == fewValues {
			v.Elements = slices.Grow(v.Elements, 1+r.left(1))
		}
		v.Elements = append(v.Elements, r.value())
		if r.peek() == ',' {
			r.pos++
		}
	}
	r.pos++ // ']'
	return v
}

func (r *reader) str() string {
	r.pos++ // the opening quote
	from := r.pos
	for r.pos < len(r.data) && r.data[r.pos] != '"' {
		if r.data[r.pos] == '\\' {
			r.pos++
		}
		r.pos++
	}
	end := min(r.pos, len(r.data))
	r.pos++ // the closing quote
	return Unescape(r.data[from:end])
}

// Unescape turns the text between the quotes of a validated JSON string into the string that it spells.
func Unescape(raw []byte) string {
	if escape(raw, 0) == len(raw) {
		return string(raw)
	}
	return View(appendUnescaped(make([]byte, 0, len(raw)), raw))
}

// borrowFrom is the size of a text, in bytes, from which it is worth borrowing.
const borrowFrom = 32 << 10

// Borrow is Unescape without memory of its own for texts as large as a request: the string lies in raw, which it
// overwrites, and is valid as long as raw is left alone. A collector that takes any word for a pointer that looks like
// one, as TinyGo's does with globals, keeps large garbage alive for ever; small garbage does not matter.
//
// Small texts are copied: for a pointer into a block TinyGo's collector walks back to the block's head, 16 bytes at a
// time, so that 100,000 short texts lying in one large body took a collection most of a minute.
func Borrow(raw []byte) string {
	if len(raw) < borrowFrom {
		return Unescape(raw)
	}
	if escape(raw, 0) == len(raw) {
		return View(raw)
	}
	// No escape is shorter than what it spells, so writing never overtakes reading.
	return View(appendUnescaped(raw[:0], raw))
}

// Keep is the text of b, in memory of its own or, where it is large, in b's, for the reasons that Borrow has.
func Keep(b []byte) string {
	if len(b) < borrowFrom {
		return string(b)
	}
	return View(b)
}

// View is the text of b without a copy, valid as long as b is left alone.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// shortEscapes are what the escapes of one letter spell; 0 for u.
var shortEscapes = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
	}
	table['b'], table['f'], table['n'], table['r'], table['t'], table['u'] = '\b', '\f', '\n', '\r', '\t', 0
	return table
}()

func appendUnescaped(out, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			end := escape(raw, i+1)
			out = append(out, raw[i:end]...)
			i = end
			continue
		}
		i += 2
		if c := shortEscapes[raw[i-1]]; c != 0 {
			out = append(out, c)
			continue
		}
		unit, ok := hex4(raw, i)
		if !ok {
			continue
		}
		i += 4
		if unit >= 0xD800 && unit <= 0xDBFF {
			if low, ok := hex4(raw, i+2); ok {
				unit = 0x10000 + (unit-0xD800)<<10 + (low - 0xDC00)
				i += 6
			}
		}
		out = utf8.AppendRune(out, unit)
	}
	return out
}
