package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL is the length of the longest URL, in bytes.
const maxURL = 4096

// target is a URL of which every part has been checked.
type target struct {
	url    *url.URL
	scheme string
	// host is a name in lower case, or the address as [netip.Addr] writes it.
	host string
	// addr is valid if the host is an address.
	addr netip.Addr
	port uint16
}

// ParseURL returns a URL as [Guard.Check] does, without asking what is allowed: for URLs that the operator names. The
// error is a [*BlockedError].
func ParseURL(raw string) (*url.URL, error) {
	t, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return t.url, nil
}

// parse is the only parser of URLs. Its result is built anew from the checked parts, so that no other parser can
// read another host in it.
func parse(raw string) (*target, error) {
	if len(raw) > maxURL {
		return nil, blocked("the URL is longer than %d bytes", maxURL)
	}
	for _, c := range []byte(raw) {
		if c <= ' ' || c >= 0x7f || c == '\\' {
			return nil, blocked("the URL has a character that URLs do not have; names are written as xn--…, others as %%…")
		}
	}
	u, err := url.Parse(raw)
	if err != nil { // its text has the URL, which may hold a secret
		return nil, blocked("it is not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, blocked("the URL is not one of http or https")
	case u.Opaque != "" || u.Host == "":
		return nil, blocked("the URL has no host")
	case u.User != nil:
		return nil, blocked("the URL has a user or a password")
	case strings.Contains(raw, "#"):
		return nil, blocked("the URL has a fragment")
	}
	t := &target{scheme: u.Scheme}
	if t.port, err = port(u); err != nil {
		return nil, err
	}
	if t.host, t.addr, err = host(u); err != nil {
		return nil, err
	}
	t.url = &url.URL{Scheme: t.scheme, Host: t.authority(), Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	return t, nil
}

// authority returns the host and, if it is not the scheme's, the port.
func (t *target) authority() string {
	h := t.host
	if t.addr.Is6() {
		h = "[" + h + "]"
	}
	if t.port != standardPort(t.scheme) {
		h += ":" + strconv.Itoa(int(t.port))
	}
	return h
}

func standardPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

func port(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		return standardPort(u.Scheme), nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return 0, blocked("the URL's port is not one from 1 to 65535")
	}
	return uint16(n), nil
}

func host(u *url.URL) (string, netip.Addr, error) {
	h := strings.ToLower(u.Hostname())
	if strings.HasPrefix(u.Host, "[") {
		a, err := netip.ParseAddr(h)
		// An IPv4 address has one form, so that a rule about it cannot be passed by.
		if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" {
			return "", a, blocked("the URL's host is not a plain IPv6 address")
		}
		return a.String(), a, nil
	}
	if endsInNumber(h) {
		// Others take 2130706433, 0x7f.1 and 0177.0.0.1 for addresses.
		a, err := netip.ParseAddr(h)
		if err != nil || !a.Is4() {
			return "", a, blocked("the URL's host is not an IPv4 address of four decimal numbers")
		}
		return a.String(), a, nil
	}
	if !isName(h) {
		return "", netip.Addr{}, blocked("the URL's host is not a name of letters, digits and hyphens")
	}
	return h, netip.Addr{}, nil
}

// endsInNumber reports whether a host is an address for URL parsers of browsers, rather than a name.
func endsInNumber(h string) bool {
	last := strings.TrimSuffix(h, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	return last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"))
}

// isName reports whether a host is a name in lower case, without a dot at its end.
func isName(h string) bool {
	if len(h) > 253 {
		return false
	}
	for label := range strings.SplitSeq(h, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}
