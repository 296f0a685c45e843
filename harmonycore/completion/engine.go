package completion

import "github.com/harmonyedge/harmonyedge/harmonycore/backend"

// engine implements [backend.Dialect] for a model in the same program. AppendRequest keeps the gateway's request in
// request. Server-sent events carry no data: ReadEvent returns event.
type engine struct {
	request backend.Request
	event   backend.Event
}

// Kind implements [backend.Dialect].
func (*engine) Kind() string { return "embedded" }

// Path implements [backend.Dialect]. The path is empty, which the path of a request never is.
func (*engine) Path() string { return "" }

// AppendRequest implements [backend.Dialect].
func (e *engine) AppendRequest(dst []byte, r *backend.Request) []byte {
	e.request = *r
	return dst
}

// ReadEvent implements [backend.Dialect].
func (e *engine) ReadEvent(_ []byte, to *backend.Event) bool {
	*to = e.event
	return true
}

// Cause implements [backend.Dialect].
func (*engine) Cause(*backend.Error) backend.Cause { return backend.OtherCause }
