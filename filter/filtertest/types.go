package filtertest

import "github.com/harmonyedge/harmonyedge/filter/wasmhost"

// What a test needs of the host's own types.
type (
	// Headers are headers with Envoy's behaviour: names in lower case, pseudo-headers first.
	Headers = wasmhost.Headers
	// Callbacks counts the calls that the filter got for an exchange.
	Callbacks = wasmhost.Callbacks
	// Stats are the counts of the filter's VM.
	Stats = wasmhost.Stats
	// Route is where a request goes: to a cluster, or straight back.
	Route = wasmhost.Route
	// DirectResponse is a route's own answer.
	DirectResponse = wasmhost.DirectResponse
	// FailurePolicy says what becomes of requests once the filter's VM has failed.
	FailurePolicy = wasmhost.FailurePolicy
	// Failure is how a server fails.
	Failure = wasmhost.Reset
)

// Envoy's failure policies.
const (
	// FailReload starts a new VM for the next request, but not more often than the reload interval allows.
	FailReload = wasmhost.FailReload
	// FailClosed answers every further request 503.
	FailClosed = wasmhost.FailClosed
	// FailOpen lets every further request pass as if there were no filter.
	FailOpen = wasmhost.FailOpen
)

// How a server fails.
const (
	// ConnectionFailure: nobody listens there.
	ConnectionFailure = wasmhost.ConnectionFailure
	// ConnectionTimeout: no connection comes about in time.
	ConnectionTimeout = wasmhost.ConnectionTimeout
	// NoHealthyUpstream: the cluster has no server that could be asked.
	NoHealthyUpstream = wasmhost.NoHealthyUpstream
	// ConnectionTermination: the server's connection ends.
	ConnectionTermination = wasmhost.ConnectionTermination
	// RemoteReset: an HTTP/2 server resets the stream.
	RemoteReset = wasmhost.RemoteReset
	// ProtocolError: what the server sends is not HTTP.
	ProtocolError = wasmhost.ProtocolError
)

// ErrRefused is wrapped by Start's error when the filter refused its configuration or failed while it started.
var ErrRefused = wasmhost.ErrRefused

// Protocol is what a side speaks.
type Protocol int

// The protocols. Over HTTP/1.1 the end of a body is a piece of its own with nothing in it, and trailers are dropped.
// Over HTTP/2 the end comes with the last piece, and trailers have a callback.
const (
	HTTP1 Protocol = iota
	HTTP2
)

// String is the protocol as the property request.protocol has it.
func (p Protocol) String() string {
	if p == HTTP2 {
		return "HTTP/2"
	}
	return "HTTP/1.1"
}
