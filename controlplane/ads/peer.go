package ads

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc/peer"
)

// connections makes each connection of a listener known by its [peerAddress].
type connections struct{ net.Listener }

// Accept implements [net.Listener].
func (l connections) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, address: &peerAddress{Addr: c.RemoteAddr(), conn: c}}, nil
}

// connection is a connection of a peer.
type connection struct {
	net.Conn
	address *peerAddress
}

// RemoteAddr implements [net.Conn].
func (c *connection) RemoteAddr() net.Addr { return c.address }

// peerAddress is the address of a peer. gRPC gives it to each call of a connection, so it also tells connections apart.
type peerAddress struct {
	net.Addr
	conn net.Conn
}

// identity returns what tells a peer apart from others, also over several connections: the names in its certificate if
// it has one, else its host.
func (p *peerAddress) identity() string {
	if secured, ok := p.conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
		if chain := secured.ConnectionState().PeerCertificates; len(chain) > 0 {
			return "certificate " + namesOf(chain[0])
		}
	}
	if host, _, err := net.SplitHostPort(p.String()); err == nil {
		return "host " + host
	}
	return p.Network()
}

// namesOf returns the names in a certificate, which stay the same when it is renewed.
func namesOf(c *x509.Certificate) string {
	names := slices.Concat(c.DNSNames, c.EmailAddresses)
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	return string(bytes.ToValidUTF8(c.RawSubject, nil)) + " " + strings.Join(names, " ")
}

// addressOf returns the address of the peer of a call, or nil if it did not come by [Server.Serve].
func addressOf(ctx context.Context) *peerAddress {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	address, _ := p.Addr.(*peerAddress)
	return address
}

// EnvoyOf returns the id of the Envoy from which a call of another service comes. name is the id that the call itself
// has, or "". The connection of the call must have an ADS stream with that id. If Envoys of other peers have the id too,
// only the peer counts that had it first: the others may not speak for it.
func (s *Server) EnvoyOf(ctx context.Context, name string) (string, error) {
	from := addressOf(ctx)
	if from == nil {
		return "", errors.New("the connection is not known")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var own, first *stream
	for st := range s.streams {
		if st.node == nil {
			continue
		}
		if st.from == from && (name == "" || st.node.GetId() == name) {
			own = st
		}
	}
	if own == nil {
		return "", fmt.Errorf("this connection has no ADS stream of the Envoy %q", printable(name, maxName))
	}
	for st := range s.streams {
		if st.node != nil && st.node.GetId() == own.node.GetId() && (first == nil || st.connected.Before(first.connected)) {
			first = st
		}
	}
	if first.identity != own.identity {
		return "", fmt.Errorf("another peer has been the Envoy %q for longer: give each Envoy a name of its own",
			printable(own.node.GetId(), maxName))
	}
	return own.node.GetId(), nil
}
