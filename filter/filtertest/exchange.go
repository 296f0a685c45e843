package filtertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// Exchange is one request and its response. Several exchanges may run at the same time in one VM.
type Exchange struct {
	host   *Host
	stream *wasmhost.Stream
	// name identifies the exchange in messages by its method and path.
	name           string
	client, server Protocol
	method         string

	request  Request
	response Response
	// fromClient and fromServer are the two messages as client and server have sent them. clientLeft reports whether the
	// client has left.
	fromClient, fromServer side
	clientLeft             bool
	// timeout is the route's timeout, deadline the time at which it expires (zero: never). active is the time of the last
	// activity.
	timeout          time.Duration
	deadline, active time.Time
}

// side is what one side of the test has sent of its message.
type side struct {
	started, ended bool
	// declared is the content-length, or -1; bytesSent is the number of bytes sent so far.
	declared, bytesSent int
}

// Request sends a whole request; an empty body means a request without one. The headers alternate between names and
// values. The host adds the content-length and the headers that Envoy adds before the first filter: x-request-id and
// x-forwarded-proto.
func (h *Host) Request(method, path, body string, headers ...string) *Exchange {
	h.t.Helper()
	x := h.open(method, path, headers, "Request", "it is Request(method, path, body, name, value, …)")
	head := x.requestHeaders(path, headers)
	if body != "" && length(head) < 0 {
		head.Set("content-length", strconv.Itoa(len(body)))
	}
	x.beginRequest(head, body == "", "Request")
	if body != "" {
		x.endRequest("Request", body)
	}
	return x
}

// BeginRequest sends the headers of a request. Its body follows with [Exchange.SendRequest] and [Exchange.EndRequest].
func (h *Host) BeginRequest(method, path string, headers ...string) *Exchange {
	h.t.Helper()
	x := h.open(method, path, headers, "BeginRequest", "it is BeginRequest(method, path, name, value, …)")
	x.beginRequest(x.requestHeaders(path, headers), false, "BeginRequest")
	return x
}

func (h *Host) open(method, path string, headers []string, step, usage string) *Exchange {
	h.t.Helper()
	if len(headers)%2 != 0 {
		h.t.Fatalf("filtertest: %s %s: headers are pairs of a name and a value, and there is one too many: %q; %s", method,
			path, headers, usage)
	}
	h.requests++
	x := &Exchange{host: h, name: method + " " + path, method: method, client: h.settings.client,
		server: h.settings.server}
	limit := h.settings.bufferLimit
	switch {
	case limit > 0:
	case x.client == HTTP2:
		limit = bufferLimitHTTP2
	default:
		limit = bufferLimitHTTP1
	}
	x.stream = h.worker.Open(wasmhost.StreamOptions{
		Router: router{h}, BufferLimit: limit, Protocol: x.client.String(),
		ClientAddress: "192.0.2.1:50000", LocalAddress: "192.0.2.2:80", // addresses reserved for documentation (RFC 5737)
	})
	h.exchanges = append(h.exchanges, x)
	return x
}

// connectionHeaders are the headers that apply only to the client's own connection.
var connectionHeaders = []string{"connection", "keep-alive", "proxy-connection", "transfer-encoding"}

func (x *Exchange) requestHeaders(path string, pairs []string) *Headers {
	h := wasmhost.NewHeaders(":authority", "filtertest.example", ":path", path, ":method", x.method, ":scheme", "http")
	for i := 0; i < len(pairs); i += 2 {
		if strings.HasPrefix(pairs[i], ":") || strings.EqualFold(pairs[i], "host") {
			h.Set(pairs[i], pairs[i+1])
		} else {
			h.Add(pairs[i], pairs[i+1])
		}
	}
	for _, name := range connectionHeaders {
		h.Remove(name)
	}
	h.Set("x-forwarded-proto", "http")
	if h.Get("x-request-id") == "" {
		h.Set("x-request-id", fmt.Sprintf("00000000-0000-4000-8000-%012d", x.host.requests))
	}
	return h
}

func (x *Exchange) beginRequest(h *Headers, end bool, step string) {
	x.host.t.Helper()
	x.fromClient = side{started: true, ended: end, declared: length(h)}
	x.active = x.host.now
	x.stream.RequestHeaders(h, end)
	x.settle(step)
}

// SendRequest sends pieces of the request's body, each one separately. Empty pieces are skipped.
func (x *Exchange) SendRequest(pieces ...string) {
	x.host.t.Helper()
	if !x.mayRequest("SendRequest", pieces, false) {
		return
	}
	for _, p := range pieces {
		if p != "" {
			x.stream.RequestData([]byte(p), false)
			x.settle("SendRequest")
		}
	}
}

// EndRequest sends the last pieces, if any, and ends the request. Over HTTP/2 the last piece carries the end; over
// HTTP/1.1 the end follows it.
func (x *Exchange) EndRequest(pieces ...string) {
	x.host.t.Helper()
	x.endRequest("EndRequest", pieces...)
}

func (x *Exchange) endRequest(step string, pieces ...string) {
	x.host.t.Helper()
	if !x.mayRequest(step, pieces, true) {
		return
	}
	pieces = ending(pieces, x.client)
	for i, p := range pieces {
		x.stream.RequestData([]byte(p), i == len(pieces)-1)
		x.settle(step)
	}
}

// RequestTrailers ends the request with trailers. Envoy drops the trailers of an HTTP/1.1 client.
func (x *Exchange) RequestTrailers(trailers ...string) {
	x.host.t.Helper()
	x.pairs("RequestTrailers", trailers)
	if !x.mayRequest("RequestTrailers", nil, true) {
		return
	}
	if x.client == HTTP2 {
		x.stream.RequestTrailers(wasmhost.NewHeaders(trailers...))
	} else {
		x.stream.RequestData(nil, true)
	}
	x.settle("RequestTrailers")
}

// ClientLeaves closes the client's connection or, over HTTP/2, resets its stream. The filter sees it only in its last
// callbacks.
func (x *Exchange) ClientLeaves() {
	x.host.t.Helper()
	if x.clientLeft {
		x.misuse("ClientLeaves", "the client has left already")
	}
	x.clientLeft = true
	x.stream.ClientGone(x.client == HTTP2)
	x.settle("ClientLeaves")
}

// mayRequest reports whether the rest of the request still has a receiver. It fails the test if the client contradicts
// itself.
func (x *Exchange) mayRequest(step string, pieces []string, end bool) bool {
	x.host.t.Helper()
	switch {
	case x.clientLeft:
		x.misuse(step, "the client has left")
	case x.fromClient.ended:
		x.misuse(step, "the request has ended; a request whose body is to follow begins with BeginRequest")
	}
	x.recordSent(&x.fromClient, step, pieces, end)
	return !x.stream.Done()
}

// recordSent records what a side sends, and fails the test if that contradicts its content-length.
func (x *Exchange) recordSent(s *side, step string, pieces []string, end bool) {
	x.host.t.Helper()
	for _, p := range pieces {
		s.bytesSent += len(p)
	}
	s.ended = end
	if s.declared >= 0 && (s.bytesSent > s.declared || end && s.bytesSent < s.declared) {
		x.misuse(step, "the headers say content-length: %d, and the body has %d bytes; to break off, use KillServer or "+
			"ClientLeaves", s.declared, s.bytesSent)
	}
}

// ending returns the pieces to send; the last one ends the body.
func ending(pieces []string, p Protocol) []string {
	pieces = slices.DeleteFunc(slices.Clone(pieces), func(p string) bool { return p == "" })
	if len(pieces) == 0 || p == HTTP1 {
		pieces = append(pieces, "")
	}
	return pieces
}

func (x *Exchange) pairs(step string, headers []string) {
	x.host.t.Helper()
	if len(headers)%2 != 0 {
		x.misuse(step, "headers are pairs of a name and a value, and there is one too many: %q", headers)
	}
}

// misuse fails a test that asks for something impossible.
func (x *Exchange) misuse(step, format string, args ...any) {
	x.host.t.Helper()
	x.host.t.Fatalf("filtertest: %s of %s: %s", step, x.name, fmt.Sprintf(format, args...))
}

// settle ends a step of this exchange: see [Host.settle].
func (x *Exchange) settle(step string) {
	x.host.t.Helper()
	x.active = x.host.now
	x.host.settle(step + " of " + x.name)
}
