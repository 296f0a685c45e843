package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// rule is one entry of what clients may name.
type rule struct {
	// scheme is empty for both.
	scheme string
	// host is a name; with below, any name below it. Empty: any name.
	host  string
	below bool
	// addresses is valid for a rule about addresses, which has no host.
	addresses netip.Prefix
	// port is 0 for all.
	port uint16
}

// parseRule reads a rule: "mcp.example.com", "*.example.org", "*", "http://10.0.0.5:8001", "10.0.0.0/8".
func parseRule(text string) (rule, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		if p.Addr().Is4In6() {
			return rule{}, errors.New("an IPv4 network is written as one")
		}
		return rule{addresses: p.Masked()}, nil
	}
	if a, err := netip.ParseAddr(text); err == nil && !a.Is4In6() && a.Zone() == "" {
		return rule{addresses: netip.PrefixFrom(a, a.BitLen())}, nil
	}
	scheme, authority, found := strings.Cut(text, "://")
	if !found {
		scheme, authority = "https", text
	}
	authority, below := strings.CutPrefix(authority, "*.")
	name, everything := authority, authority == "*" || strings.HasPrefix(authority, "*:")
	if everything {
		name = "any" + strings.TrimPrefix(authority, "*")
	}
	t, err := parse(scheme + "://" + name)
	switch {
	case err != nil:
		return rule{}, err
	case t.url.Path != "" || t.url.RawQuery != "":
		return rule{}, errors.New("it has a path, and a rule is a host, scheme://host:port or a network")
	case below && (everything || t.addr.IsValid()):
		return rule{}, errors.New("*. stands before a name")
	}
	r := rule{scheme: t.scheme, host: t.host, below: below, port: t.port}
	switch {
	case everything:
		r.host = ""
	case t.addr.IsValid():
		r.host, r.addresses = "", netip.PrefixFrom(t.addr, t.addr.BitLen())
	}
	return r, nil
}

// allows reports whether clients may name a URL.
func (r *rule) allows(t *target) bool {
	switch {
	case r.scheme != "" && r.scheme != t.scheme, r.port != 0 && r.port != t.port:
		return false
	case r.addresses.IsValid():
		return t.addr.IsValid() && r.addresses.Contains(t.addr)
	case r.host == "":
		return !t.addr.IsValid() || public(t.addr)
	case t.addr.IsValid():
		return false
	case r.below:
		return strings.HasSuffix(t.host, "."+r.host)
	}
	return t.host == r.host
}

// opens reports whether an address may be dialled that is not public.
func (r *rule) opens(to netip.AddrPort) bool {
	return r.addresses.IsValid() && r.addresses.Contains(to.Addr()) && (r.port == 0 || r.port == to.Port())
}

func parseRules(allow []string) ([]rule, error) {
	rules := make([]rule, len(allow))
	for i, text := range allow {
		r, err := parseRule(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a rule of what may be asked: %w", text, err)
		}
		rules[i] = r
	}
	return rules, nil
}
