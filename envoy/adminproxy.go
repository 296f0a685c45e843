package envoy

import (
	"fmt"
	"net/http"
	"net/http/httputil"
)

// Handler returns a handler that passes each request on to the admin interface and streams its answer. Clients that
// reach the handler can end the Envoy and read its configuration: the caller decides who may.
func (a AdminInterface) Handler() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", a.host()
			r.Out.Host = a.host()
		},
		Transport:     a.transport(),
		FlushInterval: -1, // some of its pages never end
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, fmt.Sprintf("Envoy's admin interface does not answer: %v", err), http.StatusBadGateway)
		},
	}
}
