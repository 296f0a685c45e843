package hosts

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// pump passes the server's bytes to the exchange as they arrive, in pieces of at most Cut bytes.
func (n *native) pump(out *writer, x *exchange.Exchange, body io.Reader) {
	type piece struct {
		data []byte
		err  error
	}
	pieces := make(chan piece)
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		for {
			buffer := make([]byte, 64<<10)
			size, err := body.Read(buffer)
			select {
			case pieces <- piece{buffer[:size], err}:
			case <-gone:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		got, ok := await(pieces, x, out)
		if !ok {
			return
		}
		chunk, err := got.data, got.err
		for len(chunk) > 0 {
			piece := chunk
			if n.setup.Cut > 0 && len(piece) > n.setup.Cut {
				piece = piece[:n.setup.Cut]
			}
			chunk = chunk[len(piece):]
			n.chunks.Add(1)
			if !out.take(x.ResponseBody(piece, false), piece) {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			n.chunks.Add(1)
			if out.take(x.ResponseBody(nil, true), nil) {
				out.head()
			}
			return
		}
		if err != nil {
			// If the connection fails in mid-stream, the client sees its own connection fail too. If nothing has been sent yet,
			// it receives the proxy's own 502.
			if out.sent {
				panic(http.ErrAbortHandler)
			}
			clear(out.w.Header())
			reply(out.w, &exchange.Reply{Status: http.StatusBadGateway, Body: []byte(resetBody)})
			return
		}
	}
}

// stallTick is the interval at which the host checks for stalled servers, as in the filter.
const stallTick = 250 * time.Millisecond

// await waits for the next value. It returns false if the exchange finds that the server has been silent for too long:
// the client then has its error, and the exchange has ended.
func await[T any](c <-chan T, x *exchange.Exchange, out *writer) (T, bool) {
	tick := time.NewTicker(stallTick)
	defer tick.Stop()
	for {
		select {
		case v := <-c:
			return v, true
		case <-tick.C:
			if a := x.Stalled(time.Now().UnixMilli()); a.Reply != nil || a.Reset {
				out.take(a, nil)
				var none T
				return none, false
			}
		}
	}
}

// resetBody is the body that the proxy's configuration gives its own reply when a server's connection fails early.
const resetBody = `{"error":{"message":"upstream reset","type":"server_error","param":null,"code":"server_error"}}`

// writer carries out actions.
type writer struct {
	w      http.ResponseWriter
	x      *exchange.Exchange
	header http.Header
	status int
	sent   bool
}

// take carries out an action and reports whether the response continues.
func (o *writer) take(a exchange.ResponseAction, chunk []byte) bool {
	switch {
	case a.Hold:
		return true
	case a.Reply != nil:
		o.route(o.w.Header())
		reply(o.w, a.Reply)
		return false
	case a.Reset:
		panic(http.ErrAbortHandler)
	case a.Head != nil:
		o.status = a.Head.Status
		o.header.Set("content-type", a.Head.ContentType)
		if a.Head.RetryAfter != "" {
			o.header.Set("retry-after", a.Head.RetryAfter)
		}
		o.route(o.header)
		o.header.Del("content-length")
		o.header.Del("openai-model")
	}
	o.head()
	if a.Pass {
		_, _ = o.w.Write(chunk)
	} else {
		_, _ = o.w.Write(a.Body)
	}
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
	if a.ResetAfter {
		panic(http.ErrAbortHandler)
	}
	return true
}

// route sets the header that names the pool.
func (o *writer) route(h http.Header) {
	if route := o.x.RouteTaken(); route != "" {
		h.Set(contract.RouteHeader, route)
	}
}

func (o *writer) head() {
	if !o.sent {
		o.sent = true
		copyHeaders(o.w.Header(), o.header)
		o.w.WriteHeader(o.status)
	}
}

func copyHeaders(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
}
