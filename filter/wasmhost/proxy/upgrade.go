package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// This file serves upgrades to WebSocket. After the server's 101, both sides send bytes that are no HTTP. They pass the
// filter as the bodies of the request and the response, as in Envoy.

// mayUpgrade reports whether the route of a request that asks for an upgrade allows it, as the first route in Envoy
// must. The filter then sees what the request asks for.
func (x *exchange) mayUpgrade(h *wasmhost.Headers) bool {
	protocol := x.r.Header.Get("Upgrade")
	if !strings.EqualFold(protocol, "websocket") {
		return false
	}
	h.Set("connection", strings.Join(x.r.Header["Connection"], ","))
	h.Set("upgrade", protocol)
	if route := x.proxy.Route(h); route == nil || !route.WebSocket {
		return false
	}
	x.upgrade, x.sent = protocol, make(chan struct{})
	return true
}

// cut returns the channel that ends an upgraded connection.
func (x *exchange) cut() <-chan struct{} {
	if x.conn == nil {
		return nil
	}
	return x.proxy.cut
}

// switchClient sends the response that begins the other protocol, and passes on what the client sends after it.
func (x *exchange) switchClient(h *wasmhost.Headers) {
	conn, buffered, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		x.clientGone()
		return
	}
	x.conn = conn
	header := x.w.Header()
	header.Set("Connection", h.Get("connection"))
	header.Set("Upgrade", h.Get("upgrade"))
	var head strings.Builder
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = header.Write(&head) // a strings.Builder takes everything
	head.WriteString("\r\n")
	if x.writeUpgraded([]byte(head.String())) {
		x.reading.Store(true)
		// Bytes that net/http has read already come first. Its own reader would end the request's context with the
		// connection.
		early, _ := buffered.Peek(buffered.Reader.Buffered())
		x.busy.Go(func() { x.readUpgraded(io.MultiReader(bytes.NewReader(early), conn)) })
	}
}

// readUpgraded pushes what the client sends into the stream. A client that sends no more has left.
func (x *exchange) readUpgraded(from io.Reader) {
	readAtOnce(from, func(p []byte, err error) bool {
		if len(p) > 0 {
			signal(x.active)
			x.stream.RequestData(p, false)
		}
		return err == nil && x.roomForRequest()
	})
	if x.ctx.Err() == nil {
		x.left.Store(true)
		signal(x.active)
		return
	}
	_, _ = io.Copy(io.Discard, from) // until the time of closeUpgraded is over
}

// sendRest lets the server have the last that a client has sent that has left.
func (x *exchange) sendRest() {
	x.requestBody.put(nil, true)
	select {
	case <-x.sent:
	case <-time.After(delayedClose):
	case <-x.ctx.Done():
	}
}

// writeUpgraded is exchange.write for an upgraded connection.
func (x *exchange) writeUpgraded(p []byte) bool {
	if x.idle > 0 {
		_ = x.conn.SetWriteDeadline(time.Now().Add(x.idle))
	}
	if _, err := x.conn.Write(p); err != nil {
		x.clientGone()
		return false
	}
	return true
}

// closeUpgraded closes an upgraded connection, so that the client can still read what it was sent.
func (x *exchange) closeUpgraded() {
	if half, ok := x.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = x.conn.SetReadDeadline(time.Now().Add(delayedClose))
	} else {
		_ = x.conn.Close()
	}
	x.busy.Wait()
	_ = x.conn.Close()
}

// switchServer passes on to the server what comes from the client. The function that it returns ends that.
func (s *serverSide) switchServer(ctx context.Context, response *http.Response) (end func()) {
	conn, ok := response.Body.(io.ReadWriteCloser)
	if !ok {
		return func() {}
	}
	// A blocked write ends only so.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	s.exchange.busy.Go(func() {
		defer close(s.exchange.sent)
		_, _ = io.Copy(conn, s.exchange.requestBody)
	})
	return func() { stop() }
}

// forwardHost appends the host of a request to the header that names the hosts which proxies have replaced.
func forwardHost(r *http.Request) {
	hosts := append(r.Header["X-Forwarded-Host"], r.Host)
	r.Header.Set("X-Forwarded-Host", strings.Join(hosts, ","))
}
