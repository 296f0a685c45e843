package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// readUpdate reads an item that changes the effort or the form of the answer from there on. A request has one answer,
// so the last update holds for it, as if the client had sent its values beside the input (RATIONALE.md#229). What the
// model reads of both stands in front.
func (r *ResponsesRequest) readUpdate(at string, v value) *Error {
	r.Updates = append(r.Updates, r.declared.element.Element)
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
				before := r.Effort
				r.EffortAt = join(at, "effort")
				err := v.effort(r.EffortAt, &r.Effort)
				if r.Effort != before {
					r.updated()
				}
				return err
			})
		case "text":
			return v.members(at, func(key []byte, v value) *Error {
				if rawjson.View(key) != "format" || !v.given() {
					return nil
				}
				r.updated()
				r.Format, r.ServerForm = TextFormat{}, RawMember{}
				r.Echo.TextFormat = v.compact()
				return r.Format.read(join(at, "format"), v, false)
			})
		}
		return nil
	})
}

func (r *ResponsesRequest) updated() {
	r.lasts(false)
	r.turns(r.declared.element.Element)
}
