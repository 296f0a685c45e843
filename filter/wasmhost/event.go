package wasmhost

import "time"

// Side is one of the two that a stream lies between.
type Side int

// The two sides.
const (
	ToClient Side = iota
	ToServer
)

// String is the side's name.
func (s Side) String() string {
	if s == ToServer {
		return "server"
	}
	return "client"
}

// Kind is what an [Event] carries.
type Kind int

// The kinds of events.
const (
	// HeadersKind begins a message.
	HeadersKind Kind = iota
	// DataKind is a piece of its body.
	DataKind
	// TrailersKind ends it with trailers.
	TrailersKind
	// ResetKind cuts it: nothing more will come, and the other side must learn that it is not complete.
	ResetKind
)

// Event is what a stream wants done towards one side. Nothing in it is shared with the stream any more.
type Event struct {
	To   Side
	Kind Kind
	// Headers are the headers or trailers.
	Headers *Headers
	Data    []byte
	// End says that the message is complete with this event.
	End bool
	// Cluster is where a request's headers go, [Event.HostRewrite] whether a server is called by its own name.
	Cluster     string
	HostRewrite bool
	// Timeout is how long the server may take for its whole answer; 0 is for ever.
	Timeout time.Duration
	// RequestOpen says of a response's headers that the request is not complete yet.
	RequestOpen bool
	// Local says that a response's headers come from no server.
	Local bool
}
