package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"syscall"

	"golang.org/x/net/http2"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// serverSide is the request that the filter has let go, and its response.
type serverSide struct {
	exchange *exchange
	cancel   context.CancelFunc
	// room says that the client has taken something.
	room chan struct{}
}

// toServer acts on one event for the server; rest are those behind it.
func (x *exchange) toServer(e wasmhost.Event, rest []wasmhost.Event) {
	switch e.Kind {
	case wasmhost.HeadersKind:
		ctx, cancel := context.WithCancel(x.ctx)
		x.server = &serverSide{exchange: x, cancel: cancel, room: make(chan struct{}, 1)}
		whole := wholeBody(e, rest)
		x.busy.Go(func() { x.server.run(ctx, e, whole) })
	case wasmhost.DataKind:
		x.toServe.put(e.Data, e.End)
	case wasmhost.TrailersKind:
		x.toServe.put(nil, true)
	case wasmhost.ResetKind:
		if x.server != nil {
			x.server.cancel()
		}
	}
}

// wholeBody is the request's body if all of it is there already, and nil otherwise. A request that can be sent again
// survives a connection that the server closed just then.
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

func (s *serverSide) request(e wasmhost.Event, whole []byte, to *endpoint) *http.Request {
	target := e.Headers.Get(":path")
	u, err := url.ParseRequestURI(target)
	if err != nil {
		u = &url.URL{Opaque: target}
	}
	u.Scheme, u.Host = to.scheme, to.Address
	r := &http.Request{
		Method: e.Headers.Get(":method"), URL: u, Host: e.Headers.Get(":authority"), Header: toHTTP(e.Headers), ContentLength: -1,
	}
	if e.HostRewrite && to.Hostname != "" {
		r.Host = to.Hostname
	}
	r.Header.Del("Content-Length")
	if _, ok := r.Header["User-Agent"]; !ok {
		r.Header["User-Agent"] = nil // none of net/http's own
	}
	switch {
	case e.End:
		r.ContentLength, r.Body = 0, http.NoBody
	case whole != nil:
		r.ContentLength = int64(len(whole))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
		r.Body, _ = r.GetBody()
	default:
		r.Body = kept{s.exchange.toServe}
		if n, err := strconv.ParseInt(e.Headers.Get("content-length"), 10, 64); err == nil {
			r.ContentLength = n
		}
	}
	return r
}

func (s *serverSide) run(ctx context.Context, e wasmhost.Event, whole []byte) {
	defer s.cancel()
	x := s.exchange
	c := x.proxy.clusters[e.Cluster]
	response, release, err := c.send(ctx, func(to *endpoint) *http.Request {
		x.stream.UpstreamAddress(to.Address)
		return s.request(e, whole, to)
	})
	if err != nil {
		if ctx.Err() == nil {
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
		x.stream.ServerReset(wasmhost.ProtocolError)
		return
	}
	x.stream.ResponseHeaders(responseHeaders(response), response.Body == http.NoBody)
	if response.Body == http.NoBody {
		return
	}
	cut := cutter{cut: x.proxy.options.Cut}
	buffer := make([]byte, readSize)
	for {
		n, err := response.Body.Read(buffer)
		if ctx.Err() != nil {
			return
		}
		if n > 0 {
			signal(x.active)
			cut.split(buffer[:n], func(p []byte) { x.stream.ResponseData(p, false) })
		}
		switch {
		case err == io.EOF && response.ProtoMajor >= 2 && len(response.Trailer) > 0:
			h := wasmhost.NewHeaders()
			appendHeader(h, response.Trailer)
			x.stream.ResponseTrailers(h)
			return
		case err == io.EOF:
			x.stream.ResponseData(nil, true)
			return
		case err != nil:
			x.stream.ServerReset(reason(err))
			return
		}
		if !s.wait(ctx) {
			return
		}
	}
}

// wait returns when the client has taken most of what there is for it, or false when ctx ends.
func (s *serverSide) wait(ctx context.Context) bool {
	for s.exchange.stream.Pending() > window {
		select {
		case <-s.room:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// reason is what an error of net/http means in Envoy's words.
func reason(err error) wasmhost.Reset {
	var failed connectError
	var timeout interface{ Timeout() bool }
	var stream http2.StreamError
	switch {
	case errors.Is(err, errNoServer):
		return wasmhost.NoHealthyUpstream
	case errors.As(err, &failed):
		if errors.As(err, &timeout) && timeout.Timeout() {
			return wasmhost.ConnectionTimeout
		}
		return wasmhost.ConnectionFailure
	case errors.As(err, &stream):
		return wasmhost.RemoteReset
	case errors.Is(err, io.ErrUnexpectedEOF):
		return wasmhost.ProtocolError
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return wasmhost.ConnectionTermination
	default:
		return wasmhost.ProtocolError
	}
}
