package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// request is a line's JSON object. Its methods keep the first error; what they return after an error has no meaning.
// Unknown fields are ignored, so that a recorded answer can be sent as input again.
type request struct {
	// line is the object itself.
	line   []byte
	fields map[string]json.RawMessage
	id     json.RawMessage
	err    error
}

func readRequest(line []byte, readError error) *request {
	q := &request{line: line, err: readError}
	if readError != nil {
		return q
	}
	if err := json.Unmarshal(line, &q.fields); err != nil || q.fields == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			q.fail("the line is not JSON: %v at byte %d; write one object on each line", syntax, syntax.Offset)
		} else {
			q.fail("the line is no JSON object; write one object on each line")
		}
		return q
	}
	if id, found := q.fields["id"]; found && q.wellFormed("id", id) {
		q.id = id
	}
	return q
}

func (q *request) fail(format string, args ...any) {
	if q.err == nil {
		q.err = fmt.Errorf(format, args...)
	}
}

// present reports whether a field exists, even as null.
func (q *request) present(name string) bool {
	_, found := q.fields[name]
	return found
}

// has reports whether a field exists and is not null.
func (q *request) has(name string) bool {
	v, found := q.fields[name]
	return found && !bytes.Equal(v, []byte("null"))
}

// exactlyOne requires exactly one of the fields and returns its name.
func (q *request) exactlyOne(names ...string) string {
	found := ""
	for _, name := range names {
		switch {
		case !q.has(name):
		case found != "":
			q.fail("%q and %q exclude each other; leave one out", found, name)
		default:
			found = name
		}
	}
	if found == "" {
		q.fail("nothing to do; give %q or %q", names[0], names[1])
	}
	return found
}

// wellFormed checks what encoding/json does not: valid UTF-8, and no lone surrogate escapes.
func (q *request) wellFormed(name string, v []byte) bool {
	if err := rawjson.Validate(v, rawjson.MaxDepth); err != nil {
		q.fail("%q cannot be read: %v of its value", name, err)
		return false
	}
	return true
}

// text returns a string field, or an empty string if it is absent.
func (q *request) text(name string) string {
	if !q.has(name) {
		return ""
	}
	v := q.fields[name]
	if v[0] != '"' {
		q.fail("%q must be a string", name)
		return ""
	}
	if !q.wellFormed(name, v) {
		return ""
	}
	return rawjson.Unescape(v[1 : len(v)-1])
}

func (q *request) flag(name string, fallback bool) bool {
	if !q.has(name) {
		return fallback
	}
	switch string(q.fields[name]) {
	case "true":
		return true
	case "false":
		return false
	}
	q.fail("%q must be true or false", name)
	return false
}

// ids appends the token ids of a field to dst.
func (q *request) ids(dst []uint32, name string) []uint32 {
	for _, n := range numbers[uint32](q, name, "whole numbers from 0 to 4294967295") {
		dst = append(dst, *n)
	}
	return dst
}

// offsets returns byte offsets into a text of size bytes, in ascending order.
func (q *request) offsets(name string, size int) []int {
	var out []int
	from := 0
	for _, n := range numbers[int](q, name, "byte offsets") {
		if *n < from || *n > size {
			q.fail("%q must be byte offsets into the text, ascending, from 0 to %d", name, size)
			return nil
		}
		from = *n
		out = append(out, from)
	}
	return out
}

// numbers reads an array of numbers. Its elements are pointers because encoding/json would otherwise leave a null
// unnoticed.
func numbers[T any](q *request, name, what string) []*T {
	var list []*T
	if !q.has(name) {
		return nil
	}
	if err := json.Unmarshal(q.fields[name], &list); err != nil || list == nil {
		q.fail("%q must be an array of %s", name, what)
		return nil
	}
	for _, n := range list {
		if n == nil {
			q.fail("%q must be an array of %s, without null", name, what)
			return nil
		}
	}
	return list
}
