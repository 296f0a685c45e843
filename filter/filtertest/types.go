package filtertest

import "github.com/harmonyedge/harmonyedge/filter/wasmhost"

// Types of [wasmhost] that tests use.
type (
	// Headers is a header map with Envoy's behaviour: names in lower case, pseudo-headers first.
	Headers = wasmhost.Headers
	// Callbacks counts the filter's callbacks for one exchange.
	Callbacks = wasmhost.Callbacks
	// Stats are the counts of the filter's VM.
	Stats = wasmhost.Stats
	// Route is where a request goes: to a cluster, or to a direct response.
	Route = wasmhost.Route
	// DirectResponse is a response that the route itself gives.
	DirectResponse = wasmhost.DirectResponse
	// FailurePolicy selects what happens to requests after the filter's VM has failed.
	FailurePolicy = wasmhost.FailurePolicy
	// Failure is a way in which a server fails.
	Failure = wasmhost.Reset
)

// Envoy's failure policies.
const (
	// FailReload starts a new VM for the next request, at most once per reload interval.
	FailReload = wasmhost.FailReload
	// FailClosed answers every further request 503.
	FailClosed = wasmhost.FailClosed
	// FailOpen passes every further request on without the filter.
	FailOpen = wasmhost.FailOpen
)

// The ways in which a server fails.
const (
	// ConnectionFailure means that the connection was refused.
	ConnectionFailure = wasmhost.ConnectionFailure
	// ConnectionTimeout means that no connection was made in time.
	ConnectionTimeout = wasmhost.ConnectionTimeout
	// NoHealthyUpstream means that the cluster has no usable server.
	NoHealthyUpstream = wasmhost.NoHealthyUpstream
	// ConnectionTermination means that the server closed its connection.
	ConnectionTermination = wasmhost.ConnectionTermination
	// RemoteReset means that an HTTP/2 server reset the stream.
	RemoteReset = wasmhost.RemoteReset
	// ProtocolError means that the server sent something that is not HTTP.
	ProtocolError = wasmhost.ProtocolError
)

// ErrRefused is wrapped by the error of [Start] if the filter refused its configuration or failed while it started.
var ErrRefused = wasmhost.ErrRefused

// Protocol is the version of HTTP that a side speaks.
type Protocol int

// The protocols. Over HTTP/1.1 the end of a body comes as a separate empty piece, and trailers are dropped. Over HTTP/2
// the end comes with the last piece, and trailers have a callback.
const (
	HTTP1 Protocol = iota
	HTTP2
)

// String returns the protocol as the property request.protocol has it.
func (p Protocol) String() string {
	if p == HTTP2 {
		return "HTTP/2"
	}
	return "HTTP/1.1"
}
