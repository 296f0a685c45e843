package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/sim"
)

// TestSlowClients: a client that sends a byte at a time is ended when its time is over; an answer may take longer.
func TestSlowClients(t *testing.T) { onProxies(t, slowClients) }

func slowClients(t *testing.T, run runProxy) {
	_, url := runSim(t, sim.Options{TokensPerSecond: 10})
	c := oneModel(url)
	c.RequestTimeout = config.Duration(time.Second)
	h := run(t, c)
	long := make(chan answer, 1)
	began := time.Now()
	go func() {
		long <- do(http1(t), http.MethodPost, h.URL+chatPath, nil, strings.NewReader(`{"stream":true,`+chatBody(caseModel, "A long answer of more words than there are tokens in two seconds, word after word after word")[1:]))
	}()
	const many = 20
	answers := make(chan answer, many)
	for range many {
		r := beginRequest(t, h, 1000)
		go func() {
			drip := time.NewTicker(50 * time.Millisecond)
			defer drip.Stop()
			for range drip.C {
				if _, err := r.conn.Write([]byte(" ")); err != nil {
					return
				}
			}
		}()
		go func() { answers <- r.answer() }()
	}
	for range many {
		select {
		case a := <-answers:
			refused(t, a, http.StatusRequestTimeout, "invalid_request")
		case <-time.After(patience):
			t.Fatal("a slow client is still held")
		}
	}
	a := <-long
	if r := read(a.body); a.err != nil || a.status != http.StatusOK || !r.last || r.failure != "" {
		t.Errorf("the long answer: %d %s %v", a.status, a.body, a.err)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the long answer took only %v, so it shows nothing", took)
	}
}

// TestConnectionLimit: connections beyond the limit are closed, those within it are served, Envoy's admin interface can be
// reached, and there is room again when clients have left.
func TestConnectionLimit(t *testing.T) { onProxies(t, connectionLimit) }

func connectionLimit(t *testing.T, run runProxy) {
	_, url := runSim(t, sim.Options{})
	c := oneModel(url)
	c.Envoy.MaxConnections = 10
	h := run(t, c)
	var open []net.Conn
	for range 9 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	client := http1(t)
	if a := ask(client, h.URL+chatPath, chatBody(caseModel, "Hi")); a.status != http.StatusOK {
		t.Fatalf("within the limit: %+v", a)
	}
	for range 5 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = conn.Write([]byte("GET /health HTTP/1.1\r\nhost: x\r\n\r\n")) // or one that is kept would be silent too, until its time is over
		if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Errorf("a connection beyond the limit is kept: %v", err)
		}
		_ = conn.Close()
	}
	if a := ask(client, h.URL+chatPath, chatBody(caseModel, "Hi")); a.status != http.StatusOK {
		t.Errorf("on a connection within the limit: %+v", a)
	}
	if h.Process != nil {
		if _, err := h.Process.Get(t.Context(), "/ready"); err != nil {
			t.Errorf("the admin interface: %v", err)
		}
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	for deadline := time.Now().Add(patience); ; { // the host has to see that they have gone
		if a := ask(http1(t), h.URL+chatPath, chatBody(caseModel, "Hi")); a.status == http.StatusOK {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("there is no room behind those who have left: %+v", a)
		}
	}
}

// TestFullHeap: bodies for another server are not held by the filter but by Envoy. When its heap is full new requests are
// refused, in the API's shape, the largest streams of HTTP/2 are cut, and it comes back by itself.
func TestFullHeap(t *testing.T) {
	_, url := runSim(t, sim.Options{})
	stuck, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close() // nobody accepts, so nothing is read
	c := oneModel(url)
	c.BodyLimit = 8 << 20
	c.Envoy.MaxHeap = 128 << 20
	c.Passthrough = "http://" + stuck.Addr().String()
	h := runEnvoy(t, c)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	const many = 40 // of which each is held with 8 MiB and more
	cut := make(chan error, many)
	for range many {
		client := http2Client(t)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+"/v1/files", bytes.NewReader(make([]byte, 16<<20)))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			response, err := client.Do(request)
			if err == nil {
				err = fmt.Errorf("status %d", response.StatusCode)
				_ = response.Body.Close()
			}
			cut <- err
		}()
	}
	client := http1(t)
	deadline := time.Now().Add(patience)
	overloaded := func() bool {
		a := ask(client, h.URL+chatPath, chatBody(caseModel, "Hi"))
		if a.status != http.StatusServiceUnavailable {
			return false
		}
		refused(t, a, http.StatusServiceUnavailable, "gateway_overloaded")
		if a.header.Get("retry-after") != "1" {
			t.Errorf("retry-after %q", a.header.Get("retry-after"))
		}
		return true
	}
	for !overloaded() {
		if time.Now().After(deadline) {
			t.Fatal("no request is refused")
		}
	}
	for overloaded() { // nobody has left: Envoy has made room by itself
		if time.Now().After(deadline) {
			t.Fatal("requests are still refused")
		}
	}
	if n := len(cut); n == 0 {
		t.Error("no stream is cut")
	} else {
		t.Logf("%d of %d streams are cut, the first: %v", n, many, <-cut)
	}
}

// TestHealthEndpoint: the gateway says by itself that it serves, and its log says nothing of it.
func TestHealthEndpoint(t *testing.T) {
	onProxies(t, func(t *testing.T, run runProxy) {
		c := oneModel("http://127.0.0.1:1")
		h := run(t, c)
		for range 3 {
			a := do(http1(t), http.MethodGet, h.URL+"/health", nil, nil)
			if a.status != http.StatusOK || a.body != `{"status":"ok"}` || a.header.Get("content-type") != "application/json" {
				t.Errorf("got %+v", a)
			}
		}
	})
	t.Run("log", func(t *testing.T) {
		c := oneModel("http://127.0.0.1:1")
		c.AccessLog = filepath.Join(t.TempDir(), "access.log")
		h := runEnvoy(t, c)
		do(http1(t), http.MethodGet, h.URL+"/health", nil, nil)
		do(http1(t), http.MethodGet, h.URL+"/other", nil, nil)
		deadline := time.Now().Add(patience)
		var log []byte
		for len(log) == 0 && time.Now().Before(deadline) { // it is flushed by a timer
			log, _ = os.ReadFile(c.AccessLog)
			time.Sleep(10 * time.Millisecond)
		}
		var line struct{ Status int }
		if err := json.Unmarshal(log, &line); err != nil || line.Status != http.StatusNotFound {
			t.Errorf("the log says\n%s(%v)", log, err)
		}
	})
	t.Run("fail", func(t *testing.T) {
		_, url := runSim(t, sim.Options{})
		h := runEnvoy(t, oneModel(url))
		tell := func(what string) {
			t.Helper()
			if a := do(http1(t), http.MethodPost, "http://"+h.Process.Admin()+"/healthcheck/"+what, nil, nil); a.status != http.StatusOK {
				t.Fatalf("%s: %+v", what, a)
			}
		}
		tell("fail")
		for _, client := range []*http.Client{http1(t), http2Client(t)} {
			refused(t, do(client, http.MethodGet, h.URL+"/health", nil, nil), http.StatusServiceUnavailable, "server_unavailable")
		}
		if a := ask(http1(t), h.URL+chatPath, chatBody(caseModel, "Hi")); a.status != http.StatusOK {
			t.Errorf("a client that comes all the same: %+v", a)
		}
		tell("ok")
		if a := do(http1(t), http.MethodGet, h.URL+"/health", nil, nil); a.status != http.StatusOK || a.body != `{"status":"ok"}` {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("passthrough", func(t *testing.T) {
		through := newCapture(t)
		c := oneModel("http://127.0.0.1:1")
		c.Passthrough, c.PassthroughPaths = "http://"+through.address, []string{"/health"}
		h := runEnvoy(t, c)
		if a := do(http1(t), http.MethodGet, h.URL+"/health", nil, nil); a.status != 207 || len(through.take()) != 1 {
			t.Errorf("an operator's own: %+v", a)
		}
		do(http1(t), http.MethodPost, "http://"+h.Process.Admin()+"/healthcheck/fail", nil, nil)
		if a := do(http1(t), http.MethodGet, h.URL+"/health", nil, nil); a.status != 207 || len(through.take()) != 1 {
			t.Errorf("an operator's own, of an Envoy that is being stopped: %+v", a)
		}
	})
}

// TestCORS: browsers let the pages of the configured origins call the API and read its errors, and those of no other.
func TestCORS(t *testing.T) {
	_, url := runSim(t, sim.Options{})
	c := oneModel(url)
	c.CORSOrigins = []string{"https://chat.example.com"}
	h := runEnvoy(t, c)
	client := http1(t)
	from := func(origin string) http.Header {
		return http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization,x-stainless-lang"}}
	}
	a := do(client, http.MethodOptions, h.URL+chatPath, from("https://chat.example.com"), nil)
	if a.status != http.StatusOK || a.header.Get("access-control-allow-origin") != "https://chat.example.com" ||
		!strings.Contains(a.header.Get("access-control-allow-headers"), "authorization") || !strings.Contains(a.header.Get("access-control-allow-methods"), "POST") {
		t.Errorf("preflight: %+v", a)
	}
	if a := do(client, http.MethodOptions, h.URL+chatPath, from("https://evil.example.com"), nil); a.header.Get("access-control-allow-origin") != "" {
		t.Errorf("another origin's preflight: %+v", a)
	}
	for body, status := range map[string]int{chatBody(caseModel, "Hi"): 200, chatBody("nobody", "Hi"): 404, "{": 400} {
		header := http.Header{"Origin": {"https://chat.example.com"}, "Content-Type": {"application/json"}}
		a := do(client, http.MethodPost, h.URL+chatPath, header, strings.NewReader(body))
		if a.status != status || a.header.Get("access-control-allow-origin") != "https://chat.example.com" {
			t.Errorf("%s: %+v", body, a)
		}
	}
}

// beginRequestTo is beginRequest for another path.
func beginRequestTo(t *testing.T, h *hosts.Host, path string, length int) *halfRequest {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	r := &halfRequest{conn: conn}
	t.Cleanup(r.leave)
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nhost: held\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n", path, length); err != nil {
		t.Fatal(err)
	}
	return r
}
