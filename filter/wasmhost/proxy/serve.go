package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

const (
	// readSize is how many bytes of a body are read at once.
	readSize = 32 << 10
	// window is how many bytes may be under way between the two sides before the sender has to wait.
	window = 1 << 20
)

// delayedClose is how long a client may take to read a response that was sent before its request was complete.
const delayedClose = time.Second

// exchange is one request in the proxy. It runs in the goroutine that net/http gives it. Only that goroutine writes to
// the client and acts on the stream's events.
type exchange struct {
	proxy  *Proxy
	w      http.ResponseWriter
	r      *http.Request
	stream *wasmhost.Stream
	// id is the request's x-request-id.
	id string
	// changed signals that the stream has events.
	changed chan struct{}
	ctx     context.Context //nolint:containedctx // the exchange's own, which ends with it
	cancel  context.CancelFunc
	server  *serverSide
	busy    sync.WaitGroup
	// active signals activity on the stream.
	active      chan struct{}
	requestBody *flow
	// responseStarted reports whether the client has received a status.
	responseStarted bool
	// reading reports whether the client's body is still incomplete.
	reading atomic.Bool
	// idle is how long nothing may move on the stream; 0 means no limit.
	idle time.Duration
	// upgrade is the protocol that the request asks for and may have, or empty. conn is the client's connection when it
	// speaks that protocol, and nil before.
	upgrade string
	conn    net.Conn
	// over reports whether the server has ended an upgraded connection, and left whether the client has. sent is closed
	// when the server has everything that the client has sent.
	over, left atomic.Bool
	sent       chan struct{}
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.inflight.Add(1)
	defer p.inflight.Done()
	worker := p.begin()
	defer p.finish(worker)
	ctx, cancel := context.WithCancel(r.Context())
	x := &exchange{
		proxy: p, w: w, r: r, ctx: ctx, cancel: cancel,
		changed: make(chan struct{}, 1), active: make(chan struct{}, 1), requestBody: newFlow(),
		idle: p.options.IdleTimeout,
	}
	local := ""
	if address, ok := r.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok {
		local = address.String()
	}
	limit := p.options.BufferLimit
	if r.ProtoMajor >= 2 && p.options.BufferLimitHTTP2 > 0 {
		limit = p.options.BufferLimitHTTP2
	}
	x.stream = worker.Open(wasmhost.StreamOptions{
		Router: p, BufferLimit: limit, Shape: p.options.Shape, Finalize: func(h *wasmhost.Headers) { p.finalize(h, x.id) },
		Changed:  x.wake,
		Protocol: r.Proto, ClientAddress: r.RemoteAddr, LocalAddress: local,
	})
	defer x.close()
	// A server may answer while the client is still sending.
	_ = http.NewResponseController(w).EnableFullDuplex()
	x.run()
	if !x.responseStarted {
		panic(http.ErrAbortHandler) // otherwise net/http would send a 200
	}
}

// clientGone ends the stream because the client has left. An HTTP/2 client resets its stream and keeps the connection.
func (x *exchange) clientGone() { x.stream.ClientGone(x.r.ProtoMajor >= 2) }

func (x *exchange) wake() { signal(x.changed) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close ends everything that the exchange has started, however it ends.
func (x *exchange) close() {
	x.clientGone() // without effect on a stream that has ended
	x.cancel()
	x.requestBody.close()
	x.act()
	if x.conn != nil {
		x.closeUpgraded()
	} else if x.reading.Load() {
		// The rest of the client's request is discarded, and the connection is not used again.
		limit := time.Unix(1, 0)
		if x.r.ProtoMajor == 1 {
			limit = time.Now().Add(delayedClose)
		}
		_ = http.NewResponseController(x.w).SetReadDeadline(limit)
	}
	x.busy.Wait()
	if f := x.proxy.options.StreamDone; f != nil {
		f(x.stream)
	}
}

func (x *exchange) run() {
	o := &x.proxy.options
	h := requestHeaders(x.r, o)
	x.id = h.Get(requestIDHeader)
	if o.RemoveRequestPrefix != "" {
		h.RemovePrefix(o.RemoveRequestPrefix)
	}
	if o.UnescapeSlashes {
		h.Set(":path", unescapeSlashes(h.Get(":path")))
	}
	if o.NormalizePath {
		h.Set(":path", normalizePath(h.Get(":path")))
	}
	bodyless := x.r.Body == http.NoBody || x.r.ContentLength == 0
	switch {
	case x.refused(h, bodyless):
	case x.r.Method == http.MethodConnect:
		// A CONNECT request has a host and no path, so no route matches it.
		h.Remove(":path")
		x.stream.RequestHeaders(h, false)
	case x.upgrade != "":
		x.stream.RequestHeaders(h, false)
		x.stream.RequestData(nil, false) // as Envoy's codec does
	default:
		x.stream.RequestHeaders(h, bodyless)
		if !bodyless {
			x.reading.Store(true)
			x.busy.Go(x.readRequest)
		}
	}
	idle := time.NewTimer(time.Hour)
	defer idle.Stop()
	if x.idle == 0 {
		idle.Stop()
	} else {
		idle.Reset(x.idle)
	}
	late := x.requestTimer()
	defer late.Stop()
	for {
		over, left := x.over.Load(), x.left.Load()
		if x.act() || over {
			return
		}
		if left {
			x.sendRest()
			x.clientGone()
			return
		}
		select {
		case <-late.C:
			if x.reading.Load() {
				x.stream.RequestTimeout()
			}
			continue
		case <-x.changed:
		case <-x.active:
		case <-idle.C:
			x.stream.Timeout()
			continue
		case <-x.ctx.Done():
			x.clientGone()
			return
		case <-x.cut():
			x.clientGone()
			return
		}
		if x.idle > 0 {
			idle.Reset(x.idle)
		}
	}
}

// requestTimer returns a timer that fires when the request should be complete. Without a limit it never fires.
func (x *exchange) requestTimer() *time.Timer {
	t := time.NewTimer(max(x.proxy.options.RequestTimeout, time.Hour))
	if limit := x.proxy.options.RequestTimeout; limit > 0 && x.reading.Load() {
		t.Reset(limit)
	} else {
		t.Stop()
	}
	return t
}

// readRequest pushes the client's body into the stream.
func (x *exchange) readRequest() {
	defer x.reading.Store(false)
	m := message{
		body: x.r.Body, http2: x.r.ProtoMajor >= 2, trailer: func() http.Header { return x.r.Trailer },
		data: func(p []byte, end bool) {
			if end {
				x.reading.Store(false) // before a response to it can end the exchange
			}
			signal(x.active)
			x.stream.RequestData(p, end)
		},
		trailers: func(h *wasmhost.Headers) {
			x.reading.Store(false)
			x.stream.RequestTrailers(h)
		},
		next: x.roomForRequest,
	}
	err := m.relay(x.proxy.options.EndWait)
	switch {
	case err == nil && x.ctx.Err() != nil && x.r.ProtoMajor == 1:
		// If the connection were closed while the client is still sending, the client would lose the response.
		_, _ = io.Copy(io.Discard, x.r.Body)
	case err == nil || x.ctx.Err() != nil:
	case x.r.Context().Err() != nil:
		x.clientGone()
	default:
		x.stream.ClientFailed()
	}
}

// roomForRequest waits until the server has taken most of what is waiting for it. It returns false if the exchange
// ends.
func (x *exchange) roomForRequest() bool {
	for x.requestBody.full() || x.stream.Backlog(wasmhost.ToServer) > x.stream.Limit()+window {
		select {
		case <-x.requestBody.room:
		case <-x.ctx.Done():
			return false
		}
	}
	return true
}

// act carries out the stream's events and reports whether the exchange is over.
func (x *exchange) act() (finished bool) {
	events := x.stream.Take()
	if !x.responseStarted && slices.ContainsFunc(events, isReset) && slices.ContainsFunc(events, isLocal) {
		// A local reply that is cut at once has not begun.
		events = slices.DeleteFunc(events, func(e wasmhost.Event) bool { return e.To == wasmhost.ToClient && !isReset(e) })
	}
	for i, e := range events {
		if e.To == wasmhost.ToServer {
			x.toServer(e, events[i+1:])
			continue
		}
		switch e.Kind {
		case wasmhost.HeadersKind:
			x.begin(e)
		case wasmhost.DataKind:
			if !x.write(e.Data) {
				return true
			}
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
			finished = true
		}
	}
	signal(x.requestBody.room)
	if x.server != nil {
		signal(x.server.room)
	}
	return finished
}

func isLocal(e wasmhost.Event) bool { return e.Local }

func isReset(e wasmhost.Event) bool {
	return e.To == wasmhost.ToClient && e.Kind == wasmhost.ResetKind
}

func (x *exchange) begin(e wasmhost.Event) {
	x.responseStarted = true
	header := x.w.Header()
	if e.RequestOpen && x.r.ProtoMajor == 1 {
		header.Set("Connection", "close") // what the client still sends is not read
		if e.End && x.r.Method != http.MethodHead {
			header.Set("Content-Length", "0") // the response ends here
		}
	}
	for name, values := range toHTTP(e.Headers) {
		header[name] = values
	}
	status, err := strconv.Atoi(e.Headers.Get(":status"))
	if err != nil || status < 200 && !(x.upgrade != "" && status == http.StatusSwitchingProtocols) || status > 999 {
		status = http.StatusOK // as Envoy's codec does when a filter has removed the status
	}
	if e.Local && status == http.StatusUpgradeRequired {
		// These headers of a local reply are about the connection, and net/http must send them as they are.
		header["Upgrade"], header["Connection"] = []string{e.Headers.Get("upgrade")}, []string{e.Headers.Get("connection")}
	}
	if x.upgrade != "" && status == http.StatusSwitchingProtocols {
		x.switchClient(e.Headers)
		return
	}
	x.w.WriteHeader(status)
	// Over HTTP/2, net/http without a flush would add a content-length of 0 that no server has sent.
	if !e.End || e.RequestOpen || x.r.ProtoMajor >= 2 {
		x.flush()
	}
}

// write sends a piece to the client and reports whether the client accepted it.
func (x *exchange) write(p []byte) bool {
	if x.conn != nil {
		return x.writeUpgraded(p)
	}
	if idle := x.idle; idle > 0 {
		// Over HTTP/2 an expired deadline ends the stream even if nothing is left to write, so the idle timer must fire
		// first.
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(idle + time.Second))
	}
	if _, err := x.w.Write(p); err != nil {
		x.clientGone()
		return false
	}
	x.flush()
	return true
}

func (x *exchange) flush() {
	// If a wrapper of the [http.ResponseWriter] has no Flush, the client receives the response in one piece.
	_ = http.NewResponseController(x.w).Flush()
}
