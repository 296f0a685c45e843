package proxy

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

const (
	// readSize is how much of a body is taken at once.
	readSize = 32 << 10
	// window is how much may lie between one side and the other before the sender has to wait.
	window = 1 << 20
)

// exchange is one request in the proxy. Its own goroutine is the one that net/http gives it: it alone writes to the
// client and acts on the stream's events.
type exchange struct {
	proxy  *Proxy
	w      http.ResponseWriter
	r      *http.Request
	stream *wasmhost.Stream
	// changed says that the stream has events.
	changed chan struct{}
	ctx     context.Context //nolint:containedctx // the exchange's own, which ends with it
	cancel  context.CancelFunc
	server  *serverSide
	busy    sync.WaitGroup
	// active is told of every sign of life.
	active  chan struct{}
	toServe *flow
	// begun says that the client has got a status.
	begun bool
	// reading says that the client's body is not all there.
	reading atomic.Bool
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	worker := p.pick()
	worker.streams.Add(1)
	defer worker.streams.Add(-1)
	ctx, cancel := context.WithCancel(r.Context())
	x := &exchange{
		proxy: p, w: w, r: r, ctx: ctx, cancel: cancel,
		changed: make(chan struct{}, 1), active: make(chan struct{}, 1), toServe: newFlow(),
	}
	local := ""
	if address, ok := r.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok {
		local = address.String()
	}
	x.stream = worker.Open(wasmhost.StreamOptions{
		Router: p, BufferLimit: p.options.BufferLimit, Shape: p.options.Shape, Changed: x.wake,
		Protocol: r.Proto, ClientAddress: r.RemoteAddr, LocalAddress: local,
	})
	defer x.close()
	x.run()
	if !x.begun {
		panic(http.ErrAbortHandler) // or net/http would say 200
	}
}

func (x *exchange) wake() { signal(x.changed) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close ends what the exchange has begun, whichever way it ends.
func (x *exchange) close() {
	x.stream.ClientGone() // of no effect on one that has ended
	x.cancel()
	x.toServe.close()
	x.act()
	if x.reading.Load() {
		// What the client still sends is for nobody; the connection is not used again.
		_ = http.NewResponseController(x.w).SetReadDeadline(time.Unix(1, 0))
	}
	x.busy.Wait()
	if f := x.proxy.options.StreamDone; f != nil {
		f(x.stream)
	}
}

func (x *exchange) run() {
	o := &x.proxy.options
	h := requestHeaders(x.r)
	if o.RemoveRequestPrefix != "" {
		h.RemovePrefix(o.RemoveRequestPrefix)
	}
	if o.NormalizePath {
		h.Set(":path", normalizePath(h.Get(":path")))
	}
	if fieldCount(x.r.Header) > o.MaxHeaders {
		x.stream.Refuse(wasmhost.LocalReply{Status: http.StatusRequestHeaderFieldsTooLarge, Details: "http1.too_many_headers"})
	} else {
		bodyless := x.r.Body == http.NoBody || x.r.ContentLength == 0
		x.stream.RequestHeaders(h, bodyless)
		if !bodyless {
			x.reading.Store(true)
			x.busy.Go(x.readRequest)
		}
	}
	idle := time.NewTimer(time.Hour)
	defer idle.Stop()
	if o.IdleTimeout == 0 {
		idle.Stop()
	} else {
		idle.Reset(o.IdleTimeout)
	}
	for {
		if x.act() {
			return
		}
		select {
		case <-x.changed:
		case <-x.active:
		case <-idle.C:
			x.stream.Timeout()
			continue
		case <-x.r.Context().Done():
			x.stream.ClientGone()
			return
		}
		if o.IdleTimeout > 0 {
			idle.Reset(o.IdleTimeout)
		}
	}
}

// readRequest pushes the client's body into the stream.
func (x *exchange) readRequest() {
	defer x.reading.Store(false)
	buffer := make([]byte, readSize)
	for {
		n, err := x.r.Body.Read(buffer)
		if n > 0 {
			signal(x.active)
			x.stream.RequestData(buffer[:n], false)
		}
		switch {
		case err == io.EOF && x.r.ProtoMajor >= 2 && len(x.r.Trailer) > 0:
			h := wasmhost.NewHeaders()
			appendHeader(h, x.r.Trailer)
			x.stream.RequestTrailers(h)
			return
		case err == io.EOF:
			x.stream.RequestData(nil, true)
			return
		case err != nil:
			// The client has left, or the answer has and net/http has closed the body behind it.
			if x.ctx.Err() == nil && x.r.Context().Err() != nil {
				x.stream.ClientGone()
			}
			return
		}
		if !x.toServe.wait(x.ctx) {
			return
		}
	}
}

// act does what the stream wants done, and reports whether the exchange is over.
func (x *exchange) act() (over bool) {
	events := x.stream.Take()
	for i, e := range events {
		if e.To == wasmhost.ToServer {
			x.toServer(e, events[i+1:])
			continue
		}
		switch e.Kind {
		case wasmhost.HeadersKind:
			x.begin(e)
		case wasmhost.DataKind:
			// A client that does not read any more shows by the request's context.
			_, _ = x.w.Write(e.Data)
			x.flush()
		case wasmhost.TrailersKind:
			if x.r.ProtoMajor >= 2 {
				for _, f := range e.Headers.All() {
					x.w.Header().Add(http.TrailerPrefix+f.Name, f.Value)
				}
			}
		case wasmhost.ResetKind:
			if x.r.Context().Err() == nil {
				panic(http.ErrAbortHandler) // net/http's way to cut a response
			}
			return true
		}
		if e.End {
			over = true
		}
	}
	if x.server != nil {
		signal(x.server.room)
	}
	return over
}

func (x *exchange) begin(e wasmhost.Event) {
	x.begun = true
	header := x.w.Header()
	if x.reading.Load() && x.r.ProtoMajor == 1 {
		header.Set("Connection", "close") // what the client still sends is not read
	}
	for name, values := range toHTTP(e.Headers) {
		header[name] = values
	}
	if name := x.proxy.options.ServerName; name != "" {
		header.Set("Server", name)
	}
	status, err := strconv.Atoi(e.Headers.Get(":status"))
	if err != nil || status < 200 || status > 999 {
		status = http.StatusOK // as Envoy's codec does when a filter has taken the status away
	}
	x.w.WriteHeader(status)
	if !e.End {
		x.flush()
	}
}

func (x *exchange) flush() {
	// Whoever wraps the ResponseWriter without Flush gets the answer in one piece.
	_ = http.NewResponseController(x.w).Flush()
}
