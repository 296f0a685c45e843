package egress

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Guard knows which URLs clients may name, and which addresses may be dialled. It is safe for concurrent use.
type Guard struct {
	rules []rule
	// resolver is the system's if it is nil.
	resolver *net.Resolver
}

// NewGuard returns a guard by the operator's rules. Without rules clients may name nothing.
//
// A rule is a name ("mcp.example.com": https, port 443), every name below one ("*.example.org"), everything public
// ("*"), a scheme, host and port ("http://10.0.0.5:8001"), an address or a network ("10.0.0.0/8": both schemes, every
// port). Addresses that are not public can be dialled only where a rule has the address itself: a name that is allowed
// does not open what it resolves to.
func NewGuard(allow []string) (*Guard, error) {
	rules, err := parseRules(allow)
	if err != nil {
		return nil, err
	}
	return &Guard{rules: rules}, nil
}

// Check returns the URL that a client has named, in the form in which it is asked. It resolves no name: addresses are
// checked when they are dialled. The error is a [*BlockedError].
func (g *Guard) Check(raw string) (*url.URL, error) {
	t, err := parse(raw)
	if err != nil {
		return nil, err
	}
	for i := range g.rules {
		if g.rules[i].allows(t) {
			return t.url, nil
		}
	}
	return nil, blocked("%s://%s is not allowed here; the operator can allow it", t.scheme, t.authority())
}

// Options are the limits of a client.
type Options struct {
	// Private reports whether every address may be dialled: for servers that the operator has named.
	Private bool
	// Connect, TLS and Header are how long a connection, its handshake, and an answer's headers may take. Zero: as long as
	// the request's context.
	Connect, TLS, Header time.Duration
	// HeaderBytes is how many bytes an answer's headers may have. Zero: 64 KiB.
	HeaderBytes int64
	// Connections is how many a client has to a host at once. Zero: as many as there are requests.
	Connections int
}

// idleConnections are kept per host, for idleTime.
const (
	idleConnections = 4
	idleTime        = 30 * time.Second
)

// Client returns an HTTP client that dials only what may be dialled. It uses no proxy, follows no redirect, asks for no
// compression, and refuses compressed answers. It speaks HTTP/1.1: its limits are plainer than HTTP/2's.
// Errors of its requests may be a [*BlockedError], a [*RedirectError] or an [*EncodingError].
func (g *Guard) Client(o Options) *http.Client {
	dialer := &net.Dialer{Timeout: o.Connect, KeepAlive: 15 * time.Second, Resolver: g.resolver,
		Control: func(network, address string, _ syscall.RawConn) error { return g.mayDial(network, address, o.Private) }}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &transport{&http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: o.TLS, ResponseHeaderTimeout: o.Header,
			MaxResponseHeaderBytes: cmp.Or(o.HeaderBytes, 64<<10), DisableCompression: true, Protocols: protocols,
			MaxConnsPerHost: o.Connections, MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleTime,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// mayDial checks an address when the socket is there and is about to be connected. So no answer of a DNS server between
// a check and a connection can matter.
func (g *Guard) mayDial(network, address string, private bool) error {
	if !strings.HasPrefix(network, "tcp") {
		return blocked("only TCP is used")
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return blocked("the address cannot be read")
	}
	to = netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())
	if private || public(to.Addr()) {
		return nil
	}
	for i := range g.rules {
		if g.rules[i].opens(to) {
			return nil
		}
	}
	// A client must not learn the address of an internal name.
	return blocked("the address of the host is not public")
}

// transport refuses what must not be asked and what must not be answered.
type transport struct{ base *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.User != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, blocked("the URL has a user or a password")
	}
	response, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	encoding := response.Header.Get("Content-Encoding")
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400 && response.StatusCode != http.StatusNotModified:
		err = &RedirectError{Status: response.StatusCode}
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		err = &EncodingError{}
	default:
		return response, nil
	}
	_ = response.Body.Close()
	return nil, err
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }
