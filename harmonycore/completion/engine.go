package completion

import "github.com/harmonyedge/harmonyedge/harmonycore/backend"

// engine is the dialect of a model in the same program. The gateway's request stays in asked, and a server-sent event
// carries no data: what it says is in said.
type engine struct {
	asked backend.Request
	said  backend.Event
}

// Kind implements [backend.Dialect].
func (*engine) Kind() string { return "embedded" }

// Path implements [backend.Dialect]. No request has an empty path.
func (*engine) Path() string { return "" }

// AppendRequest implements [backend.Dialect].
func (e *engine) AppendRequest(dst []byte, r *backend.Request) []byte {
	e.asked = *r
	return dst
}

// ReadEvent implements [backend.Dialect].
func (e *engine) ReadEvent(_ []byte, to *backend.Event) bool {
	*to = e.said
	return true
}

// Cause implements [backend.Dialect].
func (*engine) Cause(*backend.Error) backend.Cause { return backend.OtherCause }
