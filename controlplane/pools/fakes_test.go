package pools

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// fakeEngine is a server that answers /v1/models as a test has set it.
type fakeEngine struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request)
	// completes answers /v1/completions. nil: it is not served.
	completes func(w http.ResponseWriter, r *http.Request)
	requests  int
	lastHost  string
	lastAuth  string
}

func newEngine(t *testing.T) *fakeEngine {
	e := &fakeEngine{answer: listsModels("m")}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.requests++
	e.lastHost, e.lastAuth = r.Host, r.Header.Get("Authorization")
	answer, completes := e.answer, e.completes
	e.mu.Unlock()
	if completes != nil && r.URL.Path == "/v1/completions" && r.Method == http.MethodPost {
		completes(w, r)
		return
	}
	if r.URL.Path != "/v1/models" || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	answer(w, r)
}

func (e *fakeEngine) set(answer func(http.ResponseWriter, *http.Request)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// serve sets how the engine answers /v1/completions.
func (e *fakeEngine) serve(completes func(http.ResponseWriter, *http.Request)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.completes = completes
}

func (e *fakeEngine) endpoint(t *testing.T) config.Endpoint { return endpoint(t, e.URL) }

func listsModels(models ...string) func(http.ResponseWriter, *http.Request) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	list := struct {
		Data []model `json:"data"`
	}{Data: []model{}}
	for _, m := range models {
		list.Data = append(list.Data, model{m, "model"})
	}
	text, _ := json.Marshal(list)
	return replies(http.StatusOK, string(text))
}

func replies(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// repliesRaw returns a handler that writes text, which need not be HTTP, and closes the connection.
func repliesRaw(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte(text))
		c.Close()
	}
}

func endpoint(t *testing.T, url string) config.Endpoint {
	t.Helper()
	e, err := config.ParseURL(url)
	must(t, err)
	return e
}

func endpoints(t *testing.T, urls ...string) []config.Endpoint {
	t.Helper()
	var all []config.Endpoint
	for _, u := range urls {
		all = append(all, endpoint(t, u))
	}
	return all
}

// zone stands in for a name service.
type zone struct {
	mu      sync.Mutex
	names   map[string][]string // a name that is missing here is an unknown host
	err     error               // the error of every lookup
	lookups int
}

func (z *zone) lookup(_ context.Context, network, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.lookups++
	if z.err != nil {
		return nil, z.err
	}
	texts, ok := z.names[host]
	if !ok || network != "ip" {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var found []netip.Addr
	for _, text := range texts {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

// change alters the zone, and waits until every name has been looked up again.
func (z *zone) change(t *testing.T, alter func()) {
	t.Helper()
	z.mu.Lock()
	alter()
	lookups := z.lookups
	z.mu.Unlock()
	eventually(t, "a lookup", func() bool {
		z.mu.Lock()
		defer z.mu.Unlock()
		return z.lookups > lookups+1
	})
}

// logLines is a log.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logLines) count(part string) int { return strings.Count(l.String(), part) }

// watcher returns a Watcher with short intervals, and its log.
func watcher(t *testing.T, z *zone) (*Watcher, *logLines) {
	t.Helper()
	log := &logLines{}
	o := Options{DNSInterval: 10 * time.Millisecond, ReadyInterval: 10 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if z != nil {
		o.Lookup = z.lookup
	}
	w := New(o)
	t.Cleanup(w.Close)
	return w, log
}

// addresses returns the addresses of the pool p, as text.
func addresses(w *Watcher) string {
	var all []string
	for _, s := range w.Servers()["p"].Servers {
		all = append(all, s.Address.String())
	}
	return strings.Join(all, " ")
}

// awaitAddresses waits until the pool p has these addresses. It looks only when Changed has a value.
func awaitAddresses(t *testing.T, w *Watcher, want string) {
	t.Helper()
	deadline := time.After(testTimeout)
	for addresses(w) != want {
		select {
		case <-w.Changed():
		case <-deadline:
			t.Fatalf("got %s, want %s", addresses(w), want)
		}
	}
}

// server returns the only server of the pool p.
func server(t *testing.T, w *Watcher) Server {
	t.Helper()
	all := w.Servers()["p"].Servers
	if len(all) != 1 {
		t.Fatalf("there are %d servers", len(all))
	}
	return all[0]
}

// testTimeout is how long a test waits on a busy machine before it fails.
const testTimeout = time.Minute

// eventually polls until is reports true, for conditions that no channel reports.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testTimeout)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("there was never: " + what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// replace replaces a file by a rename.
func replace(t *testing.T, path, text string) {
	t.Helper()
	temporary := filepath.Join(filepath.Dir(path), ".new")
	must(t, os.WriteFile(temporary, []byte(text), 0o600))
	must(t, os.Rename(temporary, path))
}
