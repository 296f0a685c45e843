package page

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// policy keeps a browser from loading or sending anything elsewhere, and from showing the page inside another.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// origins decides which pages in a browser may talk to this one.
type origins struct {
	names []string
	// strict is [Source.OwnNames].
	strict bool
	cross  http.CrossOriginProtection
}

// own serves what only this page's own scripts may ask for.
func (o *origins) own(next http.Handler) http.Handler {
	return o.page(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// CrossOriginProtection lets safe methods pass. Another page could not read the answers, but could open streams.
		if site := r.Header.Get("sec-fetch-site"); site != "" && site != "same-origin" && site != "none" {
			refuse(w, http.StatusForbidden, "cross_origin", "a page of another origin may not ask this")
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// page serves what a browser may show under a name of this page, however it came there.
func (o *origins) page(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("content-security-policy", policy)
		h.Set("x-content-type-options", "nosniff")
		h.Set("referrer-policy", "no-referrer")
		h.Set("cross-origin-resource-policy", "same-origin")
		h.Set("cross-origin-opener-policy", "same-origin")
		if !o.known(r.Host) {
			o.refuseName(w, r)
			return
		}
		if err := o.cross.Check(r); err != nil {
			refuse(w, http.StatusForbidden, "cross_origin", "a page of another origin may not ask this")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (o *origins) refuseName(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusForbidden, "unknown_host", fmt.Sprintf(
		"this page is not served under the name %.100q: use localhost, an IP address, or a name that was given to it", r.Host))
}

// fallback serves what was at this address before the page, to the same programs as before. It refuses only browsers
// that would change something for another page.
func (o *origins) fallback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		browser := r.Header.Get("origin") != "" || r.Header.Get("sec-fetch-site") != ""
		if o.strict && !o.known(r.Host) {
			o.refuseName(w, r)
			return
		}
		if !safe && browser && (!o.known(r.Host) || o.cross.Check(r) != nil) {
			refuse(w, http.StatusForbidden, "cross_origin", "a page of another origin may not ask this")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// known reports whether a Host is one of this page's own. A name that someone else can point to this machine is not: a
// page under that name would be of the same origin (DNS rebinding). Addresses cannot be pointed anywhere.
func (o *origins) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(o.names, func(name string) bool { return strings.EqualFold(name, host) })
}
