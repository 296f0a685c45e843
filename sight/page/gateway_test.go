package page

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// TestGatewayStreams: what the gateway sends is in the browser before the gateway goes on, and a browser that leaves
// ends the gateway's work.
func TestGatewayStreams(t *testing.T) {
	read, left := make(chan struct{}), make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-request-id", r.Header.Get("x-request-id"))
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-read
		}
		<-r.Context().Done()
		close(left)
	}))
	defer gateway.Close()
	s := source()
	s.Gateway = gateway.URL
	server := serve(t, s)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/api/gateway/v1/responses",
		strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-request-id", "from-the-browser.1")
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if id := response.Header.Get("x-request-id"); id != "from-the-browser.1" {
		t.Errorf("the request id is %q", id)
	}
	lines := bufio.NewScanner(response.Body)
	for i := range 3 {
		if lines.Scan(); lines.Text() != fmt.Sprintf("data: %d", i) {
			t.Fatalf("got %q, %v", lines.Text(), lines.Err())
		}
		lines.Scan()
		read <- struct{}{}
	}
	leave()
	<-left
}

// TestGatewayHeaders: the gateway gets the key and what a client sends, and the browser gets the answer and nothing that
// changes the page.
func TestGatewayHeaders(t *testing.T) {
	var got *http.Request
	var body []byte
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		for name, value := range map[string]string{
			"set-cookie": "a=b", "location": "http://evil.example", "access-control-allow-origin": "*",
			"www-authenticate": "Basic", "content-type": "text/html", "content-security-policy": "default-src *",
			"x-content-type-options": "none", "x-ratelimit-remaining": "3", "openai-model": "m", "retry-after": "1",
			"clear-site-data": "*", "refresh": "0; url=http://evil.example",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusFound)
	}))
	defer gateway.Close()
	s := source()
	s.Gateway, s.TapKey = gateway.URL, "0123456789abcdef"
	server := serve(t, s)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/gateway/v1/chat/completions?a=b",
		strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"authorization": "Bearer k", "content-type": "application/json", "anthropic-version": "2023-06-01", "cookie": "c=d",
		"x-harmony-tap":               "browser's",
		"x-harmony-responses-service": "decline", "x-request-id": "no id/..", "connection": "upgrade", "upgrade": "websocket",
	} {
		r.Header.Set(name, value)
	}
	response, err := server.Client().Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if got.URL.String() != "/v1/chat/completions?a=b" || string(body) != `{"model":"m"}` {
		t.Errorf("the gateway got %s %s", got.URL, body)
	}
	for name, want := range map[string]string{"authorization": "Bearer k", "content-type": "application/json",
		"anthropic-version": "2023-06-01", tap.KeyHeader: s.TapKey, "cookie": "", "x-harmony-responses-service": "",
		"x-request-id": "", "upgrade": "",
		"x-forwarded-for": ""} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("the gateway got %s: %q", name, value)
		}
	}
	for name, want := range map[string]string{"content-type": "text/html", "x-ratelimit-remaining": "3",
		"openai-model": "m", "retry-after": "1", "content-security-policy": policy, "x-content-type-options": "nosniff",
		"set-cookie": "", "location": "", "access-control-allow-origin": "", "www-authenticate": "", "clear-site-data": "",
		"refresh": "", tap.KeyHeader: ""} {
		if values := response.Header.Values(name); strings.Join(values, "|") != want {
			t.Errorf("the browser got %s: %q", name, values)
		}
	}
}

// TestGatewayRefusals: what is refused, in words.
func TestGatewayRefusals(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, r.URL.Path, err)
	}))
	defer gateway.Close()
	s := source()
	s.Gateway = gateway.URL
	server := serve(t, s)
	for _, path := range []string{"/stats", "/v1", "/v2/responses", "/v1/..%2fstats", "/v1/%2e%2e%2fstats"} {
		if status, body := ask(t, server, http.MethodPost, "/api/gateway"+path); status != http.StatusNotFound ||
			!strings.Contains(body, `"code":"not_found"`) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := ask(t, server, http.MethodGet, "/api/gateway/v1/models"); status != http.StatusNotFound {
		t.Errorf("GET: %d %s", status, body)
	}
	large := io.LimitReader(zeros{}, maxPrompt+1)
	response, err := server.Client().Post(server.URL+"/api/gateway/v1/responses", "application/json", large)
	if err != nil || response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: %+v, %v", response, err)
	}
	gateway.Close()
	status, body := ask(t, server, http.MethodPost, "/api/gateway/v1/responses")
	if status != http.StatusBadGateway || !strings.Contains(body, "connection refused") ||
		!strings.Contains(body, gateway.URL) {
		t.Errorf("a gateway that is down: %d %s", status, body)
	}
	s.Gateway = "ftp://nowhere"
	if status, body := ask(t, serve(t, s), http.MethodPost, "/api/gateway/v1/responses"); status != http.StatusBadGateway ||
		!strings.Contains(body, "ftp://nowhere") {
		t.Errorf("a wrong URL: %d %s", status, body)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestGatewayLimit: one request more than there may be is refused, and gets its turn when another has ended.
func TestGatewayLimit(t *testing.T) {
	here, end := make(chan struct{}), make(chan struct{})
	gateway := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		here <- struct{}{}
		<-end
	}))
	defer gateway.Close()
	s := source()
	s.Gateway = gateway.URL
	server := serve(t, s)
	ended := make(chan error, maxPlaying)
	for range maxPlaying {
		go func() {
			response, err := server.Client().Post(server.URL+"/api/gateway/v1/responses", "", nil)
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
			}
			ended <- err
		}()
		<-here
	}
	if status, body := ask(t, server, http.MethodPost, "/api/gateway/v1/responses"); status != http.StatusTooManyRequests {
		t.Errorf("one too many: %d %s", status, body)
	}
	close(end)
	for range maxPlaying {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	go func() { <-here }()
	if status, body := ask(t, server, http.MethodPost, "/api/gateway/v1/responses"); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, body)
	}
}

// TestGatewayStalls: a browser that does not read its answer ends the gateway's work.
func TestGatewayStalls(t *testing.T) {
	left := make(chan struct{})
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 1<<16))
		}
		close(left)
	}))
	defer endless.Close()
	proxy := newGateway(endless.URL, "").(*gateway)
	proxy.timeout = 10 * time.Millisecond
	server := httptest.NewServer(proxy)
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST /api/gateway/v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	<-left
}

// TestGatewayHints: what a gateway says before its response does not come to the browser, and takes no header of the
// page away.
func TestGatewayHints(t *testing.T) {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("set-cookie", "a=b")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("set-cookie")
		_, _ = io.WriteString(w, "{}")
	}))
	defer gateway.Close()
	s := source()
	s.Gateway = gateway.URL
	server := serve(t, s)
	hinted := false
	trace := &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error { hinted = true; return nil }}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost,
		server.URL+"/api/gateway/v1/responses", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if hinted || response.StatusCode != http.StatusOK || response.Header.Get("content-security-policy") != policy {
		t.Errorf("hints: %v, %d %v", hinted, response.StatusCode, response.Header)
	}
}
