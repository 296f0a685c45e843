//go:build e2e

package limits

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestSlowClients: a client that sends a byte at a time is ended when its time is over; an answer may take longer.
func TestSlowClients(t *testing.T) { lab.OnProxies(t, slowClients) }

func slowClients(t *testing.T, run lab.RunProxy) {
	_, url := lab.RunSim(t, sim.Options{TokensPerSecond: 10})
	c := lab.OneModel(url)
	c.RequestTimeout = config.Duration(time.Second)
	h := run(t, c)
	long := make(chan lab.Answer, len(generatingPaths))
	began := time.Now()
	for _, path := range generatingPaths {
		go func() {
			long <- lab.Do(lab.HTTP1(t), http.MethodPost, h.URL+path, nil,
				strings.NewReader(`{"stream":true,`+lab.BodyOf(path, lab.Model, "A long answer of more words than there are "+
					"tokens in two seconds, word after word after word")[1:]))
		}()
	}
	const many = 20
	answers := make(chan lab.Answer, many)
	for range uploading {
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
	for range uploading {
		select {
		case a := <-answers:
			lab.WantRefused(t, a, http.StatusRequestTimeout, "invalid_request")
		case <-time.After(lab.Patience):
			t.Fatal("a slow client is still held")
		}
	}
	for range generatingPaths {
		a := <-long
		if r := lab.Read(a.Body); a.Err != nil || a.Status != http.StatusOK || !r.Last || r.Failure != "" || r.Text == "" {
			t.Errorf("the long answer: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the long answer took only %v, so it shows nothing", took)
	}
}

// TestConnectionLimit: connections beyond the limit are closed, those within it are served, Envoy's admin interface can
// be reached, and there is room again when clients have left.
func TestConnectionLimit(t *testing.T) { lab.OnProxies(t, connectionLimit) }

func connectionLimit(t *testing.T, run lab.RunProxy) {
	_, url := lab.RunSim(t, sim.Options{})
	c := lab.OneModel(url)
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
	client := lab.HTTP1(t)
	if a := lab.Ask(client, h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")); a.Status != http.StatusOK {
		t.Fatalf("within the limit: %+v", a)
	}
	for range 5 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(lab.Patience))
		// or one that is kept would be silent too, until its time is over
		_, _ = conn.Write([]byte("GET /health HTTP/1.1\r\nhost: x\r\n\r\n"))
		if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Errorf("a connection beyond the limit is kept: %v", err)
		}
		_ = conn.Close()
	}
	if a := lab.Ask(client, h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")); a.Status != http.StatusOK {
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
	for deadline := time.Now().Add(lab.Patience); ; { // the host has to see that they have gone
		if a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")); a.Status == http.StatusOK {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("there is no room behind those who have left: %+v", a)
		}
		time.Sleep(lab.Pause)
	}
}

// TestFullHeap: bodies for another server are not held by the filter but by Envoy, which is given 128 MiB here.
func TestFullHeap(t *testing.T) {
	t.Run("HTTP/2", fullHeapHTTP2)
	t.Run("HTTP/1.1", fullHeapHTTP1)
}

// uploads are the bodies of clients that go to a server which reads nothing. Each upload's end comes out of ended.
type uploads struct {
	host  *hosts.Host
	ended chan error
	leave func() // lets all clients go
}

// uploading is how many clients upload at once.
const uploading = 40

// startUploads starts an Envoy and the clients, and sends no byte of a body until all requests have begun, so that no
// request is refused.
func startUploads(t *testing.T, client func() *http.Client) *uploads {
	t.Helper()
	_, url := lab.RunSim(t, sim.Options{})
	stuck, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stuck.Close() }) // nothing is accepted, so nothing is read
	c := lab.OneModel(url)
	c.BodyLimit, c.Envoy.MaxHeap = 8<<20, 128<<20
	c.StallTimeout = config.Duration(2 * time.Second) // on which Envoy's limit for an idle stream depends
	c.Passthrough = "http://" + stuck.Addr().String()
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	u := &uploads{lab.RunEnvoy(t, c), make(chan error, uploading), leave}
	body, begin := make([]byte, 64<<20), make(chan struct{}) // more than Envoy and the kernel take of one
	for range uploading {
		request, err := http.NewRequestWithContext(
			ctx, http.MethodPost, u.host.URL+"/v1/files", &gated{begin, bytes.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		client := client()
		go func() {
			response, err := client.Do(request)
			if err == nil {
				err = fmt.Errorf("status %d", response.StatusCode)
				_ = response.Body.Close()
			}
			u.ended <- err
		}()
	}
	deadline := time.Now().Add(lab.Patience)
	for running := 0; running < uploading; {
		if running, err = u.host.Process.Streams(ctx); err != nil || time.Now().After(deadline) {
			t.Fatalf("%d of %d uploads have begun: %v", running, uploading, err)
		}
	}
	close(begin)
	return u
}

// fullHeapHTTP2: the largest streams are cut, and the heap has room again although no client has left. Smaller ones end
// when nothing has come or gone for a time.
func fullHeapHTTP2(t *testing.T) {
	t.Parallel()
	u := startUploads(t, func() *http.Client { return lab.HTTP2(t) })
	cut := uint64(0)
	for late, ended := time.After(lab.Patience), 0; ended < uploading; ended++ {
		select {
		case err := <-u.ended:
			var reset http2.StreamError
			if errors.As(err, &reset) {
				cut++
			} else if err.Error() != "status 408" {
				t.Errorf("an upload has ended by %v", err)
			}
		case <-late:
			t.Fatalf("%d of %d uploads have ended", ended, uploading)
		}
	}
	u.answersAgain(t)
	if n := lab.Statistic(t, u.host, "envoy.overload_actions.reset_high_memory_stream.count"); cut == 0 || n < cut {
		t.Errorf("Envoy has cut %d streams, and clients have seen %d cut", n, cut)
	}
	t.Logf("%d of %d uploads were cut", cut, uploading)
}

// fullHeapHTTP1: Envoy does not know how much a stream of HTTP/1.1 holds, and cuts none. New requests are refused. When
// the clients leave Envoy does not see it, since it has stopped reading; the limit for an idle stream ends their
// requests.
func fullHeapHTTP1(t *testing.T) {
	t.Parallel()
	u := startUploads(t, func() *http.Client { return lab.HTTP1(t) })
	for deadline := time.Now().Add(lab.Patience); !u.refuses(t); {
		if time.Now().After(deadline) {
			t.Fatal("no request is refused")
		}
		time.Sleep(lab.Pause)
	}
	u.leave()
	u.answersAgain(t)
	if n := lab.Statistic(t, u.host, "envoy.overload_actions.reset_high_memory_stream.count"); n != 0 {
		t.Errorf("Envoy has cut %d streams", n)
	}
}

func (u *uploads) answersAgain(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(lab.Patience); u.refuses(t); {
		if time.Now().After(deadline) {
			t.Fatal("requests are still refused")
		}
		time.Sleep(lab.Pause)
	}
}

// refuses reports whether Envoy refuses a request, which it does in the API's shape. A request for which a busy machine
// needs longer than the short limit for a silent server is not refused either.
func (u *uploads) refuses(t *testing.T) bool {
	t.Helper()
	a := lab.Ask(lab.HTTP1(t), u.host.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi"))
	if a.Status == http.StatusOK || a.Status == http.StatusGatewayTimeout {
		return false
	}
	lab.WantRefused(t, a, http.StatusTooManyRequests, "gateway_overloaded")
	if a.Header.Get("retry-after") != "1" {
		t.Errorf("retry-after %q", a.Header.Get("retry-after"))
	}
	return true
}

// gated is a body that begins when the gate is open.
type gated struct {
	gate <-chan struct{}
	io.Reader
}

// Read implements io.Reader.
func (g *gated) Read(p []byte) (int, error) {
	<-g.gate
	return g.Reader.Read(p)
}

// TestHealthEndpoint: the gateway says by itself that it serves, and its log says nothing of it.
func TestHealthEndpoint(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		c := lab.OneModel("http://127.0.0.1:1")
		h := run(t, c)
		for range 3 {
			a := lab.Do(lab.HTTP1(t), http.MethodGet, h.URL+"/health", nil, nil)
			if a.Status != http.StatusOK || a.Body != `{"status":"ok"}` || a.Header.Get("content-type") != "application/json" {
				t.Errorf("got %+v", a)
			}
		}
	})
	t.Run("log", func(t *testing.T) {
		c := lab.OneModel("http://127.0.0.1:1")
		c.AccessLog = filepath.Join(t.TempDir(), "access.log")
		h := lab.RunEnvoy(t, c)
		lab.Do(lab.HTTP1(t), http.MethodGet, h.URL+"/health", nil, nil)
		lab.Do(lab.HTTP1(t), http.MethodGet, h.URL+"/other", nil, nil)
		deadline := time.Now().Add(lab.Patience)
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
		_, url := lab.RunSim(t, sim.Options{})
		h := lab.RunEnvoy(t, lab.OneModel(url))
		tell := func(what string) {
			t.Helper()
			if a := lab.Do(lab.HTTP1(t), http.MethodPost, "http://"+h.Process.Admin()+"/healthcheck/"+what, nil,
				nil); a.Status != http.StatusOK {
				t.Fatalf("%s: %+v", what, a)
			}
		}
		tell("fail")
		for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
			lab.WantRefused(t, lab.Do(client, http.MethodGet, h.URL+"/health", nil, nil), http.StatusServiceUnavailable,
				"server_unavailable")
		}
		if a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")); a.Status != http.StatusOK {
			t.Errorf("a client that comes all the same: %+v", a)
		}
		tell("ok")
		if a := lab.Do(lab.HTTP1(t), http.MethodGet, h.URL+"/health", nil, nil); a.Status != http.StatusOK ||
			a.Body != `{"status":"ok"}` {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("passthrough", func(t *testing.T) {
		through := lab.RunCapture(t)
		c := lab.OneModel("http://127.0.0.1:1")
		c.Passthrough, c.PassthroughPaths = "http://"+through.Address, []string{"/health"}
		h := lab.RunEnvoy(t, c)
		if a := lab.Do(lab.HTTP1(t), http.MethodGet, h.URL+"/health", nil, nil); a.Status != 207 || len(through.Take()) != 1 {
			t.Errorf("an operator's own: %+v", a)
		}
		lab.Do(lab.HTTP1(t), http.MethodPost, "http://"+h.Process.Admin()+"/healthcheck/fail", nil, nil)
		if a := lab.Do(lab.HTTP1(t), http.MethodGet, h.URL+"/health", nil, nil); a.Status != 207 || len(through.Take()) != 1 {
			t.Errorf("an operator's own, of an Envoy that is being stopped: %+v", a)
		}
	})
}

// TestCORS: browsers let the pages of the configured origins call the API and read its errors, and no other pages.
func TestCORS(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	c := lab.OneModel(url)
	c.CORSOrigins = []string{"https://chat.example.com"}
	h := lab.RunEnvoy(t, c)
	client := lab.HTTP1(t)
	from := func(origin string) http.Header {
		return http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"POST"},
			"Access-Control-Request-Headers": {"authorization,x-stainless-lang"}}
	}
	a := lab.Do(client, http.MethodOptions, h.URL+lab.ChatPath, from("https://chat.example.com"), nil)
	if a.Status != http.StatusOK || a.Header.Get("access-control-allow-origin") != "https://chat.example.com" ||
		!strings.Contains(a.Header.Get("access-control-allow-headers"), "authorization") ||
		!strings.Contains(a.Header.Get("access-control-allow-methods"), "POST") {
		t.Errorf("preflight: %+v", a)
	}
	if a := lab.Do(client, http.MethodOptions, h.URL+lab.ChatPath, from("https://evil.example.com"), nil); a.Header.Get(
		"access-control-allow-origin") != "" {
		t.Errorf("another origin's preflight: %+v", a)
	}
	for body, status := range map[string]int{
		lab.ChatBody(lab.Model, "Hi"): 200, lab.ChatBody("nobody", "Hi"): 404, "{": 400} {
		header := http.Header{"Origin": {"https://chat.example.com"}, "Content-Type": {"application/json"}}
		a := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, header, strings.NewReader(body))
		if a.Status != status || a.Header.Get("access-control-allow-origin") != "https://chat.example.com" {
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
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nhost: held\r\ncontent-type: "+
		"application/json\r\ncontent-length: %d\r\n\r\n", path, length); err != nil {
		t.Fatal(err)
	}
	return r
}
