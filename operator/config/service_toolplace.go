package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// everywhere is the place that stands for every public server.
const everywhere = "*"

// checkPlace returns what is wrong with a place that requests may name, or nothing.
func checkPlace(text string) string {
	if text == everywhere {
		return ""
	}
	if strings.Contains(text, "://") {
		return checkOrigin(text)
	}
	shown := redactUser(text)
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Addr().Is4In6() {
			return fmt.Sprintf("%q is not a range of addresses; write one such as 10.0.0.0/8, or a server as http://host:port",
				shown)
		}
		if p.Masked() != p {
			return fmt.Sprintf("%s is an address within a range; write %s", text, p.Masked())
		}
		return ""
	}
	if isAddress(text) || isHost(strings.TrimPrefix(text, "*.")) {
		return ""
	}
	return fmt.Sprintf("%q is not a place; write a host (mcp.example.com), its subdomains (*.example.com), a server "+
		"(http://10.0.0.5:8001), an address, a range (10.0.0.0/8), or * for every public host", shown)
}

// checkOrigin returns what is wrong with scheme://host:port, or nothing.
func checkOrigin(text string) string {
	shown, _, _ := strings.Cut(redactUser(text), "?")
	u, err := url.Parse(text)
	switch {
	case err != nil || !isServerURL(u):
		return fmt.Sprintf("%q is not a server; write http://host:port or https://host", shown)
	case u.Path != "" || strings.ContainsAny(text, "@?#"):
		return fmt.Sprintf("%q has more than a host and a port; write http://host:port or https://host, and every path "+
			"there is allowed", shown)
	}
	return checkPort(shown, u.Port())
}

// isServerURL reports whether a URL names a host or an address, by HTTP.
func isServerURL(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Opaque == "" &&
		(isHost(u.Hostname()) || isAddress(u.Hostname()))
}

// isAddress reports whether a text is an IP address. IPv4 has one form, so that no rule about it is passed by.
func isAddress(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Zone() == "" && !a.Is4In6()
}

// isHost reports whether a text is a host's name. A name whose last label is a number would be an address that is
// written wrongly.
func isHost(text string) bool {
	labels := strings.Split(text, ".")
	for _, label := range labels {
		if !validName(label) || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
	}
	last := strings.ToLower(labels[len(labels)-1])
	return len(text) <= 253 && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// checkPort returns what is wrong with the port of a URL, or nothing. shown stands for the URL.
func checkPort(shown, port string) string {
	if port == "" {
		return ""
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Sprintf("%q has the port %s; a port is a number from 1 to 65535", shown, port)
	}
	return ""
}
