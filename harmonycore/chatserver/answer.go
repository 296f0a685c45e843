package chatserver

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// AppendRenamed appends a JSON object, or its beginning, with name as the value of its member model. An object without
// the member, and text that is no object, is appended as it is.
func AppendRenamed(dst, object []byte, name string) []byte {
	from, to := modelIn(object)
	if from < 0 {
		return append(dst, object...)
	}
	dst = append(dst, object[:from]...)
	dst = rawjson.AppendString(dst, name)
	return append(dst, object[to:]...)
}

// AppendRenamedEvent is [AppendRenamed] for an event of a stream, line by line.
func AppendRenamedEvent(dst, event []byte, name string) []byte {
	for len(event) > 0 {
		size := len(event)
		if end := bytes.IndexByte(event, '\n'); end >= 0 {
			size = end + 1
		}
		dst = AppendRenamed(dst, event[:size], name)
		event = event[size:]
	}
	return dst
}

// modelIn returns the place of the string that is the value of an object's member model, with its quotes. It returns -1
// if there is none. Something may stand before the object, such as data: in an event.
func modelIn(text []byte) (from, to int) {
	depth, key, isModel := 0, false, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
			key = true
		case '[':
			depth++
			key = false
		case '}', ']':
			if depth--; depth <= 0 {
				return -1, -1
			}
		case ',':
			key = true
		case ':':
			key = false
		case '"':
			end := stringEnd(text, i)
			if end < 0 || depth == 0 {
				return -1, -1
			}
			if depth == 1 && !key && isModel {
				return i, end
			}
			isModel = depth == 1 && key && string(text[i:end]) == `"model"`
			i = end - 1
		}
	}
	return -1, -1
}

// stringEnd returns the end of the JSON string at a place, or -1 if it has none.
func stringEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
