//go:build e2e

package filtertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// TestMisuse shows that a test that asks for something impossible fails with a hint at what to do instead.
func TestMisuse(t *testing.T) {
	wasm := module(t, "HARMONY_PROBE_WASM")
	held := script("a", "reqh: pause; reqb: pause")
	for _, tt := range []struct {
		name string
		test func(h *filtertest.Host)
		want string
	}{
		{"odd headers", func(h *filtertest.Host) { h.Request("GET", "/", "x-a", "1") },
			"it is Request(method, path, body, name, value, …)"},
		{"odd headers again", func(h *filtertest.Host) { h.BeginRequest("GET", "/", "x-a") },
			"it is BeginRequest(method, path, name, value, …)"},
		{"more after the end", func(h *filtertest.Host) { h.Request("POST", "/", "x").SendRequest("y") },
			"begins with BeginRequest"},
		{"a second end", func(h *filtertest.Host) {
			x := h.BeginRequest("POST", "/")
			x.EndRequest()
			x.EndRequest()
		}, "EndRequest of POST /: the request has ended"},
		{"more than declared", func(h *filtertest.Host) {
			h.BeginRequest("POST", "/", "content-length", "1").SendRequest("xy")
		}, "the headers say content-length: 1, and the body has 2 bytes"},
		{"less than declared", func(h *filtertest.Host) {
			h.BeginRequest("POST", "/", "content-length", "3").EndRequest("xy")
		}, "the body has 2 bytes; to break off, use"},
		{"a request that goes on without its client", func(h *filtertest.Host) {
			x := h.BeginRequest("POST", "/")
			x.ClientLeaves()
			x.EndRequest()
		}, "the client has left"},
		{"a response without an ended request", func(h *filtertest.Host) {
			h.BeginRequest("POST", "/", held...).Respond(200, "")
		}, "is EndRequest missing?"},
		{"a response to a held request", func(h *filtertest.Host) {
			h.Request("POST", "/", "x", held...).BeginResponse(200)
		}, "no server has this request yet: the filter holds it"},
		{"a response to an answered request", func(h *filtertest.Host) {
			h.Request("GET", "/", "", script("a", "reqh: reply 403 no")...).Respond(200, "")
		}, `no server has this request; the client has got 403 | content-length: 2`},
		{"a body without headers", func(h *filtertest.Host) { h.Request("GET", "/", "").SendResponse("x") },
			"begin it with BeginResponse"},
		{"two responses", func(h *filtertest.Host) {
			x := h.Request("GET", "/", "")
			x.BeginResponse(200)
			x.Respond(200, "")
		}, "the server has answered already"},
		{"more after a whole response", func(h *filtertest.Host) {
			x := h.Request("GET", "/", "")
			x.Respond(200, "x")
			x.EndResponse()
		}, "the response has ended"},
		{"no status", func(h *filtertest.Host) { h.Request("GET", "/", "").Respond(0, "") },
			"0 is not the status of a response"},
		{"a body where there is none", func(h *filtertest.Host) { h.Request("HEAD", "/", "").Respond(200, "x") },
			"has no body"},
		{"a reset over HTTP/1.1", func(h *filtertest.Host) { h.Request("GET", "/", "").KillServer(filtertest.RemoteReset) },
			"see Protocols"},
		{"no connection, but an answer", func(h *filtertest.Host) {
			x := h.Request("GET", "/", "")
			x.BeginResponse(200)
			x.KillServer(filtertest.ConnectionFailure)
		}, "use ConnectionTermination"},
		{"no callout", func(h *filtertest.Host) { h.Callout() }, "of the filter's 0 callouts none waits"},
		{"the clock goes back", func(h *filtertest.Host) { h.Advance(-time.Second) }, "goes forward only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runFailing(func(tb testing.TB) {
				tt.test(filtertest.New(tb, wasm, ""))
				tb.Errorf("the test went on")
			})
			if len(got.errors) != 1 || !strings.Contains(got.errors[0], tt.want) {
				t.Errorf("%q", got.errors)
			}
		})
	}
}

// TestDeadlyActs shows that calls that crash Envoy fail the test, and that similar but harmless calls do not.
func TestDeadlyActs(t *testing.T) {
	wasm := module(t, "HARMONY_PROBE_WASM")
	for text, deadly := range map[string]bool{
		"log: reply 418 tea": true, "done: reply 418 tea": true, "delete: reply 418 tea": true,
		"log: close 0": true, "done: close 0": true, "delete: close 1": true,
		"respb: reply 418 tea": false, "respb: close 0": false, "log: set-prop a 1": false,
		"log: resume req": false, "done: resume resp": false, "delete: resume req": false,
	} {
		got := runFailing(func(tb testing.TB) {
			h := filtertest.New(tb, wasm, "")
			x := h.Request("GET", "/path", "", script("a", text)...)
			x.Respond(200, "answer")
		})
		if !deadly {
			if got.Failed() {
				t.Errorf("%s: %q", text, got.errors)
			}
			continue
		}
		if len(got.errors) != 1 || !strings.Contains(got.errors[0], "in Respond of GET /path: proxy_") {
			t.Errorf("%s: %q", text, got.errors)
		}
		if len(got.logs) != 1 || !strings.Contains(got.logs[0], "probe: a respb1(6,false)") {
			t.Errorf("%s: the log is not shown: %q", text, got.logs)
		}
	}
}

// TestContentLength shows that a filter fails the test if it leaves a content-length that does not match the body, and
// that removing the header while it is held is enough.
func TestContentLength(t *testing.T) {
	wasm := module(t, "HARMONY_PROBE_WASM")
	for text, want := range map[string]string{
		"reqb1: append req +": "the request that the filter lets go to the server says content-length: 4 and has a body " +
			"of 5 bytes",
		"respb1: append resp +": "the response that the filter lets go to the client says content-length: 6 and has a " +
			"body of 7 bytes",
		"reqh: pause; reqb: pause; reqend: remove reqh content-length, append req +, continue": "",
		"resph: remove resph content-length; respb1: append resp +":                            "",
	} {
		got := runFailing(func(tb testing.TB) {
			x := filtertest.New(tb, wasm, "").Request("POST", "/", "body", script("a", text)...)
			x.Respond(200, "answer")
		})
		if all := strings.Join(got.errors, "\n"); got.Failed() != (want != "") || !strings.Contains(all, want) {
			t.Errorf("%s: %q", text, got.errors)
		}
	}
}
