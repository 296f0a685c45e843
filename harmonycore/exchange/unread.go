package exchange

import "github.com/harmonyedge/harmonyedge/harmonycore/backend"

// passAnswer lets the answer of a model's servers pass, except one that refuses the pool's own key.
func (e *Exchange) passAnswer(m *Model) {
	e.unread = m
	e.passThrough()
}

// NeedsHead reports whether the host must hand over the response's headers, even if everything passes unchanged.
func (e *Exchange) NeedsHead() bool { return e.Reserves() || e.unread != nil }

// refusesKey returns the client's answer if a server that got a request as it was refuses the pool's own key, and
// otherwise nil. With the server's 401, clients would take their own key for wrong.
func (e *Exchange) refusesKey(m *Model, h *ResponseHead) *Reply {
	if m == nil || h.Local || h.Status != 401 && h.Status != 403 || !isGatewaysFault(h.Status, m) {
		return nil
	}
	return e.replyWith(serverError(&backend.Error{Status: h.Status}, m))
}
