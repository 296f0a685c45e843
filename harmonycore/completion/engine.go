package completion

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// engine implements [backend.Kind] and [backend.Reader] for a model in the same program. AppendRequest keeps the
// gateway's request in request. Each write, whatever its bytes, makes Next return event once.
type engine struct {
	request backend.Request
	event   backend.Event
	written bool
}

// facts have no path: the embedding program sends no request to a server.
var facts = contract.Kind{Name: "embedded", Capabilities: contract.Capabilities{
	ControlTokens: true, Choices: true, Logprobs: true, StopTokens: true, StructuralTags: true, ThinkingBudget: true,
	Scheduling: true, MinTokens: true, Biases: true,
}}

// Facts implements [backend.Kind].
func (*engine) Facts() *contract.Kind { return &facts }

// AppendRequest implements [backend.Kind].
func (e *engine) AppendRequest(dst []byte, r *backend.Request) []byte {
	e.request = *r
	return dst
}

// NewReader implements [backend.Kind].
func (e *engine) NewReader() backend.Reader { return e }

// Cause implements [backend.Kind].
func (*engine) Cause(*backend.Error) backend.Cause { return backend.OtherCause }

// Write implements [backend.Reader].
func (e *engine) Write([]byte) { e.written = true }

// Next implements [backend.Reader].
func (e *engine) Next(to *backend.Event) backend.Reading {
	if !e.written {
		return backend.Drained
	}
	e.written = false
	*to = e.event
	return backend.Read
}
