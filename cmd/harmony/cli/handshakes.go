package cli

import (
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// handshakeInterval is the time between two lines about refused handshakes of one peer.
	handshakeInterval = time.Minute
	// maxHandshakePeers is how many peers are remembered for that.
	maxHandshakePeers = 1024
)

// handshakes logs TLS handshakes that were refused, at most one of each peer in an interval.
type handshakes struct {
	net.Listener
	log *slog.Logger

	mu     sync.Mutex
	logged map[string]time.Time // by the peer's host
}

// handshakeConn is a connection below TLS.
type handshakeConn struct {
	net.Conn
	of *handshakes
	// greeted reports whether the peer has begun a handshake, and done whether it was accepted.
	greeted, done atomic.Bool
	closed        sync.Once
}

// Accept implements [net.Listener].
func (h *handshakes) Accept() (net.Conn, error) {
	conn, err := h.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &handshakeConn{Conn: conn, of: h}, nil
}

// Read implements [net.Conn].
func (c *handshakeConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.greeted.Store(true)
	}
	return n, err
}

// Close implements [net.Conn].
func (c *handshakeConn) Close() error {
	c.closed.Do(func() {
		if c.greeted.Load() && !c.done.Load() {
			c.of.refused(c.RemoteAddr())
		}
	})
	return c.Conn.Close()
}

// accept notes that the handshake of a connection was accepted.
func (h *handshakes) accept(hello *tls.ClientHelloInfo) func(tls.ConnectionState) error {
	return func(tls.ConnectionState) error {
		if c, ok := hello.Conn.(*handshakeConn); ok {
			c.done.Store(true)
		}
		return nil
	}
}

func (h *handshakes) refused(peer net.Addr) {
	host, _, err := net.SplitHostPort(peer.String())
	if err != nil {
		host = peer.String()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if last, ok := h.logged[host]; ok && now.Sub(last) < handshakeInterval || len(h.logged) >= maxHandshakePeers {
		if len(h.logged) >= maxHandshakePeers && now.Sub(last) >= handshakeInterval {
			clear(h.logged)
		}
		return
	}
	h.logged[host] = now
	h.log.Warn("a TLS handshake was refused: the peer does not speak TLS, or has no certificate of --client-ca", "peer",
		host)
}
