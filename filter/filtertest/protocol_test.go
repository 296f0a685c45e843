//go:build e2e

package filtertest_test

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// TestEnds shows how the filter learns that a message has ended. It depends on the protocol of the side that sends the
// message.
func TestEnds(t *testing.T) {
	text, two := filtertest.Protocols(filtertest.HTTP1, filtertest.HTTP1),
		filtertest.Protocols(filtertest.HTTP2, filtertest.HTTP2)
	pieces := func(h *filtertest.Host) *filtertest.Exchange {
		x := h.BeginRequest("POST", "/", script("a", "")...)
		x.SendRequest("re", "", "que")
		x.EndRequest("st")
		x.BeginResponse(200)
		x.SendResponse("answ")
		x.EndResponse("er")
		return x
	}
	trailers := func(h *filtertest.Host) *filtertest.Exchange {
		x := h.BeginRequest("POST", "/", script("a", "")...)
		x.SendRequest("request")
		x.RequestTrailers("x-t", "1")
		x.BeginResponse(200)
		x.SendResponse("answer")
		x.ResponseTrailers("x-t", "2")
		return x
	}
	whole := func(h *filtertest.Host) *filtertest.Exchange {
		x := h.Request("POST", "/", "request", script("a", "")...)
		x.Respond(200, "answer")
		return x
	}
	bodyless := func(h *filtertest.Host) *filtertest.Exchange {
		x := h.Request("GET", "/", "", script("a", "")...)
		x.Respond(200, "")
		return x
	}
	for _, tt := range []struct {
		name     string
		protocol filtertest.Option
		exchange func(*filtertest.Host) *filtertest.Exchange
		seen     []string
		client   string
	}{
		{
			"pieces over HTTP/1.1", text, pieces,
			[]string{"reqh(8,false)", "reqb1(2,false)", "reqb2(3,false)", "reqb3(2,false)", "reqb4(0,true)", "resph(2,false)",
				"respb1(4,false)", "respb2(2,false)", "respb3(0,true)"},
			`200 | transfer-encoding: chunked | "answ" | "er" | complete`,
		},
		{
			"pieces over HTTP/2", two, pieces,
			[]string{"reqh(8,false)", "reqb1(2,false)", "reqb2(3,false)", "reqb3(2,true)", "resph(1,false)", "respb1(4,false)",
				"respb2(2,true)"},
			`200 | "answ" | "er" | complete`,
		},
		{
			"trailers over HTTP/1.1", text, trailers,
			[]string{"reqh(8,false)", "reqb1(7,false)", "reqb2(0,true)", "resph(2,false)", "respb1(6,false)", "respb2(0,true)"},
			`200 | transfer-encoding: chunked | "answer" | complete`,
		},
		{
			"trailers over HTTP/2", two, trailers,
			[]string{"reqh(8,false)", "reqb1(7,false)", "reqt(1)", "resph(1,false)", "respb1(6,false)", "respt(1)"},
			`200 | "answer" | x-t: 2 | complete`,
		},
		{
			"whole over HTTP/1.1", text, whole,
			[]string{"reqh(9,false)", "reqb1(7,false)", "reqb2(0,true)", "resph(2,false)", "respb1(6,false)", "respb2(0,true)"},
			`200 | content-length: 6 | "answer" | complete`,
		},
		{
			"whole over HTTP/2", two, whole,
			[]string{"reqh(9,false)", "reqb1(7,true)", "resph(2,false)", "respb1(6,true)"},
			`200 | content-length: 6 | "answer" | complete`,
		},
		{
			"no bodies", text, bodyless,
			[]string{"reqh(8,true)", "resph(2,true)"},
			`200 | content-length: 0 | complete`,
		},
		{
			"the client over HTTP/2, the server over HTTP/1.1", filtertest.Protocols(filtertest.HTTP2, filtertest.HTTP1), pieces,
			[]string{"reqh(8,false)", "reqb1(2,false)", "reqb2(3,false)", "reqb3(2,true)", "resph(2,false)", "respb1(4,false)",
				"respb2(2,false)", "respb3(0,true)"},
			`200 | "answ" | "er" | complete`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := probe(t, tt.protocol)
			x := tt.exchange(host)
			wantLog(t, host, "a", append(tt.seen, "log", "done", "delete")...)
			wantClient(t, x, tt.client)
			if !x.Done() || x.Details() != "via_upstream" {
				t.Errorf("done: %t, details: %q", x.Done(), x.Details())
			}
		})
	}
}

// TestBodylessResponses shows that a response without a body may still carry a content-length.
func TestBodylessResponses(t *testing.T) {
	host := probe(t)
	x := host.Request("HEAD", "/", "")
	x.Respond(200, "", "content-length", "10")
	wantClient(t, x, "200 | content-length: 10 | complete")
	x = host.Request("GET", "/", "")
	x.Respond(304, "", "content-length", "10")
	wantClient(t, x, "304 | content-length: 10 | complete")
	x = host.Request("GET", "/", "")
	x.Respond(204, "")
	wantClient(t, x, "204 | complete")
}

// TestRequestHeaders shows which headers the filter and the server see besides those that the test sends.
func TestRequestHeaders(t *testing.T) {
	host := probe(t, filtertest.Clusters("server", "other"))
	x := host.Request("GET", "/a?b=c", "", append(
		script("a", "reqh: headers reqh"), "host", "api.example", "X-Two", "1", "x-two", "2", "connection", "close")...)
	// the probe leaves its own out
	wantLog(t, host, "a", "reqh(10,true)", `reqh headers reqh = 0 10 | :authority: api.example | :path: /a?b=c | `+
		`:method: GET | :scheme: http | `+
		`x-two: 1 | x-two: 2 | x-forwarded-proto: http | x-request-id: 00000000-0000-4000-8000-000000000001`)
	if s := x.Server(); s.Cluster != "server" || s.Header(":path") != "/a?b=c" || s.Header("x-two") != "1" {
		t.Error(s)
	}
	x.Server().Headers.Set(":path", "/changed")
	if s := x.Server(); s.Header(":path") != "/a?b=c" {
		t.Error("a test can change what the server has got")
	}
}

// TestCallbacksProveCuts shows that the number of callbacks proves that a test's cuts have reached the filter.
func TestCallbacksProveCuts(t *testing.T) {
	host := probe(t)
	for pieces := range filtertest.Cuts("abcdef") {
		x := host.Request("GET", "/", "")
		x.BeginResponse(200)
		x.SendResponse(pieces...)
		x.EndResponse()
		if n := x.Callbacks().ResponseBody; n != len(pieces)+1 || x.Client().Body() != "abcdef" {
			t.Errorf("%q: %d calls, %s", pieces, n, x.Client())
		}
	}
}
