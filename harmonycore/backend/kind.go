package backend

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// Kind is one kind of inference server: how it is asked, and how its answers are read.
type Kind interface {
	// Facts returns the kind's name, paths and capabilities.
	Facts() *contract.Kind
	// AppendRequest appends the body of a request for a streamed completion.
	AppendRequest(dst []byte, r *Request) []byte
	// NewReader returns a reader of the response to one request.
	NewReader() Reader
	// Cause classifies an error that the server sent.
	Cause(e *Error) Cause
}

// Reader reads the body of one response, which is a stream of events. It owns everything about the stream that depends
// on the kind: how events are framed, what is left out, and what earlier events have already said.
type Reader interface {
	// Write takes bytes from the network, cut anywhere. The reader may overwrite them. It reads them until Next returns
	// [Drained], so they must not change before that.
	Write(chunk []byte)
	// Next reads the next event into e.
	Next(e *Event) Reading
}

// LikeReader is what a [Reader] also implements if events that are like the one before can be read where they lie.
type LikeReader interface {
	// Like reads the event at the beginning of b into e if it is like the one before it, and nothing else is left to
	// read. It returns the event's size, or 0. It neither overwrites nor keeps b. An event that cannot follow the ones
	// before it is [Garbled].
	Like(b []byte, e *Event) (int, Reading)
}

// Reading is the result of [Reader.Next].
type Reading uint8

// The values of [Reading].
const (
	// Drained means that the rest of what was written is not a whole event.
	Drained Reading = iota
	// Read means that the event holds what the server sent.
	Read
	// Garbled means that the server sent an event which its kind of server does not send. Events after it can be read.
	Garbled
	// Broken means that the stream cannot be read any further. Every later call returns it too.
	Broken
)

// Named returns the kind of server that configurations call by this name. It reports whether there is one.
func Named(name string) (Kind, bool) {
	for _, k := range [...]Kind{
		vllm{}, vllmGenerate{}, vllmLegacy{}, sglang{}, sglangCompletions{}, trtllm{}, llamacpp{}, ollama{}, text{},
		chat{}, vllmRender{},
	} {
		if k.Facts().Name == name {
			return k, true
		}
	}
	return nil, false
}
