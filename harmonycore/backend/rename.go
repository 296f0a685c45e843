package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// AppendRenamed appends a client's request body with model as its "model", the name by which the server knows the
// model. Everything else is copied. The body must be validated JSON: an object with exactly one member "model", a
// string.
func AppendRenamed(dst, body []byte, model string) []byte {
	if need := len(body) + len(model) + 64; cap(dst)-len(dst) < need {
		dst = append(make([]byte, 0, len(dst)+need+need/8), dst...)
	}
	it := rawjson.Members(body)
	for it.Next() {
		if rawjson.View(it.Key) == "model" && it.Kind == rawjson.String {
			dst = append(dst, body[:it.End-len(it.Value)-len(`""`)]...)
			return append(rawjson.AppendString(dst, model), body[it.End:]...)
		}
	}
	return append(dst, body...)
}
