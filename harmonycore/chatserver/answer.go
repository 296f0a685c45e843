package chatserver

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// A Renamer writes a model's name into JSON objects, such as the events of a stream.
type Renamer struct {
	// Name is the value that the objects' member model gets.
	Name string
	// head is the beginning of the last object, to the end of the value, and renamed is the same with Name. Objects of
	// one stream begin alike.
	head, renamed []byte
}

// maxHead is the longest beginning of an object that is remembered, in bytes.
const maxHead = 512

// Append appends a JSON object, or its beginning, with Name as the value of its member model. An object without the
// member, and text that is no object, is appended as it is. Something may stand before the object, such as data: in a
// line of an event, and behind it.
func (r *Renamer) Append(dst, object []byte) []byte {
	if !r.begins(object) {
		from, to := modelIn(object)
		if from < 0 {
			return append(dst, object...)
		}
		if to > maxHead {
			dst = append(dst, object[:from]...)
			dst = rawjson.AppendString(dst, r.Name)
			return append(dst, object[to:]...)
		}
		r.head = append(r.head[:0], object[:to]...)
		r.renamed = rawjson.AppendString(append(r.renamed[:0], object[:from]...), r.Name)
	}
	dst = append(dst, r.renamed...)
	return append(dst, object[len(r.head):]...)
}

// begins reports whether an object begins as the last one did.
func (r *Renamer) begins(object []byte) bool {
	return len(r.head) > 0 && rawjson.After(object, 0, r.head) > 0
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
