package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

const (
	// gatewayPrefix begins the paths that go to the gateway. The rest of the path is the gateway's.
	gatewayPrefix = "/api/gateway"
	// maxPlaying is how many requests of playgrounds may run at once.
	maxPlaying = 64
	// maxPrompt is the largest body of a request, in bytes.
	maxPrompt          = 32 << 20
	gatewayDialTimeout = 5 * time.Second
	requestIDHeader    = "x-request-id"
)

// sentHeaders are the only headers of a browser that the gateway gets.
var sentHeaders = []string{"accept", "authorization", "content-type", "x-harmony-events", "anthropic-version"}

// gateway passes the playground's requests to the gateway. A browser could not ask the gateway itself: it is another
// origin, and the key must not be in the browser.
type gateway struct {
	proxy   *httputil.ReverseProxy
	playing chan struct{} // holds a value for each running request
	timeout time.Duration // how long a browser may take to read what was written
}

// CheckGateway returns an error if a gateway's URL is wrong.
func CheckGateway(at string) error {
	_, err := parseGateway(at)
	return err
}

func parseGateway(at string) (*url.URL, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("the gateway's URL %q is not http://HOST:PORT or https://HOST:PORT", at)
	}
	return u, nil
}

// newGateway returns a handler that answers with an error if the gateway's URL is wrong.
func newGateway(at, key string) http.Handler {
	target, err := parseGateway(at)
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusBadGateway, "gateway_unreachable", err.Error())
		})
	}
	return &gateway{
		playing: make(chan struct{}, maxPlaying),
		timeout: writeTimeout,
		proxy: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { rewrite(r, target, key) },
			// No proxy of the environment: the gateway is on this machine or in its network.
			Transport: final{&http.Transport{
				DialContext:           (&net.Dialer{Timeout: gatewayDialTimeout}).DialContext,
				TLSHandshakeTimeout:   gatewayDialTimeout,
				MaxIdleConnsPerHost:   maxPlaying,
				IdleConnTimeout:       time.Minute,
				DisableCompression:    true, // what is compressed is not seen as it comes
				ExpectContinueTimeout: time.Second,
			}},
			FlushInterval:  -1,
			ModifyResponse: onlyAnswer,
			ErrorLog:       log.New(io.Discard, "", 0), // the browser gets the error
			ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
				var large *http.MaxBytesError
				switch {
				case r.Context().Err() != nil: // the browser has left
				case errors.As(err, &large):
					refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", fmt.Sprintf(
						"the playground sends at most %d bytes", large.Limit))
				default:
					refuse(w, http.StatusBadGateway, "gateway_unreachable", fmt.Sprintf("the gateway %s does not answer: %v", at,
						err))
				}
			},
		},
	}
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(r.URL.Path, gatewayPrefix)
	if r.URL.RawPath != "" || path.Clean(rest) != rest || !strings.HasPrefix(rest, "/v1/") {
		refuse(w, http.StatusNotFound, "not_found", "the playground may ask only for plain paths under /v1/")
		return
	}
	select {
	case g.playing <- struct{}{}:
		defer func() { <-g.playing }()
	default:
		refuse(w, http.StatusTooManyRequests, "too_many_requests", fmt.Sprintf(
			"%d requests of playgrounds run already; wait for one to end", maxPlaying))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPrompt)
	g.proxy.ServeHTTP(newImpatient(w, g.timeout), r)
}

// final drops what a gateway says before its response, such as 103: the proxy would pass on all of its headers, and drop
// the page's own.
type final struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (f final) RoundTrip(r *http.Request) (*http.Response, error) {
	return f.RoundTripper.RoundTrip(r.WithContext(unobserved{r.Context()}))
}

// unobserved is a context without values, so that nobody is told of how a request goes.
type unobserved struct{ context.Context }

// Value implements [context.Context].
func (unobserved) Value(any) any { return nil }

// rewrite turns a browser's request into one to the gateway.
func rewrite(r *httputil.ProxyRequest, target *url.URL, key string) {
	r.Out.URL = &url.URL{Scheme: target.Scheme, Host: target.Host,
		Path: strings.TrimPrefix(r.In.URL.Path, gatewayPrefix), RawQuery: r.In.URL.RawQuery}
	r.Out.Host = ""
	r.Out.Header = http.Header{"User-Agent": {"harmony-page"}}
	for _, name := range sentHeaders {
		if value := r.In.Header.Get(name); value != "" {
			r.Out.Header.Set(name, value)
		}
	}
	if id := r.In.Header.Get(requestIDHeader); record.IsID(id) {
		r.Out.Header.Set(requestIDHeader, id)
	}
	if key != "" {
		r.Out.Header.Set(tap.KeyHeader, key)
	}
}

// onlyAnswer removes from the gateway's response what could change the page: cookies, redirects, requests for a
// password, rights of other origins. A browser does not run what it gets from here.
func onlyAnswer(r *http.Response) error {
	kept := http.Header{}
	for name, values := range r.Header {
		lower := strings.ToLower(name)
		if lower == "content-type" || lower == "content-encoding" || lower == "content-length" || lower == "retry-after" ||
			strings.HasPrefix(lower, "x-") && !browserHeaders[lower] || strings.HasPrefix(lower, "openai-") {
			kept[name] = values
		}
	}
	r.Header, r.Trailer = kept, nil
	return nil
}

// browserHeaders are headers that mean something to a browser, and are the page's own.
var browserHeaders = map[string]bool{"x-content-type-options": true, "x-frame-options": true,
	"x-xss-protection": true, "x-dns-prefetch-control": true, "x-ua-compatible": true}
