package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/net/http2"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// serverSide is the request as the filter has sent it on, and its response.
type serverSide struct {
	exchange *exchange
	ctx      context.Context //nolint:containedctx // the request's own, which ends with it
	cancel   context.CancelFunc
	// timeout is the route's timeout.
	timeout time.Duration
	// room signals that the client has taken something.
	room chan struct{}
}

// toServer carries out one event for the server; rest are the events after it.
func (x *exchange) toServer(e wasmhost.Event, rest []wasmhost.Event) {
	switch e.Kind {
	case wasmhost.HeadersKind:
		ctx, cancel := context.WithCancel(x.ctx)
		x.server = &serverSide{exchange: x, cancel: cancel, room: make(chan struct{}, 1)}
		whole := wholeBody(e, rest)
		x.server.ctx, x.server.timeout = ctx, e.Timeout
		if e.IdleTimeout > 0 {
			x.idle = e.IdleTimeout
		}
		x.busy.Go(func() { x.server.run(ctx, e, whole) })
	case wasmhost.DataKind:
		x.requestBody.put(e.Data, e.End)
	case wasmhost.TrailersKind:
		x.requestBody.put(nil, true) // without the trailers, which would have to be announced in advance
	case wasmhost.ResetKind:
		if x.server != nil {
			x.server.cancel()
		}
	}
	// The route's timeout counts from the end of the request.
	if s := x.server; e.End && s != nil && s.timeout > 0 {
		timer := time.AfterFunc(s.timeout, x.stream.ServerTimeout)
		context.AfterFunc(s.ctx, func() { timer.Stop() })
	}
}

// wholeBody returns the request's body if all of it has arrived, and nil otherwise. A request with a whole body can be
// sent again on another connection.
func wholeBody(e wasmhost.Event, rest []wasmhost.Event) []byte {
	if e.End {
		return []byte{}
	}
	for _, next := range rest {
		if next.To == wasmhost.ToServer {
			if next.Kind == wasmhost.DataKind && next.End {
				return next.Data
			}
			return nil
		}
	}
	return nil
}

// repeatable reports whether net/http by itself would send a request a second time when a server closes the connection
// without a response. Envoy does not do that, and a repeated prompt would cost twice.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != ""
}

func (s *serverSide) request(e wasmhost.Event, whole []byte, to *endpoint) *http.Request {
	r := &http.Request{
		Method: e.Headers.Get(":method"), URL: requestURL(to, e.Headers.Get(":path")), Host: e.Headers.Get(":authority"),
		Header: toHTTP(e.Headers), ContentLength: -1,
	}
	if e.HostRewrite && to.Hostname != "" {
		if e.ForwardHost {
			forwardHost(r)
		}
		r.Host = to.Hostname
	}
	upgrades := s.exchange.upgrade != ""
	if upgrades {
		r.Header.Set("Connection", e.Headers.Get("connection"))
		r.Header.Set("Upgrade", s.exchange.upgrade)
	}
	length, lengthErr := strconv.ParseInt(e.Headers.Get("content-length"), 10, 64)
	r.Header.Del("Content-Length")
	suppressUserAgent(r.Header)
	// Bytes after an upgrade are no body.
	end := e.End || upgrades
	switch {
	case end && to.transport.Protocols.HTTP1() && repeatable(r):
		// With http.NoBody, net/http would send it again by itself when a server closes the connection without a response.
		r.ContentLength, r.Body = 0, unclosable{bytes.NewReader(nil)}
	case end:
		r.ContentLength, r.Body = 0, http.NoBody
	case whole != nil && repeatable(r):
		r.Body = unclosable{bytes.NewReader(whole)}
	case whole != nil:
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
		r.Body, _ = r.GetBody()
	default:
		r.Body = unclosable{s.exchange.requestBody}
	}
	// The length is the one that the filter has left, right or wrong. Without one the body is sent in chunks.
	if lengthErr == nil && !end {
		r.ContentLength = length
	}
	return r
}

func (s *serverSide) run(ctx context.Context, e wasmhost.Event, whole []byte) {
	defer s.cancel()
	x := s.exchange
	c := x.proxy.clusters[e.Cluster]
	a := attempts{cluster: c, hashed: e.Hashed, make: func(to *endpoint) *http.Request {
		x.stream.UpstreamAddress(to.Address)
		return s.request(e, whole, to)
	}}
	if whole != nil { // otherwise what has been sent is gone
		a.again, a.held, a.idle = e.RetryStatuses, e.Held, e.TryIdleTimeout
		if e.Held != "" {
			a.hold = x.proxy.options.Hold
		}
	}
	response, release, err := a.send(ctx)
	if err != nil {
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, errSilent):
			x.stream.ServerTimeout()
		default:
			x.stream.ServerReset(reason(err))
		}
		return
	}
	defer release()
	defer response.Body.Close()
	signal(x.active)
	s.relay(ctx, response)
}

// relay pushes the response into the stream.
func (s *serverSide) relay(ctx context.Context, response *http.Response) {
	x := s.exchange
	if fieldCount(response.Header) > x.proxy.options.MaxHeaders {
		x.stream.ServerReset(wasmhost.ProtocolError, "")
		return
	}
	upgraded := x.upgrade != "" && response.StatusCode == http.StatusSwitchingProtocols
	bodyless := !upgraded && bodyless(response)
	x.stream.ResponseHeaders(responseHeaders(response), bodyless)
	if upgraded {
		x.stream.ResponseData(nil, false) // as Envoy's codec does
		defer s.switchServer(ctx, response)()
	}
	if bodyless {
		return
	}
	cut := cutter{cut: x.proxy.options.Cut}
	m := message{
		body: response.Body, http2: response.ProtoMajor >= 2, trailer: func() http.Header { return response.Trailer },
		data: func(p []byte, end bool) {
			if upgraded && end { // the connection has an end, and the message has none
				x.stream.ResponseData(p, false)
				x.over.Store(true)
				signal(x.active)
				return
			}
			signal(x.active)
			cut.split(p, func(piece []byte, last bool) { x.stream.ResponseData(piece, last && end) })
		},
		trailers: x.stream.ResponseTrailers,
		next:     func() bool { return s.wait(ctx) },
	}
	err := m.relay(x.proxy.options.EndWait)
	switch {
	case err == nil || ctx.Err() != nil:
	case m.http2:
		x.stream.ServerReset(reason(err))
	default:
		x.stream.ServerReset(wasmhost.ProtocolError, "") // however the connection failed, the body was cut short
	}
}

// bodyless reports whether a response ends with its headers.
func bodyless(r *http.Response) bool {
	return r.Body == http.NoBody || r.ContentLength == 0 || r.Request != nil && r.Request.Method == http.MethodHead ||
		r.StatusCode == http.StatusNoContent || r.StatusCode == http.StatusNotModified
}

// wait returns true when the client has taken most of what is waiting for it, and false when ctx ends.
func (s *serverSide) wait(ctx context.Context) bool {
	for s.exchange.stream.Backlog(wasmhost.ToClient) > s.exchange.stream.Limit()+window {
		select {
		case <-s.room:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// reason returns what an error of net/http is in Envoy's terms, and the transport's error text.
func reason(err error) (wasmhost.Reset, string) {
	var failed connectError
	var timeout interface{ Timeout() bool }
	var stream http2.StreamError
	switch {
	case errors.Is(err, errNoServer):
		return wasmhost.NoHealthyUpstream, ""
	case errors.As(err, &failed):
		if errors.As(err, &timeout) && timeout.Timeout() {
			return wasmhost.ConnectionTimeout, ""
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			return wasmhost.ConnectionFailure, "delayed connect error: Connection refused"
		}
		return wasmhost.ConnectionFailure, ""
	case errors.As(err, &stream):
		return wasmhost.RemoteReset, ""
	case errors.Is(err, io.ErrUnexpectedEOF):
		return wasmhost.ProtocolError, ""
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return wasmhost.ConnectionTermination, ""
	default:
		return wasmhost.ProtocolError, ""
	}
}
