package wasmhost

import "time"

// Side is one of the two sides of a stream.
type Side int

// The two sides.
const (
	ToClient Side = iota
	ToServer
)

// String returns the side's name.
func (s Side) String() string {
	if s == ToServer {
		return "server"
	}
	return "client"
}

// Kind is the kind of an [Event].
type Kind int

// The kinds of events.
const (
	// HeadersKind begins a message.
	HeadersKind Kind = iota
	// DataKind is a piece of the body.
	DataKind
	// TrailersKind ends a message with trailers.
	TrailersKind
	// ResetKind cuts a message. Nothing more follows, and the other side must learn that the message is incomplete.
	ResetKind
)

// Event is one thing that the stream's driver must do towards one side. It shares no memory with the stream.
type Event struct {
	To   Side
	Kind Kind
	// Headers are the headers or the trailers.
	Headers *Headers
	Data    []byte
	// End reports whether the message is complete with this event.
	End bool
	// Cluster is where a request's headers go. HostRewrite reports whether the server receives its own name as host:
	// [Route.HostRewrite].
	Cluster string
	// Hashed is the value of [Route.HashHeader], or empty.
	Hashed      string
	HostRewrite bool
	// RetryStatuses is [Route.RetryStatuses].
	RetryStatuses []int
	// Held is the value of the property [Route.HoldState], or empty. TryIdleTimeout is [Route.TryIdleTimeout].
	Held           string
	TryIdleTimeout time.Duration
	// ForwardHost is [Route.ForwardHost], and IdleTimeout [Route.IdleTimeout].
	ForwardHost bool
	IdleTimeout time.Duration
	// Timeout limits the server's whole response; 0 means no limit.
	Timeout time.Duration
	// RequestOpen, for a response's headers, reports whether the request is still incomplete.
	RequestOpen bool
	// Local, for a response's headers, reports whether they come from somewhere other than a server.
	Local bool
}
