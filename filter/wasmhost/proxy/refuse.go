package proxy

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// http1Methods are the methods that Envoy's HTTP/1.1 codec accepts.
var http1Methods = []string{
	"ACL", "BIND", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LINK", "LOCK", "MERGE", "MKACTIVITY",
	"MKCALENDAR", "MKCOL", "MOVE", "MSEARCH",
	"NOTIFY", "OPTIONS", "PATCH", "POST", "PROPFIND", "PROPPATCH", "PURGE", "PUT", "REBIND", "REPORT", "SEARCH", "SOURCE",
	"SUBSCRIBE", "TRACE", "UNBIND",
	"UNLINK", "UNLOCK", "UNSUBSCRIBE",
}

// refused answers a request that is refused before the filter sees it, and reports whether it did so. The rules are f*
// and q* in e2e/rules.
func (x *exchange) refused(h *wasmhost.Headers, bodyless bool) bool {
	o := &x.proxy.options
	path := h.Get(":path")
	http1 := x.r.ProtoMajor == 1
	switch {
	case fieldCount(x.r.Header) > o.MaxHeaders:
		x.refuse(http.StatusRequestHeaderFieldsTooLarge, "too_many_headers")
	case http1 && !slices.Contains(http1Methods, x.r.Method),
		http1 && x.r.Method == http.MethodConnect && strings.HasPrefix(x.r.RequestURI, "/"):
		x.refuse(http.StatusBadRequest, "codec_error")
	case o.NoUnderscores && hasUnderscore(x.r.Header):
		x.refuse(http.StatusBadRequest, "unexpected_underscore")
	case x.r.Method != http.MethodConnect && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "\\"):
		refuse := x.stream.Refuse
		if bodyless {
			refuse = x.stream.RefuseWhole
		}
		refuse(h, wasmhost.LocalReply{Status: http.StatusNotFound, Details: "absolute_path_rejected"})
	case strings.Contains(path, "#"), o.NormalizePath && hasNUL(path):
		x.stream.Refuse(h, wasmhost.LocalReply{Status: http.StatusBadRequest, Details: "path_normalization_failed"})
	case asksForUpgrade(x.r) && !x.mayUpgrade(h):
		x.stream.Refuse(h, wasmhost.LocalReply{Status: http.StatusForbidden, Details: "upgrade_failed"})
	default:
		return false
	}
	return true
}

// asksForUpgrade reports whether a request asks for another protocol on its connection. Envoy refuses that unless it is
// configured to allow it. An upgrade to h2c does not count: Envoy and this proxy ignore it.
func asksForUpgrade(r *http.Request) bool {
	if r.ProtoMajor != 1 || strings.EqualFold(cmp.Or(r.Header.Get("Upgrade"), "h2c"), "h2c") {
		return false
	}
	for token := range strings.SplitSeq(strings.Join(r.Header["Connection"], ","), ",") {
		if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
			return true
		}
	}
	return false
}

func hasUnderscore(from http.Header) bool {
	for name := range from {
		if strings.Contains(name, "_") {
			return true
		}
	}
	return false
}

// hasNUL reports whether a path, without its query, has an escaped NUL.
func hasNUL(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	return strings.Contains(path, "%00")
}

// refuse answers as a codec does for a malformed request.
func (x *exchange) refuse(status int, why string) {
	codec := "http1."
	if x.r.ProtoMajor >= 2 {
		codec = "http2."
	}
	x.stream.Refuse(nil, wasmhost.LocalReply{Status: status, Details: codec + why, Body: []byte(http.StatusText(status))})
}

// slashes are the escapes that UNESCAPE_AND_FORWARD replaces.
var slashes = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", "\\", "%5C", "\\")

// unescapeSlashes replaces escaped slashes and backslashes in the path and leaves the query as it is.
func unescapeSlashes(target string) string {
	path, query, hasQuery := strings.Cut(target, "?")
	path = slashes.Replace(path)
	if hasQuery {
		return path + "?" + query
	}
	return path
}
