package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Cluster is a set of equivalent servers.
type Cluster struct {
	Name      string
	Endpoints []Endpoint
	// TLS is the configuration for TLS to the servers; nil means clear text.
	TLS *tls.Config
	// HTTP2 selects HTTP/2 with prior knowledge; otherwise HTTP/1.1 is used.
	HTTP2 bool
	// IdleTimeout is how long a connection may be unused before it is closed.
	IdleTimeout time.Duration
	// MaxLoad is how many requests a server may have, in percent of the average, before others take those that are sent by
	// hash: hash_balance_factor. 0 is no bound.
	MaxLoad int
	// SingleUse closes a connection after one request: max_requests_per_connection: 1.
	SingleUse bool
	// Pinned is the name of a header that names the server of each callout as host:port. A callout to any other server
	// fails. The servers do not get the header. Empty: any server gets a callout.
	Pinned string
	// Outliers is when a server is put out.
	Outliers Outliers
}

// Endpoint is one server of a [Cluster].
type Endpoint struct {
	// Address is host:port.
	Address string
	// Hostname is the host header where a route asks for a rewrite, and the server name in TLS.
	Hostname string
}

type cluster struct {
	Cluster
	endpoints []*endpoint
	retries   int
	now       func() time.Time
}

type endpoint struct {
	Endpoint
	transport *http.Transport
	scheme    string
	active    atomic.Int64
	// out reports whether the server gets requests only if all servers are out.
	out atomic.Bool
	// record is what its last requests have come to.
	record record
}

// connectError marks a request that has not reached any server.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

var errNoServer = errors.New("the cluster has no server")

func newCluster(c Cluster, connect time.Duration, retries int) *cluster {
	out := &cluster{Cluster: c, retries: retries, now: time.Now}
	for _, e := range c.Endpoints {
		dialer := net.Dialer{Timeout: connect}
		protocols := &http.Protocols{}
		protocols.SetHTTP1(!c.HTTP2)
		protocols.SetUnencryptedHTTP2(c.HTTP2 && c.TLS == nil)
		protocols.SetHTTP2(c.HTTP2 && c.TLS != nil)
		t := &http.Transport{
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, network, e.Address)
				if err != nil {
					return nil, connectError{err}
				}
				return conn, nil
			},
			// The filter reads what servers send, so nothing is decompressed before it.
			DisableCompression: true, Protocols: protocols,
			IdleConnTimeout: c.IdleTimeout, DisableKeepAlives: c.SingleUse, MaxIdleConnsPerHost: 1000,
		}
		scheme := "http"
		if c.TLS != nil {
			scheme = "https"
			config := c.TLS.Clone()
			if config.ServerName == "" {
				config.ServerName = e.Hostname
			}
			// The handshake is done here so that its failure counts as a failed connection.
			t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				return dialTLS(ctx, connect, config,
					func(ctx context.Context) (net.Conn, error) { return t.DialContext(ctx, network, address) })
			}
		}
		out.endpoints = append(out.endpoints, &endpoint{Endpoint: e, transport: t, scheme: scheme})
	}
	return out
}

func dialTLS(ctx context.Context, limit time.Duration, config *tls.Config,
	dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	plain, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn := tls.Client(plain, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, connectError{err}
	}
	return conn, nil
}

func (c *cluster) close() {
	for _, e := range c.endpoints {
		e.transport.CloseIdleConnections()
	}
}

// pick returns the server with the fewest requests among those not passed over, or nil.
func (c *cluster) pick(passed []*endpoint) *endpoint {
	var best *endpoint
	allOut := c.allOut()
	for _, e := range c.endpoints {
		if !slices.Contains(passed, e) && (allOut || !e.out.Load()) &&
			(best == nil || e.active.Load() < best.active.Load()) {
			best = e
		}
	}
	return best
}

// inUse returns how many servers get requests.
func (c *cluster) inUse() int {
	if c.allOut() {
		return len(c.endpoints)
	}
	n := 0
	for _, e := range c.endpoints {
		if !e.out.Load() {
			n++
		}
	}
	return n
}

// allOut reports whether all servers are out.
func (c *cluster) allOut() bool {
	return !slices.ContainsFunc(c.endpoints, func(e *endpoint) bool { return !e.out.Load() })
}

// pinnedTo returns the cluster with the server of this address alone, or with none.
func (c *cluster) pinnedTo(address string) *cluster {
	one := *c
	one.endpoints = nil
	for _, e := range c.endpoints {
		if e.Address == address {
			one.endpoints = []*endpoint{e}
		}
	}
	return &one
}

// choose returns a server that has not been tried, or nil. One that is put out is the last choice. Requests with the
// same text in hashed go to the same server.
func (c *cluster) choose(hashed string, tried []*endpoint) *endpoint {
	pick := c.pick
	if hashed != "" {
		pick = func(passed []*endpoint) *endpoint { return c.pickHashed(hashed, passed) }
	}
	if e := pick(append(c.putOut(), tried...)); e != nil {
		return e
	}
	return pick(tried)
}

// unclosable is a request body that a failed attempt cannot close.
type unclosable struct{ io.Reader }

func (unclosable) Close() error { return nil }
