//go:build e2e

package filtertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

const calloutScript = "reqh: pause, callout server 1000 /auth token; " +
	"callout: get callh :status, read call 0 100, resume req"

// TestCalloutByHand shows that a callout waits for the test to answer it, and that other callouts can be made
// meanwhile.
func TestCalloutByHand(t *testing.T) {
	host := probe(t)
	a := host.Request("GET", "/a", "", script("a", calloutScript)...)
	b := host.Request("GET", "/b", "", script("b", calloutScript)...)
	first, second := host.Callouts()[0], host.Callouts()[1]
	if host.Callout() != first || first.Headers.Get(":path") != "/auth" || first.Body != "token" ||
		first.Timeout != time.Second || first.Cluster != "server" {
		t.Errorf("%+v", first)
	}
	second.Respond(200, "yes", "x-a", "1")
	wantServer(t, a, filtertest.Nothing)
	wantServer(t, b, filtertest.Complete)
	wantLog(t, host, "b", "reqh(8,true)", "reqh callout server 1000 /auth token = 0", "callout1(3,3,0)",
		`callout1 get callh :status = 0 "200"`, `callout1 read call 0 100 = 0 "yes"`, "callout1 resume req = 0")
	first.Fail()
	wantServer(t, a, filtertest.Complete)
	got := strings.Join(probeLog(host, "a"), "\n")
	if !strings.Contains(got, `get callh :status = 0 "503"`) || first.Open() {
		t.Error(got)
	}
}

// TestCalloutTimeout shows that a callout without a reply ends with a 504 when its timeout expires.
func TestCalloutTimeout(t *testing.T) {
	host := probe(t)
	x := host.Request("GET", "/", "", script("a", calloutScript)...)
	host.Advance(time.Second - 1)
	wantServer(t, x, filtertest.Nothing)
	host.Advance(1)
	wantServer(t, x, filtertest.Complete)
	if got := strings.Join(probeLog(host, "a"), "\n"); !strings.Contains(got, `get callh :status = 0 "504"`) {
		t.Error(got)
	}
	host.Request("GET", "/", "", script("b", "callout: resume req; reqh: pause, callout server 0 /auth")...)
	host.Advance(24 * time.Hour)
	if !host.Callout().Open() {
		t.Error("a callout without a time-out has ended")
	}
	late := runFailing(func(tb testing.TB) {
		h := filtertest.New(tb, module(t, "HARMONY_PROBE_WASM"), "")
		h.Request("GET", "/", "", script("a", calloutScript)...)
		c := h.Callout()
		h.Advance(time.Second)
		c.Respond(200, "late")
	})
	if len(late.errors) != 1 || !strings.Contains(late.errors[0], "answered by its time-out") {
		t.Errorf("%q", late.errors)
	}
}

// TestOnCallout shows that the function of [filtertest.OnCallout] answers callouts as they are made.
func TestOnCallout(t *testing.T) {
	var called []string
	host := probe(t, filtertest.Clusters("server", "auth"), filtertest.OnCallout(func(c *filtertest.Callout) {
		called = append(called, c.Cluster+c.Headers.Get(":path"))
		c.Respond(200, "yes")
	}))
	x := host.Request("GET", "/", "", script("a", "reqh: pause, callout auth 0 /one; callout1: callout auth 0 /two; "+
		"callout2: resume req")...)
	wantServer(t, x, filtertest.Complete)
	if strings.Join(called, " ") != "auth/one auth/two" {
		t.Error(called)
	}
	host.Request("GET", "/", "", script("b", "reqh: callout missing 0 /")...)
	if got := probeLog(host, "b"); len(host.Callouts()) != 2 || got[1] != "reqh callout missing 0 / = 2" {
		t.Errorf("%d callouts, %q", len(host.Callouts()), got)
	}
}

// TestMetricsAndState reads what a filter writes for its operator: metrics and filter state.
func TestMetricsAndState(t *testing.T) {
	host := probe(t)
	x := host.Request("GET", "/", "", script("a", "reqh: metric counter hits, inc hits 2, metric gauge level, record "+
		"level 7, set-prop usage 12")...)
	if m := host.Metrics(); m["hits"] != 2 || m["level"] != 7 {
		t.Error(m)
	}
	if v, ok := x.FilterState("usage"); !ok || v != "12" {
		t.Error(v, ok)
	}
	if v, ok := x.FilterState("other"); ok {
		t.Error(v)
	}
}
