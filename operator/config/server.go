package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Server is one inference server: its kind, its address, and the path of its API ([contract.Model.APIPath]).
type Server struct {
	Kind     string
	Endpoint Endpoint
	APIPath  string
}

// Endpoint is the address of an HTTP server.
type Endpoint struct {
	TLS  bool
	Host string // a name, or an IP address without brackets
	Port uint16
}

// Authority returns the server's name in the Host header. TLS requests and checks the same name.
func (e Endpoint) Authority() string {
	if !e.TLS && e.Port != 80 {
		return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
	}
	if strings.Contains(e.Host, ":") { // IPv6
		return "[" + e.Host + "]"
	}
	return e.Host
}

// ParseServer reads KIND=URL.
func ParseServer(text string) (Server, error) {
	kind, address, ok := strings.Cut(text, "=")
	if !ok || strings.Contains(kind, "://") {
		return Server{}, errors.New(strconv.Quote(text) + " does not say what kind of server it is; write vllm=" + text)
	}
	if !slices.Contains(contract.ServerKinds(), kind) {
		return Server{}, errors.New(strconv.Quote(kind) + " is not a kind of server; it is one of " +
			strings.Join(contract.ServerKinds(), ", "))
	}
	e, apiPath, err := parseServerURL(contract.KindNamed(kind), address)
	return Server{Kind: kind, Endpoint: e, APIPath: apiPath}, err
}

// parseServerURL is [ParseURL] for a server of a kind. Where others run such servers, their API may have another path
// than [contract.DefaultAPIPath], such as /openai/v1: it then ends the URL.
func parseServerURL(kind *contract.Kind, text string) (e Endpoint, apiPath string, err error) {
	if kind != nil && kind.TakesAPIPath() {
		if e, apiPath, err = parseURL(text); err == nil {
			apiPath, err = checkAPIPath(kind, text, apiPath)
		}
		return e, apiPath, err
	}
	e, err = ParseURL(text)
	return e, contract.DefaultAPIPath, err
}

const maxAPIPath = 256

// checkAPIPath returns the path of an API by the path in its URL.
func checkAPIPath(kind *contract.Kind, text, path string) (string, error) {
	path = strings.TrimRight(path, "/")
	fail := func(reason string) (string, error) {
		return "", errors.New(strconv.Quote(text) + " has the path " + path + "; " + reason)
	}
	call := strings.TrimPrefix(kind.Path, contract.DefaultAPIPath)
	switch {
	case path == "":
		return contract.DefaultAPIPath, nil
	case strings.HasSuffix(path, call): // people copy the URL to which requests go
		return fail("leave " + call + " out, which is added to it")
	case !contract.ValidAPIPath(path) || len(path) > maxAPIPath:
		return fail("write a path without escapes, such as /openai/v1")
	}
	return path, nil
}

// ParseURL reads the address of a server: http or https, a host and an optional port, and nothing else.
func ParseURL(text string) (Endpoint, error) {
	e, path, err := parseURL(text)
	if err == nil && path != "" && path != "/" {
		err = errors.New(strconv.Quote(text) + " has the path " + path +
			"; remove it: requests keep the path that they come with")
	}
	if err != nil {
		return Endpoint{}, err
	}
	return e, nil
}

// parseURL reads the address of a server, and a path.
func parseURL(text string) (e Endpoint, path string, err error) {
	fail := func(reason string) (Endpoint, string, error) {
		return Endpoint{}, "", errors.New(strconv.Quote(redactUser(text)) + " " + reason)
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Scheme == "" || u.Host == "" {
		return fail("is not a URL; write http://host:port")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return fail("has the scheme " + u.Scheme + "; write http://host:port or https://host")
	}
	if u.User != nil {
		return fail("has a user name; remove it: credentials do not belong in a server's URL")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return fail("has a query or a fragment; write only http://host:port")
	}
	e = Endpoint{TLS: u.Scheme == "https", Host: strings.ToLower(u.Hostname()), Port: 80}
	if e.TLS {
		e.Port = 443
	}
	if e.Host == "" {
		return fail("has no host; write http://host:port")
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return fail("has the port " + p + "; a port is a number from 1 to 65535")
		}
		e.Port = uint16(n)
	}
	if e.IsIP() && e.TLS {
		return fail("is https with an IP address; write the host name of the server's certificate")
	}
	return e, u.EscapedPath(), nil
}

// redactUser removes the user name and password from a URL, because many people see errors.
func redactUser(url string) string {
	at := strings.LastIndexByte(url, '@')
	if at < 0 {
		return url
	}
	scheme, _, ok := strings.Cut(url[:at], "://")
	if !ok {
		return "…" + url[at:]
	}
	return scheme + "://…" + url[at:]
}

// IsIP reports whether the host is an IP address.
func (e Endpoint) IsIP() bool {
	_, err := netip.ParseAddr(e.Host)
	return err == nil
}

// String returns the endpoint's URL, with its port.
func (e Endpoint) String() string {
	scheme := "http://"
	if e.TLS {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// ParseListen reads host:port. The host must be an IP address, because a listener binds to an interface, not to a name.
func ParseListen(text string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return netip.AddrPort{}, errors.New(strconv.Quote(text) + " is not host:port; write for example 127.0.0.1:8080")
	}
	switch host {
	case "localhost":
		host = "127.0.0.1"
	case "":
		host = "0.0.0.0"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, errors.New(strconv.Quote(host) + " is not an IP address; write 127.0.0.1 for this " +
			"machine only or 0.0.0.0 for all interfaces")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, errors.New(strconv.Quote(port) + " is not a port; it is a number from 0 (any free one) " +
			"to 65535")
	}
	return netip.AddrPortFrom(ip, uint16(n)), nil
}

// ParseAdmin reads the address of Envoy's admin interface, by [ParseListen]. The address must be on loopback, because
// any client of the interface can stop the Envoy.
func ParseAdmin(text string) (netip.AddrPort, error) {
	a, err := ParseListen(text)
	if err == nil && !a.Addr().IsLoopback() {
		err = errors.New(text + " is not on loopback, and Envoy's admin interface has no password; use 127.0.0.1")
	}
	return a, err
}
