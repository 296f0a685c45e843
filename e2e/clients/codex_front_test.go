//go:build e2e

package clients

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// codexFront is what the gateway takes for its server. Requests of one step find an overloaded server for a while, those
// of another a server that is quiet before its first token, and the first of a third one that ends within its answer. All
// others find a fast one.
type codexFront struct {
	fast, quiet, busy, dying *httputil.ReverseProxy
	// stepOf returns the title of a prompt's step, and its cell's tag.
	stepOf func(prompt string) (title, tag string)

	mu    sync.Mutex
	times map[string][]time.Time // of the requests with a tag
}

// overloaded is how long a server is overloaded, from the first request of a cell on.
const overloaded = 3 * time.Second

// startCodexFront starts it, and returns the fast server and the URL.
func startCodexFront(t *testing.T, script func() *sim.Script, stepOf func(string) (title, tag string)) (
	front *codexFront, server *sim.Server, address string,
) {
	t.Helper()
	front = &codexFront{stepOf: stepOf, times: map[string][]time.Time{}}
	for _, target := range []struct {
		to      **httputil.ReverseProxy
		options sim.Options
	}{
		{&front.fast, sim.Options{}},
		{&front.quiet, sim.Options{TimeToFirstToken: quietTime()}},
		{&front.busy, sim.Options{Fault: sim.Fault{Kind: sim.FaultStatus, Status: http.StatusServiceUnavailable}}},
		{&front.dying, sim.Options{Fault: sim.Fault{Kind: sim.FaultClose, After: 12}}},
	} {
		target.options.Script = script()
		s, text := lab.RunSim(t, target.options)
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		*target.to = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }, FlushInterval: -1}
		if target.to == &front.fast {
			server = s
		}
	}
	gateway := httptest.NewServer(front)
	t.Cleanup(gateway.Close)
	return front, server, gateway.URL
}

// ServeHTTP sends a request to the server that its cell is about.
func (f *codexFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.choose(body).ServeHTTP(w, r)
}

// choose returns the server for a request's body.
func (f *codexFront) choose(body []byte) *httputil.ReverseProxy {
	var request struct {
		Prompt []uint32 `json:"prompt"`
	}
	_ = json.Unmarshal(body, &request) // others than completions have none
	step, tag := f.stepOf(lab.Vocabulary.DecodeString(request.Prompt))
	if tag == "" {
		return f.fast
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times[tag] = append(f.times[tag], time.Now())
	switch {
	case step == quietStep:
		return f.quiet
	case step == overloadedStep && time.Since(f.times[tag][0]) < overloaded:
		return f.busy
	case step == cutStep && len(f.times[tag]) == 1:
		return f.dying
	default:
		return f.fast
	}
}

// asked returns how many requests with a tag have come.
func (f *codexFront) asked(tag string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.times[tag])
}
