package relay

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// client is who gets an answer. Its stream begins with the first event, or with the first sign of life.
type client struct {
	w http.ResponseWriter
	// sign is written whenever nothing else has been for so long. 0: it is never.
	sign  []byte
	every time.Duration
	// signed is called for each sign.
	signed func()

	// mu guards what follows, and the writer while a stream may still get signs.
	mu    sync.Mutex
	timer *time.Timer
	// header are the headers of the gateway's answer, or nil while there is none.
	header http.Header
	begun  bool
	// err is why the client gets nothing more: it has left, or its answer has ended.
	err error
}

// live begins the signs of life.
func (c *client) live() {
	if c.every > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer = time.AfterFunc(c.every, c.beat)
	}
}

// beat writes a sign of life.
func (c *client) beat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.timer == nil {
		return
	}
	if c.signed(); c.put(c.sign) == nil {
		c.timer.Reset(c.every)
	}
}

// rest ends the signs of life, and reports whether the stream has begun. A sign that is being written is waited for.
func (c *client) rest() (begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	return c.begun
}

// answered notes the headers of the gateway's answer, for a stream that has not begun.
func (c *client) answered(header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = header
}

// write gives the client a piece of the stream.
func (c *client) write(piece []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || len(piece) == 0 {
		return c.err
	}
	err := c.put(piece)
	if c.timer != nil {
		c.timer.Reset(c.every)
	}
	return err
}

// put writes a piece, and before the first one the headers. The caller holds the lock.
func (c *client) put(piece []byte) error {
	if !c.begun {
		c.begun = true
		header := c.w.Header()
		passHeaders(header, c.header)
		if c.header == nil {
			header.Set("content-type", "text/event-stream")
			header.Set("cache-control", "no-cache")
		}
		header.Del("content-length")
	}
	if _, c.err = c.w.Write(piece); c.err == nil {
		c.err = http.NewResponseController(c.w).Flush()
	}
	return c.err
}

// passHeaders copies the headers of an answer for another connection. The proxy in front makes its own of some, and the
// gateway's name of the request is another than the client's.
func passHeaders(to, from http.Header) {
	for name, values := range from {
		switch name {
		case "Connection", "Keep-Alive", "Transfer-Encoding", "Trailer", "Upgrade", "Date", "Server", "X-Request-Id":
		default:
			if own := name == "Request-Id" && to[name] != nil; !own && !strings.HasPrefix(name, "X-Envoy-") {
				to[name] = values
			}
		}
	}
}
