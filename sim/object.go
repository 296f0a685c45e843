package sim

import (
	"encoding/json"
	"strconv"
)

// object is a JSON object with its members in order.
type object []member

// member is a member of an [object].
type member = struct {
	name  string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) { return o.appendJSON(nil), nil }

var _ json.Marshaler = object{}

// appendJSON appends the object. It is much faster than package json, which would make each nested object twice.
func (o object) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSON(dst, m.name), ':')
		dst = appendJSON(dst, m.value)
	}
	return append(dst, '}')
}

// appendJSON appends a value as mustJSON does.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case string:
		if isPlain(v) {
			return append(append(append(dst, '"'), v...), '"')
		}
	case object:
		return v.appendJSON(dst)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, encodeJSON(v)...)
}

// isPlain reports whether a text needs no escape.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
