//go:build e2e

package filtertest_test

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// TestKillServer shows that the moment of a server's failure decides what the client receives and whether the filter is
// called for it.
func TestKillServer(t *testing.T) {
	const upstream = "upstream connect error or disconnect/reset before headers. reset reason: "
	two := filtertest.Protocols(filtertest.HTTP2, filtertest.HTTP2)
	for _, tt := range []struct {
		name    string
		options []filtertest.Option
		script  string
		// started and sent report how far the server gets.
		started, sent bool
		why           filtertest.Failure
		client        string
		details       string
		last          string
	}{
		{
			"before its headers", nil, "", false, false, filtertest.ConnectionTermination,
			`503 | content-length: 95 | content-type: text/plain | "` + upstream + `connection termination" | complete`,
			"upstream_reset_before_response_started{connection_termination}", "respb1(95,true)",
		},
		{
			"connection refused", nil, "", false, false, filtertest.ConnectionFailure,
			`503 | content-length: 98 | content-type: text/plain | "` + upstream + `remote connection failure" | complete`,
			"upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused}",
			"respb1(98,true)",
		},
		{
			"no server", nil, "", false, false, filtertest.NoHealthyUpstream,
			`503 | content-length: 19 | content-type: text/plain | "no healthy upstream" | complete`, "no_healthy_upstream",
			"respb1(19,true)",
		},
		{
			"in mid-stream", nil, "", true, true, filtertest.ConnectionTermination,
			`200 | transfer-encoding: chunked | "first" | reset`, "upstream_reset_after_response_started{protocol_error}",
			"respb1(5,false)",
		},
		{
			"in mid-stream over HTTP/2", []filtertest.Option{two}, "", true, true, filtertest.RemoteReset,
			`200 | "first" | reset`, "upstream_reset_after_response_started{remote_reset}", "respb1(5,false)",
		},
		{
			"while its headers are held", nil, "resph: pause; respb: pause", true, true, filtertest.ConnectionTermination,
			`502 | content-length: 87 | content-type: text/plain | "` + upstream + `protocol error" | complete`,
			"upstream_reset_after_response_started{protocol_error}", "respb1(5,false)",
		},
		{
			"the filter sees its headers", nil, "", true, false, filtertest.ConnectionTermination,
			`200 | transfer-encoding: chunked | reset`, "upstream_reset_after_response_started{protocol_error}",
			"resph(2,false)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := probe(t, tt.options...)
			x := host.Request("GET", "/", "", script("a", tt.script)...)
			if tt.started {
				x.BeginResponse(200)
			}
			if tt.sent {
				x.SendResponse("first")
			}
			x.KillServer(tt.why)
			wantClient(t, x, tt.client)
			if x.Details() != tt.details {
				t.Error(x.Details())
			}
			wantServer(t, x, filtertest.Reset)
			if s := probeLog(host, "a"); len(s) < 4 || s[len(s)-4] != tt.last {
				t.Errorf("the filter has seen %q; it should end with %s and the last callbacks", s, tt.last)
			}
		})
	}
}

// TestClientLeaves shows that the server is reset when the client leaves, and that the filter sees it only in its last
// callbacks.
func TestClientLeaves(t *testing.T) {
	for protocol, details := range map[filtertest.Protocol]string{
		filtertest.HTTP1: "downstream_remote_disconnect", filtertest.HTTP2: "http2.remote_reset"} {
		host := probe(t, filtertest.Protocols(protocol, filtertest.HTTP1))
		x := host.Request("GET", "/", "", script("a", "")...)
		x.BeginResponse(200)
		x.SendResponse("first")
		x.ClientLeaves()
		wantServer(t, x, filtertest.Reset)
		x.SendResponse("the server cannot know yet")
		wantLog(t, host, "a", "reqh(8,true)", "resph(2,false)", "respb1(5,false)", "log", "done", "delete")
		if x.Client().Body() != "first" || x.Details() != details {
			t.Errorf("%s; %s", x.Client(), x.Details())
		}
	}
}

// TestLocalReply shows what a filter's own reply does early and after the response has begun.
func TestLocalReply(t *testing.T) {
	host := probe(t)
	x := host.BeginRequest("POST", "/", script("a", "reqh: reply 403 no x-a=1")...)
	wantClient(t, x, `403 | x-a: 1 | content-length: 2 | content-type: text/plain | "no" | complete`)
	wantServer(t, x, filtertest.Nothing)
	x.SendRequest("ignored")
	x.EndRequest()

	x = host.Request("GET", "/", "", script("b", "respb2: reply 500 late")...)
	x.BeginResponse(200)
	x.SendResponse("one", "two", "three")
	wantClient(t, x, `200 | transfer-encoding: chunked | "one" | reset`)
	wantServer(t, x, filtertest.Reset)

	x = host.Request("GET", "/", "", script("c", "reqh: close 0")...)
	wantClient(t, x, "reset")
}

// TestEarlyResponse shows that a server may answer before it has received the whole request.
func TestEarlyResponse(t *testing.T) {
	host := probe(t)
	x := host.BeginRequest("POST", "/")
	x.SendRequest("first")
	x.Respond(401, "who are you?")
	wantClient(t, x, `401 | content-length: 12 | "who are you?" | complete`)
	wantServer(t, x, filtertest.Reset, "first")
	x.SendRequest("second")
	wantServer(t, x, filtertest.Reset, "first")
}
