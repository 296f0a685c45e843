//go:build e2e

package faults

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// trailing is a response of a server that ends with trailers after its body.
type trailing struct {
	name   string
	status int
	body   string
	// late reports whether a stream has begun by then, so that only a reset can tell its client.
	late bool
}

// serve writes the response event by event, so that each is a chunk of its own in Envoy.
func (a *trailing) serve(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(a.status)
	for _, piece := range strings.SplitAfter(a.body, "\n\n") {
		_, _ = w.Write([]byte(piece))
		_ = http.NewResponseController(w).Flush()
	}
	w.Header().Set(http.TrailerPrefix+"X-End", "1")
}

// TestEarlyTrailers: a server's trailers before the end of its answer are a broken connection to the client. Envoy
// survives them: a stream that the filter resets in that callback must not go on in Envoy's chain of filters.
func TestEarlyTrailers(t *testing.T) {
	event := func(ids, finish string) string {
		return `data: {"choices":[{"index":0,"token_ids":[` + ids + `],"finish_reason":` + finish + "}]}\n\n"
	}
	header, failure := event("200005,17196,200008", "null"), "data: {\"error\":{\"message\":\"no\",\"code\":500}}\n\n"
	answers := []trailing{
		{"nothing", 200, "", false},
		{"a comment", 200, ": hello\n\n", false},
		{"half an event", 200, `data: {"choi`, false},
		{"a header", 200, header, true},
		{"text", 200, header + event("12194", "null"), true},
		{"all but the end", 200, header + event("12194", "null") + event("200002", `"stop"`), true},
		{"an error", 200, failure, false},
		{"text under status 500", 500, header + event("12194", "null"), false},
	}
	var answer atomic.Pointer[trailing]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer.Load().serve(w)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.Protocols.SetHTTP1(true)
	server.Start()
	t.Cleanup(server.Close)
	c := lab.OneModel(server.URL)
	c.Envoy.Concurrency = 1
	host := lab.RunEnvoy(t, c, lab.HTTP2To(xds.PoolCluster(&c.Models[0])))
	clients := []*http.Client{lab.HTTP1(t), lab.HTTP2(t)}
	for i := range answers {
		answer.Store(&answers[i])
		t.Run(answers[i].name, func(t *testing.T) {
			var wait sync.WaitGroup
			for i := range 96 {
				wait.Go(func() {
					r := &brokenRequests[i/len(clients)%len(brokenRequests)]
					a := lab.Ask(clients[i%len(clients)], host.URL+r.path, r.body)
					switch want := answer.Load(); {
					case want.late && r.streams():
						if a.Status != 200 || a.Err == nil || !strings.Contains(a.Body, "data: ") {
							t.Errorf("%s: want a stream that is reset, got %+v", r.name, a)
						}
					case a.Err != nil || a.Status < 500 || !strings.Contains(a.Body, `"code":"server_error"`):
						t.Errorf("%s: want a typed error, got %+v", r.name, a)
					}
				})
			}
			wait.Wait()
			if t.Failed() {
				t.Fatalf("Envoy's log: %s", host.Process.Log(1<<12))
			}
		})
	}
}
