package chatserver

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// These texts stand between two that were apart and become one, unless white space is there already.
const (
	// betweenParts separates the parts of a message. Servers that put them together themselves write the same.
	betweenParts = "\n"
	// betweenItems separates messages of one turn.
	betweenItems = "\n\n"
)

// joined writes the inside of a JSON string whose text comes in pieces.
type joined struct {
	dst   []byte
	begun bool
	last  byte
}

// add appends a text. separator goes before it.
func (j *joined) add(text, separator string) {
	if text == "" {
		return
	}
	if j.begun && separator != "" && !isSpace(j.last) && !isSpace(text[0]) {
		j.dst = rawjson.AppendEscaped(j.dst, separator)
	}
	j.dst = rawjson.AppendEscaped(j.dst, text)
	j.begun, j.last = true, text[len(text)-1]
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// appendText appends the parts as one JSON string.
func appendText(dst []byte, parts []string, separator string) []byte {
	j := joined{dst: append(dst, '"')}
	for _, p := range parts {
		j.add(p, separator)
	}
	return append(j.dst, '"')
}

// list writes the elements of an array, or the members of an object.
type list struct{ begun bool }

// next appends the comma before the next element, if there must be one.
func (l *list) next(dst []byte) []byte {
	if l.begun {
		return append(dst, ',')
	}
	l.begun = true
	return dst
}

// appendMember appends a member with a string. before begins with the name.
func appendMember(dst []byte, before, text string) []byte {
	return rawjson.AppendString(append(dst, before...), text)
}

// Reserve gives dst room for n more bytes. Growing step by step would take three times the memory.
func Reserve(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	return append(make([]byte, 0, len(dst)+n), dst...)
}
