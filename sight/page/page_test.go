package page

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/sight/history"
)

// source is a page's source with everything that needs no gateway.
func source() Source {
	return Source{
		About:   func() About { return About{Host: "envoy", Version: "v1", Admin: true} },
		Status:  func() any { return map[string]string{"version": "v1"} },
		History: history.New(history.Options{}),
		Fallback: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "fallback "+r.Method+" "+r.URL.Path)
		}),
	}
}

// serve serves a page until the test ends. Then its viewers' streams end too.
func serve(t *testing.T, s Source) *httptest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(Handler(s))
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(func() {
		cancel()
		server.Close()
	})
	return server
}

// ask sends a request with headers, "Host" among them, and returns the status and the body.
func ask(t *testing.T, server *httptest.Server, method, path string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestAPI(t *testing.T) {
	server := serve(t, source())
	for path, want := range map[string]string{
		"/":                `<!doctype html>`,
		"/page/index.html": `<!doctype html>`,
		"/api/about":       `{"host":"envoy","version":"v1","gateway":"","models":[],"records":false,"admin":true}`,
		"/api/status":      `{"version":"v1"}`,
		"/api/history":     `{"interval_s":5,"times":[],"series":[]}`,
		"/api/numbers":     `{"minutes":5,"known":0,"since":0,"rows":[]}`,
		"/stats":           `fallback GET /stats`,
	} {
		if status, body := ask(t, server, http.MethodGet, path); status != http.StatusOK || !strings.HasPrefix(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"/api/nothing", "/page/nothing.js", "/page/", "/page/..%2f..%2fgo.mod"} {
		var failed struct {
			Error struct{ Message, Code string }
		}
		status, body := ask(t, server, http.MethodGet, path)
		if err := json.Unmarshal([]byte(body), &failed); err != nil || status != http.StatusNotFound ||
			failed.Error.Message == "" || failed.Error.Code != "not_found" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestOrigins: what browsers may ask, under which names, and for which other pages.
func TestOrigins(t *testing.T) {
	s := source()
	s.Names = []string{"gateway.example"}
	server := serve(t, s)
	own := server.Listener.Addr().String()
	for _, tt := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "/api/status", nil, 200},
		{"GET", "/api/status", []string{"Host", "localhost:9901"}, 200},
		{"GET", "/api/status", []string{"Host", "LOCALHOST.:9901"}, 200},
		{"GET", "/api/status", []string{"Host", "[::1]:9901"}, 200},
		{"GET", "/api/status", []string{"Host", "[::1]"}, 200},
		{"GET", "/api/status", []string{"Host", "10.1.2.3"}, 200},
		{"GET", "/api/status", []string{"Host", "Gateway.example:80"}, 200},
		{"GET", "/api/status", []string{"sec-fetch-site", "same-origin"}, 200},
		// Rebinding: a name of someone else's that points here.
		{"GET", "/", []string{"Host", "rebound.example:9901"}, 403},
		{"GET", "/api/status", []string{"Host", "rebound.example"}, 403},
		{"GET", "/page/index.html", []string{"Host", "rebound.example"}, 403},
		{"GET", "/api/status", []string{"Host", "localhost.rebound.example"}, 403},
		{"GET", "/api/status", []string{"Host", "127.0.0.1.rebound.example"}, 403},
		{"POST", "/stats", []string{"Host", "rebound.example", "origin", "http://rebound.example"}, 403},
		// Pages of other origins.
		{"GET", "/api/status", []string{"sec-fetch-site", "cross-site"}, 403},
		{"GET", "/api/live", []string{"sec-fetch-site", "same-site"}, 403},
		{"GET", "/page/index.html", []string{"sec-fetch-site", "cross-site"}, 403},
		{"POST", "/api/gateway/v1/responses", []string{"origin", "http://evil.example"}, 403},
		{"POST", "/api/gateway/v1/responses", []string{"origin", "null"}, 403},
		{"POST", "/drain_listeners", []string{"origin", "http://evil.example"}, 403},
		{"POST", "/drain_listeners", []string{"sec-fetch-site", "cross-site"}, 403},
		{"POST", "/drain_listeners", []string{"origin", "http://localhost:1"}, 403},
		// A link to the page, and programs that are no browsers.
		{"GET", "/", []string{"sec-fetch-site", "cross-site", "sec-fetch-mode", "navigate"}, 200},
		{"GET", "/stats", []string{"Host", "harmony.monitoring.svc:9901"}, 200},
		{"POST", "/drain_listeners", []string{"Host", "harmony.monitoring.svc:9901"}, 200},
		{"POST", "/drain_listeners", []string{"origin", "http://" + own}, 200},
	} {
		if status, body := ask(t, server, tt.method, tt.path, tt.headers...); status != tt.want {
			t.Errorf("%s %s %v: %d %s", tt.method, tt.path, tt.headers, status, body)
		}
	}
}

func TestHeaders(t *testing.T) {
	server := serve(t, source())
	for _, path := range []string{"/", "/page/index.html", "/api/about", "/api/nothing"} {
		response, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"content-security-policy": policy, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
			"set-cookie": "", "access-control-allow-origin": "",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
	response, err := server.Client().Get(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	status, _ := ask(t, server, http.MethodGet, "/", "if-none-match", response.Header.Get("etag"))
	if status != http.StatusNotModified {
		t.Errorf("the same file again: %d", status)
	}
}
