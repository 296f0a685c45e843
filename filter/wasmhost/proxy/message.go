package proxy

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// hopByHop are the headers that apply to a single connection.
var hopByHop = []string{"connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade",
	"expect"}

// envoyHeaders are the headers by which Envoy's own parts control each other.
var envoyHeaders = []string{
	"x-envoy-decorator-operation", "x-envoy-downstream-service-cluster", "x-envoy-downstream-service-node",
	"x-envoy-expected-rq-timeout-ms",
	"x-envoy-force-trace", "x-envoy-hedge-on-per-try-timeout", "x-envoy-internal", "x-envoy-ip-tags",
	"x-envoy-is-timeout-retry",
	"x-envoy-max-retries", "x-envoy-original-url", "x-envoy-retriable-header-names", "x-envoy-retriable-status-codes",
	"x-envoy-retry-grpc-on", "x-envoy-retry-on", "x-envoy-upstream-alt-stat-name",
	"x-envoy-upstream-rq-per-try-timeout-ms",
	"x-envoy-upstream-rq-timeout-alt-response", "x-envoy-upstream-rq-timeout-ms", "x-envoy-upstream-stream-duration-ms",
}

// requestHeaders returns a request's headers as a filter sees them: in lower case, with pseudo-headers, and with what
// Envoy adds.
func requestHeaders(r *http.Request, o *Options) *wasmhost.Headers {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	target := r.RequestURI
	if r.URL.IsAbs() {
		target = r.URL.RequestURI() // a request to a forward proxy names the host as well
	}
	h := wasmhost.NewHeaders(":authority", r.Host, ":path", target, ":method", r.Method, ":scheme", scheme)
	appendHeader(h, r.Header)
	for _, name := range hopByHop {
		h.Remove(name)
	}
	if o.ForwardedFor {
		// With use_remote_address the client is untrusted, and its instructions to Envoy are removed.
		for _, name := range envoyHeaders {
			h.Remove(name)
		}
		if address, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
			h.Add("x-forwarded-for", address)
		}
	}
	h.Set("x-forwarded-proto", scheme)
	if id, ok := h.Lookup(requestIDHeader); !ok || id == "" || !o.KeepRequestID {
		h.Set(requestIDHeader, requestID())
	}
	return h
}

const requestIDHeader = "x-request-id"

// requestID returns a random UUID.
func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand does not fail
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// responseHeaders returns a server's response headers as a filter sees them. Unlike a request's headers they include
// the headers that apply to a single connection.
func responseHeaders(r *http.Response) *wasmhost.Headers {
	h := wasmhost.NewHeaders(":status", strconv.Itoa(r.StatusCode))
	appendHeader(h, r.Header)
	for _, coding := range r.TransferEncoding {
		h.Add("transfer-encoding", coding)
	}
	if r.Close && r.ProtoMajor == 1 {
		h.Set("connection", "close") // net/http has removed the header
	}
	return h
}

// appendHeader adds headers in the order of their names, because net/http does not keep the order of the wire.
func appendHeader(h *wasmhost.Headers, from http.Header) {
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range from[name] {
			h.Add(name, value)
		}
	}
}

// fieldCount returns the number of headers, without pseudo-headers.
func fieldCount(from http.Header) int {
	n := 0
	for _, values := range from {
		n += len(values)
	}
	return n
}

// toHTTP returns the headers for net/http, without pseudo-headers and without the headers of a single connection, which
// net/http writes itself.
func toHTTP(h *wasmhost.Headers) http.Header {
	out := http.Header{}
	for _, f := range h.All() {
		if !strings.HasPrefix(f.Name, ":") && !slices.Contains(hopByHop, f.Name) {
			out.Add(f.Name, f.Value)
		}
	}
	return out
}

var escape = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// unreserved are the characters that mean the same whether they are escaped or not (RFC 3986, section 2.3).
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// suppressUserAgent keeps net/http from adding its own user agent.
func suppressUserAgent(h http.Header) {
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = nil
	}
}

// normalizePath does what Envoy's normalize_path and merge_slashes do, in this order:
//
//   - Backslashes become slashes.
//   - Unreserved characters are unescaped; all other escapes stay.
//   - Dot segments are resolved, whether or not parameters follow them.
//   - Doubled slashes become one.
//
// The query stays as it is.
func normalizePath(target string) string {
	path, query, hasQuery := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "\\") {
		return target
	}
	path = strings.ReplaceAll(path, "\\", "/")
	path = escape.ReplaceAllStringFunc(path, func(e string) string {
		c, err := strconv.ParseUint(e[1:], 16, 8)
		if err == nil && strings.IndexByte(unreserved, byte(c)) >= 0 {
			return string(rune(c))
		}
		return e
	})
	var out []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		name, _, _ := strings.Cut(s, ";")
		switch name {
		case "..":
			out = out[:max(len(out)-1, 0)]
		case ".":
		default:
			out = append(out, s)
			continue
		}
		if i == len(segments)-1 {
			out = append(out, "")
		}
	}
	path = multipleSlashes.ReplaceAllString("/"+strings.Join(out, "/"), "/")
	path = escapeIllegal(path, "\"<>^`{|}")
	if hasQuery {
		return path + "?" + query
	}
	return path
}

var multipleSlashes = regexp.MustCompile("//+")

// escapeIllegal escapes characters that are not allowed in a request line, and those in more.
func escapeIllegal(s, extra string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(extra, c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// requestURL returns a URL that net/http sends unchanged. Parsing and rebuilding the target could give another path
// than the one that the route was chosen by.
func requestURL(to *endpoint, target string) *url.URL {
	u := &url.URL{Scheme: to.scheme, Host: to.Address}
	if strings.HasPrefix(target, "//") {
		u.Path, u.RawQuery, _ = strings.Cut(target, "?") // as Opaque it would be read as a host
		return u
	}
	u.Opaque = escapeIllegal(target, "")
	return u
}
