package filtertest

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// Server returns what the server has received of the request so far.
func (x *Exchange) Server() Request {
	r := x.request
	r.Message = r.copied()
	return r
}

// Client returns what the client has received of the response so far. A client that has left receives nothing more.
func (x *Exchange) Client() Response {
	r := x.response
	r.Message = r.copied()
	return r
}

// Callbacks returns how often the filter was called for this exchange. A test can use it to prove that a body reached
// the filter in as many pieces as it was cut into.
func (x *Exchange) Callbacks() Callbacks { return x.stream.Callbacks() }

// Done reports whether the exchange has ended and the filter has had its last callbacks for it.
func (x *Exchange) Done() bool { return x.stream.Done() }

// Details returns why the response is as it is: %RESPONSE_CODE_DETAILS% of Envoy's access log.
func (x *Exchange) Details() string { return x.stream.Details() }

// FilterState returns the value that the filter has set at a path with proxy_set_property. Dots separate the parts of
// the path. The second result reports whether there is a value.
func (x *Exchange) FilterState(path string) (string, bool) {
	value, ok := x.stream.State(path)
	return string(value), ok
}

// deliver hands what the stream has sent on to the client and the server.
func (x *Exchange) deliver() {
	events := x.stream.Take()
	if x.response.State == Nothing && slices.ContainsFunc(events, cutsClient) && slices.ContainsFunc(events, isLocal) {
		// A local reply that is cut at once has not begun.
		events = slices.DeleteFunc(events, func(e wasmhost.Event) bool { return e.To == wasmhost.ToClient && !cutsClient(e) })
	}
	for _, e := range events {
		if e.To == wasmhost.ToServer {
			x.toServer(e)
		} else {
			x.toClient(e)
		}
	}
}

func isLocal(e wasmhost.Event) bool { return e.Local }

func cutsClient(e wasmhost.Event) bool {
	return e.To == wasmhost.ToClient && e.Kind == wasmhost.ResetKind
}

func (x *Exchange) toServer(e wasmhost.Event) {
	if e.Kind == wasmhost.HeadersKind {
		x.request.Cluster, x.timeout = e.Cluster, e.Timeout
		x.stream.UpstreamAddress("192.0.2.3:80")
	}
	if x.request.State != Reset {
		x.request.add(e, x.server)
	}
	if x.request.State == Complete {
		if x.timeout > 0 {
			x.deadline = x.host.now.Add(x.timeout) // Envoy, too, starts this timer when the request is complete
		}
		x.check(x.request.Message, "request", "server", false)
	}
}

func (x *Exchange) toClient(e wasmhost.Event) {
	if e.Kind == wasmhost.HeadersKind {
		x.response.Status, _ = strconv.Atoi(e.Headers.Get(":status")) // the host lets no invalid status pass
	}
	x.response.add(e, x.client)
	if x.response.State == Complete {
		status := x.response.Status
		x.check(x.response.Message, "response", "client", x.method == http.MethodHead || status == http.StatusNotModified)
	}
}

// add adds an event to what a side has received.
func (m *Message) add(e wasmhost.Event, p Protocol) {
	switch e.Kind {
	case wasmhost.HeadersKind:
		m.State, m.Headers = Open, e.Headers.Clone()
		if p == HTTP2 {
			for _, name := range connectionHeaders {
				m.Headers.Remove(name)
			}
		}
	case wasmhost.DataKind:
		if len(e.Data) > 0 {
			m.Chunks = append(m.Chunks, string(e.Data))
		}
	case wasmhost.TrailersKind:
		if p == HTTP2 {
			m.Trailers = e.Headers.Clone()
		}
	case wasmhost.ResetKind:
		m.State = Reset
	}
	if e.End {
		m.State = Complete
	}
}

// check looks for a content-length that does not match the body. Envoy sends both on unchanged. The receiver then waits
// for bytes that never come, or takes the rest of the body for the beginning of the next message.
func (x *Exchange) check(m Message, message, to string, bodyless bool) {
	if n, has := length(m.Headers), len(m.Body()); n >= 0 && n != has && !bodyless {
		x.host.faults = append(x.host.faults, "the "+message+" that the filter lets go to the "+to+" says content-length: "+
			strconv.Itoa(n)+
			" and has a body of "+strconv.Itoa(has)+
			" bytes; a filter that changes a body must remove or set the header while it holds the headers")
	}
}
