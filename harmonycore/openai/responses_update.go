package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// readUpdate reads an item that changes the effort or the form of the answer from there on. A request has one answer,
// so the last update holds for it, as if the client had sent its values beside the input (RATIONALE.md#229).
func (r *ResponsesRequest) readUpdate(at string, v value) *Error {
	return v.members(at, func(key []byte, v value) *Error {
		if !v.given() {
			return nil
		}
		switch at := join(at, rawjson.View(key)); rawjson.View(key) {
		case "reasoning":
			return v.members(at, func(key []byte, v value) *Error {
				if rawjson.View(key) != "effort" || !v.given() {
					return nil
				}
				r.Updated, r.EffortAt = true, join(at, "effort")
				return v.effort(r.EffortAt, &r.Effort)
			})
		case "text":
			return v.members(at, func(key []byte, v value) *Error {
				if rawjson.View(key) != "format" || !v.given() {
					return nil
				}
				r.Updated, r.Format, r.ServerForm = true, TextFormat{}, RawMember{}
				r.Echo.TextFormat = v.compact()
				return r.Format.read(join(at, "format"), v, false)
			})
		}
		return nil
	})
}
