package openai

import (
	"bytes"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// value is one value inside a body that [rawjson.Validate] has accepted. The zero value is an absent one. Its bytes
// belong to the decoder's caller. Decoders copy names and settings, and borrow the texts of the conversation.
type value struct {
	kind rawjson.Kind
	// raw is the value's JSON text. For a string it is the text between the quotes.
	raw []byte
	// ends has where long values in the body end, and at is where raw begins in the body. Without ends at has no meaning.
	ends *rawjson.Ends
	at   int
}

// valueAt returns the value at i in the JSON text of v, and the place where it ends.
func (v value) valueAt(i int) (inner value, end int) {
	end = v.ends.Skip(v.raw, v.at, i)
	if i >= end {
		return value{}, end
	}
	inner = value{raw: v.raw[i:end], ends: v.ends, at: v.at + i}
	switch inner.raw[0] {
	case '"':
		if len(inner.raw) < 2 {
			return value{}, end
		}
		inner.kind, inner.raw, inner.at = rawjson.String, inner.raw[1:len(inner.raw)-1], inner.at+1
	case '{':
		inner.kind = rawjson.Object
	case '[':
		inner.kind = rawjson.Array
	case 't', 'f':
		inner.kind = rawjson.Bool
	case 'n':
		inner.kind = rawjson.Null
	default:
		inner.kind = rawjson.Number
	}
	return inner, end
}

// given reports whether there is a value other than null. The API takes null for an absent value.
func (v value) given() bool { return v.kind > rawjson.Null }

func (v value) describe() string {
	switch v.kind {
	case rawjson.Bool:
		return "a boolean"
	case rawjson.Number:
		for _, c := range v.raw {
			if c == '.' || c == 'e' || c == 'E' {
				return "a decimal"
			}
		}
		return "an integer"
	case rawjson.String:
		return "a string"
	case rawjson.Array:
		return "an array"
	case rawjson.Object:
		return "an object"
	default:
		return "null"
	}
}

// maxKey is the length of the longest key that is unescaped, in bytes. No known member has a longer name.
const maxKey = 128

// members calls f for each member in order, duplicate keys included. Keys are unescaped, except very long ones. A key
// is valid only during the call.
func (v value) members(param string, f func(key []byte, v value) *Error) *Error {
	if v.kind != rawjson.Object {
		return wrongType(param, "an object", v)
	}
	for i := next(v.raw, 1); i < len(v.raw) && v.raw[i] == '"'; {
		end := rawjson.Skip(v.raw, i)
		if end < i+2 {
			break
		}
		key := v.raw[i+1 : end-1]
		if len(key) <= maxKey*maxEscape && bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(rawjson.Unescape(key))
		}
		member, end := v.valueAt(next(v.raw, end))
		if member.kind == 0 {
			break
		}
		if err := f(key, member); err != nil {
			return err
		}
		i = next(v.raw, end)
	}
	return nil
}

// next returns the place of the next token, after white space and at most one comma or colon.
func next(data []byte, i int) int {
	i = rawjson.Space(data, i)
	if i < len(data) && (data[i] == ',' || data[i] == ':') {
		i = rawjson.Space(data, i+1)
	}
	return i
}

// elements calls f for each element of an array.
func (v value) elements(param string, f func(i int, at string, v value) *Error) *Error {
	if v.kind != rawjson.Array {
		return wrongType(param, "an array", v)
	}
	n := 0
	for i := next(v.raw, 1); i < len(v.raw) && v.raw[i] != ']'; n++ {
		element, end := v.valueAt(i)
		if element.kind == 0 {
			break
		}
		if err := f(n, index(param, n), element); err != nil {
			return err
		}
		i = next(v.raw, end)
	}
	return nil
}

func index(param string, i int) string {
	return param + "[" + strconv.Itoa(i) + "]"
}

func join(param, key string) string {
	if param == "" {
		return key
	}
	return param + "." + key
}

// text reads a string. An absent value or null leaves *dst unchanged.
func (v value) text(param string, dst *string) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != rawjson.String {
		return wrongType(param, "a string", v)
	}
	*dst = rawjson.Unescape(v.raw)
	return nil
}

// borrow is text for strings that may be as long as the body. The string lies in the body, whose bytes borrow
// overwrites, so v can be read only once.
func (v value) borrow(param string, dst *string) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != rawjson.String {
		return wrongType(param, "a string", v)
	}
	*dst = rawjson.Borrow(v.raw)
	return nil
}

// bytes is borrow for data that is decoded in place.
func (v value) bytes(param string, dst *[]byte) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != rawjson.String {
		return wrongType(param, "a string", v)
	}
	*dst = v.raw
	if bytes.IndexByte(v.raw, '\\') >= 0 {
		*dst = []byte(rawjson.Unescape(v.raw))
	}
	return nil
}

func (v value) boolean(param string, dst *bool) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != rawjson.Bool {
		return wrongType(param, "a boolean", v)
	}
	*dst = len(v.raw) > 0 && v.raw[0] == 't'
	return nil
}

// integer reads a whole number of at least minimum.
func (v value) integer(param string, minimum int64, dst *int64) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != rawjson.Number || v.describe() != "an integer" {
		return wrongType(param, "an integer", v)
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return Invalid(param, "Invalid '"+param+"': the integer is out of range.")
	}
	if n < minimum {
		return Invalid(param, "Invalid '"+param+"': integer below minimum value. Expected a value >= "+
			strconv.FormatInt(minimum, 10)+", but got "+strconv.FormatInt(n, 10)+" instead.")
	}
	*dst = n
	return nil
}

// within reads a whole number from minimum to maximum.
func (v value) within(param string, minimum, maximum int64, dst *int64) *Error {
	n := *dst
	if err := v.integer(param, minimum, &n); err != nil {
		return err
	}
	if n > maximum {
		return Invalid(param, "Invalid '"+param+"': integer above maximum value. Expected a value <= "+
			strconv.FormatInt(maximum, 10)+", but got "+strconv.FormatInt(n, 10)+" instead.")
	}
	*dst = n
	return nil
}

// number reads a number from minimum to maximum and keeps its spelling.
func (v value) number(param string, minimum, maximum float64, dst *Number) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != rawjson.Number {
		return wrongType(param, "a number", v)
	}
	if len(v.raw) > maxLabel {
		return tooLong(param, maxLabel)
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil || f < minimum || f > maximum {
		return Invalid(param, "Invalid '"+param+"': expected a value between "+strconv.FormatFloat(minimum, 'g', -1, 64)+
			" and "+strconv.FormatFloat(maximum, 'g', -1, 64)+", but got "+clip(string(v.raw))+" instead.")
	}
	*dst = Number(v.raw)
	return nil
}

// json returns the value's JSON text. The text of a string is a copy, since raw lacks the quotes.
func (v value) json() []byte {
	if v.kind == rawjson.String {
		return []byte(v.compact())
	}
	return v.raw
}

// compact copies the value's JSON text without the white space between its tokens. It then fits into an event of one
// line.
func (v value) compact() string {
	if v.kind == rawjson.String {
		return `"` + string(v.raw) + `"`
	}
	return string(rawjson.AppendCompact(make([]byte, 0, len(v.raw)), v.raw))
}
