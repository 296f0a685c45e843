package rawjson

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// runeLen returns the length in bytes of the rune at the beginning of s, or 0 if s does not begin with valid UTF-8.
func runeLen(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n <= 1 {
		return 0
	}
	return n
}

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of JSON values. The zero Kind is not a value.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Array
	Object
)

// Value is a JSON value that keeps the order of members and the spelling of numbers, which maps lose. Tool schemas are
// read into it, because their order and spelling reach the prompt (docs/harmony-format.md#schemas).
type Value struct {
	Kind Kind
	// Bool is the value of a boolean.
	Bool bool
	// Text is a string's unescaped text, or a number's spelling.
	Text string
	// Elements are the elements of an array.
	Elements []Value
	// Members are the members of an object. A repeated key has the place of its first occurrence and the value of its
	// last.
	Members []Member
}

// Member is one member of an object.
type Member struct {
	Key   string
	Value Value
}

// Get returns the member called key, or nil if v is not an object or has no such member.
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

// Parse reads data, which must be one JSON value that [Validate] accepts, nested at most maxDepth deep.
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

// reader builds values from bytes that [Validate] has accepted, which also bounds its recursion. It checks bounds
// nevertheless, so that it can never trap.
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
	// The index keeps objects with many members linear; for small objects a search is faster.
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

// fewValues is how many values of an array or an object are read before the rest are counted to allocate all of them at
// once. Growing by doubling would take three times the memory.
const fewValues = 16

// left returns how many members or elements follow in the object or array that the reader is in. A member counts as two
// values.
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

// Unescape returns the string that the text between the quotes of a validated JSON string stands for.
func Unescape(raw []byte) string {
	if escape(raw, 0) == len(raw) {
		return string(raw)
	}
	return View(unescape(make([]byte, len(raw)), raw, false))
}

// unescape is [AppendUnescaped] into to, which is as long as raw. It may be the same memory, if shared is set.
func unescape(to, raw []byte, shared bool) []byte {
	n, i := 0, 0
	source, target := unsafe.Pointer(unsafe.SliceData(raw)), unsafe.Pointer(unsafe.SliceData(to))
	for i+8 <= len(raw) && n <= i && len(raw) <= len(to) { // only the first is ever false
		from, into := unsafe.Add(source, i), unsafe.Add(target, n)
		found := zeros(binary.LittleEndian.Uint64((*[8]byte)(from)[:]) ^ ones*'\\')
		run := bits.TrailingZeros64(found) >> 3 // how many bytes stand for themselves: 8 without a backslash
		if !shared || found == 0 || n+8 <= i {
			// Eight bytes at once. Those after the run are written again, and overwrite nothing that is still to be read.
			*(*uint64)(into) = *(*uint64)(from)
		} else {
			copy(to[n:n+run], raw[i:i+run])
		}
		n, i = n+run, i+run
		if found == 0 {
			continue
		}
		if i+1 >= len(raw) {
			break
		}
		if c := shortEscapes[raw[i+1]]; c != 0 {
			to[n] = c
			n, i = n+1, i+2
			continue
		}
		size := unicodeEscape(raw[i:])
		n, i = len(AppendUnescaped(to[:n], raw[i:i+size])), i+size
	}
	return AppendUnescaped(to[:n], raw[i:])
}

// unicodeEscape returns the size of the escape \u with which raw begins, and of the one after it if they are a pair.
func unicodeEscape(raw []byte) int {
	unit, ok := hex4(raw, 2)
	if !ok {
		return 2 // which no checked string has
	}
	if _, pair := hex4(raw, 8); pair && unit >= 0xD800 && unit <= 0xDBFF {
		return 12
	}
	return 6
}

// borrowFrom is the length in bytes from which a text is borrowed instead of copied.
const borrowFrom = 32 << 10

// Borrow is [Unescape] without a copy for texts as large as a request. The string shares the memory of raw, which it
// overwrites, and is valid as long as raw is not changed. Large garbage must be avoided: a collector that treats every
// word that looks like an address as a pointer, as TinyGo's does with globals, keeps it alive for ever. Small garbage
// does no harm.
//
// Small texts are copied. For a pointer into a block, TinyGo's collector walks back to the block's beginning 16 bytes
// at a time; with 100,000 short texts in one large body a collection took most of a minute (RATIONALE.md#19).
func Borrow(raw []byte) string {
	if len(raw) < borrowFrom {
		return Unescape(raw)
	}
	if escape(raw, 0) == len(raw) {
		return View(raw)
	}
	// An escape is never shorter than the text it stands for, so writing never overtakes reading.
	return View(unescape(raw, raw, true))
}

// Keep returns the text of b: a copy, or a view of b itself if the text is large, for the reasons given at [Borrow].
func Keep(b []byte) string {
	if len(b) < borrowFrom {
		return string(b)
	}
	return View(b)
}

// View returns the text of b without a copy. It is valid as long as b is not changed.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// shortEscapes are the bytes that one-letter escapes stand for; 0 for u.
var shortEscapes = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
	}
	table['b'], table['f'], table['n'], table['r'], table['t'], table['u'] = '\b', '\f', '\n', '\r', '\t', 0
	return table
}()

// AppendUnescaped is [Unescape] into dst.
func AppendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			end := escape(raw, i+1)
			dst = append(dst, raw[i:end]...)
			i = end
			continue
		}
		i += 2
		if c := shortEscapes[raw[i-1]]; c != 0 {
			dst = append(dst, c)
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
		dst = utf8.AppendRune(dst, unit)
	}
	return dst
}
