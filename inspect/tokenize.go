package inspect

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// tokenize appends the ids of a text, or the text of ids.
func (a *answerer) tokenize(dst []byte, q *request) []byte {
	if q.exactlyOne("text", "ids") == "ids" {
		a.ids = q.ids(a.ids[:0], "ids")
		return rawjson.AppendString(append(dst, `"text":`...), a.t.DecodeString(a.ids))
	}
	text := q.text("text")
	if q.flag("special", false) {
		a.ids = a.t.AppendEncodeSpecial(a.ids[:0], text)
	} else {
		a.ids = a.t.AppendEncode(a.ids[:0], text)
	}
	return appendIDs(append(dst, `"ids":`...), a.ids)
}
