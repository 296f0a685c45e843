//go:build e2e

package filtertest_test

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// TestHeldHeaders shows that with allow_on_headers_stop_iteration a filter that has paused in a headers callback
// receives the body. Without it the stream waits until the filter resumes it.
func TestHeldHeaders(t *testing.T) {
	const text = "reqh: pause; reqb: pause; reqend: remove reqh content-length, append req +, continue; " +
		"resph: pause; respb: pause; respend: remove resph content-length, append resp !, continue"
	host := probe(t)
	x := host.BeginRequest("POST", "/", script("a", text)...)
	x.SendRequest("bo")
	wantServer(t, x, filtertest.Nothing)
	x.EndRequest("dy")
	wantServer(t, x, filtertest.Complete, "body+")
	x.Respond(200, "answer")
	wantClient(t, x, `200 | "answer!" | complete`)

	host = probe(t, filtertest.AllowOnHeadersStopIteration(false))
	x = host.Request("POST", "/", "body", script("a", text)...)
	wantServer(t, x, filtertest.Nothing)
	wantLog(t, host, "a", "reqh(9,false)")
	x.ClientLeaves()
	wantLog(t, host, "a", "reqh(9,false)", "log", "done", "delete")
}

// TestBufferLimit shows that a body cannot be held beyond the buffer limit.
func TestBufferLimit(t *testing.T) {
	const text = "reqh: pause; reqb: pause; reqend: continue; resph: pause; respb: pause; respend: continue"
	host := probe(t, filtertest.BufferLimit(10))
	x := host.BeginRequest("POST", "/", script("a", text)...)
	x.SendRequest("0123456789", "0")
	wantClient(t, x, `413 | content-length: 17 | content-type: text/plain | "Payload Too Large" | complete`)
	x.SendRequest("the client cannot know yet")
	if x.Details() != "request_payload_too_large" {
		t.Error(x.Details())
	}

	x = host.Request("GET", "/", "", script("b", text)...)
	x.BeginResponse(200)
	x.SendResponse("0123456789", "0")
	wantClient(t, x, `500 | content-length: 21 | content-type: text/plain | "Internal Server Error" | complete`)
	wantServer(t, x, filtertest.Reset)
	x.SendResponse("the server cannot know yet")
	x.EndResponse()

	for protocol, limit := range map[filtertest.Protocol]int{filtertest.HTTP1: 1 << 20, filtertest.HTTP2: 16 << 20} {
		host := probe(t, filtertest.Protocols(protocol, protocol))
		x := host.BeginRequest("POST", "/", script("a", text)...)
		x.SendRequest(strings.Repeat("x", limit))
		if x.Done() {
			t.Errorf("%s: %d bytes are too many", protocol, limit)
		}
		x.SendRequest("x")
		if x.Client().Status != 413 {
			t.Errorf("%s: %d bytes are not too many", protocol, limit+1)
		}
	}
}

// TestStreamsAtOnce shows that exchanges can interleave in one VM without affecting each other.
func TestStreamsAtOnce(t *testing.T) {
	host := probe(t)
	a := host.BeginRequest("POST", "/a", script("a", "reqh: count; reqb1: append req +a")...)
	b := host.BeginRequest("POST", "/b", script("b", "reqh: count; reqb1: append req +b")...)
	b.SendRequest("1")
	a.SendRequest("1")
	b.EndRequest()
	wantServer(t, a, filtertest.Open, "1+a")
	wantServer(t, b, filtertest.Complete, "1+b")
	a.EndRequest()
	b.Respond(200, "for b")
	wantClient(t, a, "nothing")
	a.Respond(200, "for a")
	wantClient(t, a, `200 | content-length: 5 | "for a" | complete`)
	wantClient(t, b, `200 | content-length: 5 | "for b" | complete`)
	if n := host.Stats().Streams; n != 0 {
		t.Errorf("%d streams are open", n)
	}
}

// TestRoutes covers a route to a cluster, a direct response, an unknown cluster, and no route at all. The route is
// chosen again after the filter has changed a header.
func TestRoutes(t *testing.T) {
	host := probe(t, filtertest.Clusters("one", "two"), filtertest.Routes(func(r *filtertest.Headers) *filtertest.Route {
		switch r.Get(":path") {
		case "/direct":
			return &filtertest.Route{Direct: &filtertest.DirectResponse{Status: 429, Body: "slow down"}}
		case "/none":
			return nil
		}
		return &filtertest.Route{Cluster: strings.TrimPrefix(r.Get(":path"), "/")}
	}))
	for path, want := range map[string]string{
		"/direct":  `429 | content-length: 9 | content-type: text/plain | "slow down" | complete`,
		"/none":    `404 | complete`,
		"/missing": `503 | complete`,
	} {
		wantClient(t, host.Request("GET", path, ""), want)
	}
	if s := host.Request("GET", "/one", "").Server(); s.Cluster != "one" {
		t.Error(s)
	}
	if s := host.Request("GET", "/one", "", script("a", "reqh: set reqh :path /two")...).Server(); s.Cluster != "two" {
		t.Error(s)
	}
}
