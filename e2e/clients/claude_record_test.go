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
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// recorder passes requests on, and keeps the bodies of those of one path in their order.
type recorder struct {
	url, path string
	proxy     *httputil.ReverseProxy

	mu     sync.Mutex
	bodies [][]byte
}

// record starts a recorder in front of a server. The path has no query: Claude Code's requests have any.
func record(t *testing.T, server, path string) *recorder {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{path: path}
	r.proxy = &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }, FlushInterval: -1}
	front := httptest.NewServer(r)
	t.Cleanup(front.Close)
	r.url = front.URL
	return r
}

// ServeHTTP implements [http.Handler].
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the client is gone
	}
	if q.Method == http.MethodPost && q.URL.Path == r.path {
		r.mu.Lock()
		r.bodies = append(r.bodies, body)
		r.mu.Unlock()
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	r.proxy.ServeHTTP(w, q)
}

// with returns the bodies that contain a text.
func (r *recorder) with(text string) (bodies [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies {
		if bytes.Contains(body, []byte(text)) {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// prompts returns the texts of those prompts in the bodies that contain a text. harmony up asks other things too.
func (r *recorder) prompts(t *testing.T, with string) (all []string) {
	t.Helper()
	for _, body := range r.with(`"prompt"`) {
		var request struct {
			Prompt []uint32 `json:"prompt"`
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatalf("%v: %.200s", err, body)
		}
		if prompt := lab.Vocabulary.DecodeString(request.Prompt); strings.Contains(prompt, with) {
			all = append(all, prompt)
		}
	}
	return all
}
