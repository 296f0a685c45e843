package openai

import (
	"bytes"
	"strconv"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/harmonycore/jsontext"
)

// value is one value inside a body that jsontext.Validate has accepted; the zero value is an absent one. Its bytes
// belong to the caller of the decoder: names and settings are copied, the texts of the conversation are borrowed.
type value struct {
	kind jsontext.Kind
	// raw is the value's text; of a String, what stands between the quotes.
	raw []byte
}

func newValue(raw []byte, t jsonparser.ValueType) value {
	switch t {
	case jsonparser.String:
		return value{jsontext.String, raw}
	case jsonparser.Number:
		return value{jsontext.Number, raw}
	case jsonparser.Object:
		return value{jsontext.Object, raw}
	case jsonparser.Array:
		return value{jsontext.Array, raw}
	case jsonparser.Boolean:
		return value{jsontext.Bool, raw}
	default:
		return value{jsontext.Null, raw}
	}
}

// given reports whether there is a value other than null, which the API takes for an absent one.
func (v value) given() bool { return v.kind > jsontext.Null }

func (v value) describe() string {
	switch v.kind {
	case jsontext.Bool:
		return "a boolean"
	case jsontext.Number:
		for _, c := range v.raw {
			if c == '.' || c == 'e' || c == 'E' {
				return "a decimal"
			}
		}
		return "an integer"
	case jsontext.String:
		return "a string"
	case jsontext.Array:
		return "an array"
	case jsontext.Object:
		return "an object"
	default:
		return "null"
	}
}

// members calls f for each member in order, doubled keys included. Keys are unescaped and only valid during the call.
func (v value) members(param string, f func(key []byte, v value) *Error) *Error {
	if v.kind != jsontext.Object {
		return wrongType(param, "an object", v)
	}
	var failed *Error
	err := jsonparser.ObjectEach(v.raw, func(key, raw []byte, t jsonparser.ValueType, _ int) error {
		if failed = f(key, newValue(raw, t)); failed != nil {
			return failed
		}
		return nil
	})
	return firstOf(failed, err, param)
}

// elements calls f for each element of an array.
func (v value) elements(param string, f func(i int, at string, v value) *Error) *Error {
	if v.kind != jsontext.Array {
		return wrongType(param, "an array", v)
	}
	var failed *Error
	i := 0
	_, err := jsonparser.ArrayEachErr(v.raw, func(raw []byte, t jsonparser.ValueType, _ int, parseErr error) error {
		if parseErr != nil {
			return parseErr
		}
		if failed = f(i, index(param, i), newValue(raw, t)); failed != nil {
			return failed
		}
		i++
		return nil
	})
	return firstOf(failed, err, param)
}

// firstOf prefers the decoder's own finding. err alone means that the two readers disagree about a text that our
// scanner accepted: refused, since only one of them can be right.
func firstOf(failed *Error, err error, param string) *Error {
	if failed != nil || err == nil {
		return failed
	}
	return badRequest(CodeInvalidJSON, param, "The JSON text here cannot be read.")
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

// text reads a string; absent and null leave *dst as it is.
func (v value) text(param string, dst *string) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != jsontext.String {
		return wrongType(param, "a string", v)
	}
	*dst = jsontext.Unescape(v.raw)
	return nil
}

// borrow is text for what may be as large as the body: the string lies in the body, whose bytes it overwrites, so that
// v can be read only once.
func (v value) borrow(param string, dst *string) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != jsontext.String {
		return wrongType(param, "a string", v)
	}
	*dst = jsontext.Borrow(v.raw)
	return nil
}

// bytes is borrow for what is decoded where it lies.
func (v value) bytes(param string, dst *[]byte) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != jsontext.String {
		return wrongType(param, "a string", v)
	}
	*dst = v.raw
	if bytes.IndexByte(v.raw, '\\') >= 0 {
		*dst = []byte(jsontext.Unescape(v.raw))
	}
	return nil
}

func (v value) boolean(param string, dst *bool) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != jsontext.Bool {
		return wrongType(param, "a boolean", v)
	}
	*dst = len(v.raw) > 0 && v.raw[0] == 't'
	return nil
}

// integer reads a whole number not below least.
func (v value) integer(param string, least int64, dst *int64) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != jsontext.Number || v.describe() != "an integer" {
		return wrongType(param, "an integer", v)
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return Invalid(param, "Invalid '"+param+"': the integer is out of range.")
	}
	if n < least {
		return Invalid(param, "Invalid '"+param+"': integer below minimum value. Expected a value >= "+
			strconv.FormatInt(least, 10)+", but got "+strconv.FormatInt(n, 10)+" instead.")
	}
	*dst = n
	return nil
}

// within reads a whole number within limits.
func (v value) within(param string, least, most int64, dst *int64) *Error {
	n := *dst
	if err := v.integer(param, least, &n); err != nil {
		return err
	}
	if n > most {
		return Invalid(param, "Invalid '"+param+"': integer above maximum value. Expected a value <= "+
			strconv.FormatInt(most, 10)+", but got "+strconv.FormatInt(n, 10)+" instead.")
	}
	*dst = n
	return nil
}

// number reads a number within limits and keeps its spelling.
func (v value) number(param string, least, most float64, dst *Number) *Error {
	if !v.given() {
		return nil
	}
	if v.kind != jsontext.Number {
		return wrongType(param, "a number", v)
	}
	if len(v.raw) > maxLabel {
		return tooLong(param, maxLabel)
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil || f < least || f > most {
		return Invalid(param, "Invalid '"+param+"': expected a value between "+strconv.FormatFloat(least, 'g', -1, 64)+
			" and "+strconv.FormatFloat(most, 'g', -1, 64)+", but got "+clip(string(v.raw))+" instead.")
	}
	*dst = Number(v.raw)
	return nil
}

// compact copies the value's JSON text without the white space between its tokens, so that it can stand in a
// one-line event.
func (v value) compact() string {
	if v.kind == jsontext.String {
		return `"` + string(v.raw) + `"`
	}
	return string(appendCompact(make([]byte, 0, len(v.raw)), v.raw))
}

// appendCompact never writes further than it has read, so that out may be where raw is.
func appendCompact(out, raw []byte) []byte {
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\' && i+1 < len(raw):
			out = append(out, c)
			i++
			c = raw[i]
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		out = append(out, c)
	}
	return out
}
