package inprocess

import (
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"

	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// readConnectionLimit returns how many connections clients may have. Without a limit in the resources it is
// [math.MaxInt64].
func readConnectionLimit(r *xds.Resources) (int64, error) {
	for _, m := range r.Overload.GetResourceMonitors() {
		c := &connectionsv3.DownstreamConnectionsConfig{}
		if !m.GetTypedConfig().MessageIs(c) {
			continue
		}
		if err := m.GetTypedConfig().UnmarshalTo(c); err != nil {
			return 0, fmt.Errorf("resource monitor %s: %w", m.GetName(), err)
		}
		return c.GetMaxActiveDownstreamConnections(), nil
	}
	return math.MaxInt64, nil
}

// limitListener is a listener that closes each connection beyond its limit at once, as Envoy does. If they waited
// instead, clients could not see that they are not served.
type limitListener struct {
	*net.TCPListener
	max  int64
	open atomic.Int64
}

// Accept implements [net.Listener]. It returns the next connection within the limit.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.max {
			return &limitConn{TCPConn: conn, release: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		_ = conn.Close()
	}
}

// limitConn is a connection that counts against the limit until it is closed. It has CloseWrite, with which net/http
// lets a client read its last answer.
type limitConn struct {
	*net.TCPConn
	release func()
}

// Close implements [net.Conn].
func (c *limitConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
