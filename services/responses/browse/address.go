package browse

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURL is the size of the longest URL that clients are given, in bytes.
const maxURL = 2048

// address returns a URL as clients are given it: http or https, a host without a user, and nothing but the characters
// of a URI. It reports whether raw is such a URL, but for characters that it quotes.
func address(raw string) (url string, ok bool) {
	scheme, rest, ok := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "http" && scheme != "https" || !printable(raw) {
		return "", false
	}
	host, path := rest, ""
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		host, path = rest[:at], rest[at:]
	}
	host, ok = cleanHost(host)
	if !ok {
		return "", false
	}
	url = scheme + "://" + host + quote(path)
	return url, len(url) <= maxURL
}

// printable reports whether s is UTF-8 without control characters, and without the mark of bytes that were no UTF-8.
func printable(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// cleanHost returns a host and its port, in the form of a URI. A user before it is refused: it can look like a host.
func cleanHost(s string) (host string, ok bool) {
	host, port := s, ""
	if at := strings.LastIndexByte(s, ':'); at >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:at], s[at:]
		if len(port) < 2 || len(port) > 6 || strings.Trim(port[1:], "0123456789") != "" {
			return "", false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !ok || err != nil || !ip.Is6() || ip.Zone() != "" {
			return "", false
		}
		return "[" + ip.String() + "]" + port, true
	}
	for i := range len(host) {
		if host[i] >= utf8.RuneSelf {
			var err error
			if host, err = idna.Lookup.ToASCII(host); err != nil {
				return "", false
			}
			break
		}
	}
	host = strings.ToLower(host)
	if host == "" || len(host) > 253 || host[0] == '.' || strings.Contains(host, "..") {
		return "", false
	}
	for i := range len(host) {
		if c := host[i]; !letterOrDigit(c) && c != '-' && c != '.' && c != '_' {
			return "", false
		}
	}
	return host + port, true
}

func letterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// quote quotes what may not stand in a URI's path, query and fragment. Quoted text stays as it is.
func quote(path string) string {
	const marks, hex = "-._~!$&'()*+,;=:@/?", "0123456789ABCDEF"
	var b strings.Builder
	fragment := false
	for i := range len(path) {
		c := path[i]
		whole := letterOrDigit(c) || strings.IndexByte(marks, c) >= 0 || c == '%' && quoted(path[i:])
		if c == '#' {
			whole, fragment = !fragment, true
		}
		if whole {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// quoted reports whether s begins with a quoted byte.
func quoted(s string) bool {
	return len(s) > 2 && s[0] == '%' && nibble(s[1]) < 16 && nibble(s[2]) < 16
}

// nibble returns the value of a hexadecimal digit, or 16.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}

// The browser cuts a URL to this many characters, of which the last three are cutMark.
const (
	cutLength = 1024
	cutMark   = "..."
)

// unquote returns a URL without quoting, as the browser shows it.
func unquote(url string) string {
	var b strings.Builder
	for i := 0; i < len(url); i++ {
		if quoted(url[i:]) {
			b.WriteByte(nibble(url[i+1])<<4 | nibble(url[i+2]))
			i += 2
		} else {
			b.WriteByte(url[i])
		}
	}
	return strings.ToValidUTF8(b.String(), string(utf8.RuneError))
}

// cut returns what the browser shows of a long URL.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= cutLength {
		return s
	}
	end := 0
	for range cutLength - len(cutMark) {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end] + cutMark
}

// isCut reports whether a URL that the browser shows may be the beginning of a longer one.
func isCut(shown string) bool {
	return strings.HasSuffix(shown, cutMark) && utf8.RuneCountInString(shown) >= cutLength
}

// site returns the host and port of an [address], as they stand in a link's text: without brackets.
func site(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		rest = rest[:at]
	}
	return strings.NewReplacer("[", "", "]", "").Replace(rest)
}
