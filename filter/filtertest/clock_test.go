//go:build e2e

package filtertest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// TestTicks shows that each tick comes at its time, however far the clock moves in one step.
func TestTicks(t *testing.T) {
	host := filtertest.New(t, module(t, "HARMONY_PROBE_WASM"), "configure: tick-period 100; tick: say now")
	ticks := func() int { return strings.Count(strings.Join(probeLog(host, "plugin"), "\n"), "say now") }
	for _, step := range []struct {
		by   time.Duration
		want int
	}{{99 * time.Millisecond, 0}, {time.Millisecond, 1}, {0, 1}, {250 * time.Millisecond, 3}, {50 * time.Millisecond, 4}} {
		host.Advance(step.by)
		if got := ticks(); got != step.want {
			t.Errorf("%d ticks by %s, not %d", got, host.Now().Format("05.000"), step.want)
		}
	}
}

// TestTickResumes shows that a tick can resume a request that the filter holds.
func TestTickResumes(t *testing.T) {
	host := filtertest.New(t, module(t, "HARMONY_PROBE_WASM"), "configure: tick-period 1000")
	x := host.Request("GET", "/", "", script("a", "reqh: pause, wake; tick: resume req")...)
	wantServer(t, x, filtertest.Nothing)
	host.Advance(time.Second)
	wantServer(t, x, filtertest.Complete)
}

// TestStartAt shows that the clock starts at the given time and moves by what [filtertest.Host.Advance] is given.
func TestStartAt(t *testing.T) {
	start := time.Date(2030, time.May, 6, 7, 8, 9, 0, time.UTC)
	host := probe(t, filtertest.StartAt(start))
	host.Advance(time.Minute)
	if got := host.Now(); !got.Equal(start.Add(time.Minute)) {
		t.Error(got)
	}
}

// TestTrap shows that a failed VM answers 503 until the reload interval has passed, and that a new VM then takes its
// place.
func TestTrap(t *testing.T) {
	host := probe(t, filtertest.ReloadInterval(200*time.Millisecond))
	other := host.Request("GET", "/", "", script("other", "")...)
	other.BeginResponse(200)
	x := host.Request("GET", "/", "", script("a", "reqh: panic")...)
	wantClient(t, x, "503 | complete")
	if s := host.Stats(); !s.Failed || x.Details() != "wasm_fail_stream" {
		t.Errorf("%+v, %s", s, x.Details())
	}
	other.SendResponse("first") // a stream of the dead VM is cut when it would next call the filter
	wantClient(t, other, "200 | transfer-encoding: chunked | reset")

	host.Advance(199 * time.Millisecond)
	wantClient(t, host.Request("GET", "/", "", script("b", "")...), "503 | complete")
	host.Advance(101 * time.Millisecond)
	x = host.Request("GET", "/", "", script("c", "reqh: count")...)
	wantServer(t, x, filtertest.Complete)
	if s := host.Stats(); s.Failed || s.Reloads != 1 || s.Backoffs != 1 {
		t.Errorf("%+v", s)
	}
	if !slices.ContainsFunc(host.Logs(), func(l string) bool {
		return strings.HasPrefix(l, "[critical] Function: proxy_on_request_headers failed")
	}) {
		t.Errorf("%q", host.Logs())
	}
}

// TestFailurePolicies shows what each failure policy does with requests after the VM has failed.
func TestFailurePolicies(t *testing.T) {
	for policy, want := range map[filtertest.FailurePolicy]filtertest.State{
		filtertest.FailReload: filtertest.Complete, filtertest.FailClosed: filtertest.Nothing,
		filtertest.FailOpen: filtertest.Complete,
	} {
		host := probe(t, filtertest.OnFailure(policy))
		host.Request("GET", "/", "", script("a", "reqh: panic")...)
		host.Advance(time.Hour)
		x := host.Request("GET", "/", "", script("b", "")...)
		wantServer(t, x, want)
		if called := x.Callbacks().RequestHeaders == 1; called != (policy == filtertest.FailReload) {
			t.Errorf("policy %d: the filter was called: %t", policy, called)
		}
	}
}

// TestTimeouts shows that a route's timeout runs from the end of the request, and the idle timeout from the last
// activity.
func TestTimeouts(t *testing.T) {
	host := probe(t, filtertest.IdleTimeout(time.Minute), filtertest.Routes(func(*filtertest.Headers) *filtertest.Route {
		return &filtertest.Route{Cluster: filtertest.Server, Timeout: 15 * time.Second}
	}))
	x := host.BeginRequest("POST", "/")
	host.Advance(59 * time.Second)
	x.EndRequest("body")
	host.Advance(15*time.Second - 1)
	wantClient(t, x, "nothing")
	host.Advance(1)
	wantClient(t, x, `504 | content-length: 24 | content-type: text/plain | "upstream request timeout" | complete`)
	wantServer(t, x, filtertest.Reset, "body")

	x = host.Request("GET", "/", "", script("a", "resph: pause; respb: pause")...)
	x.Respond(200, "answer") // the server is done; the stream is idle because the filter holds the rest
	host.Advance(59 * time.Second)
	wantClient(t, x, "nothing")
	host.Advance(time.Second)
	wantClient(t, x, `504 | content-length: 14 | content-type: text/plain | "stream timeout" | complete`)

	x = host.BeginRequest("POST", "/", script("b", "reqh: pause; reqb: pause")...)
	host.Advance(time.Minute)
	wantClient(t, x, `408 | content-length: 14 | content-type: text/plain | "stream timeout" | complete`)
}

// TestRefused shows that Start returns an error with the filter's log in it when the filter refuses its configuration,
// and that New fails the test with the same text.
func TestRefused(t *testing.T) {
	_, err := filtertest.Start(t, module(t, "HARMONY_PROBE_WASM"), "configure: say because, return 0")
	if !errors.Is(err, filtertest.ErrRefused) || !strings.Contains(err.Error(), `say because = "because"`) {
		t.Error(err)
	}
	_, err = filtertest.Start(t, module(t, "HARMONY_PROBE_WASM"), "", filtertest.ReloadInterval(time.Millisecond))
	if err == nil || errors.Is(err, filtertest.ErrRefused) {
		t.Error(err)
	}
	if _, err = filtertest.Start(t, "missing.wasm", ""); err == nil || errors.Is(err, filtertest.ErrRefused) {
		t.Error(err)
	}
	failed := runFailing(func(tb testing.TB) { filtertest.New(tb, module(t, "HARMONY_PROBE_WASM"), "configure: panic") })
	if len(failed.errors) != 1 || !strings.Contains(failed.errors[0], "proxy_on_configure failed") {
		t.Errorf("%q", failed.errors)
	}
}

// TestConfigurations shows that the filter can read its plugin and VM configurations.
func TestConfigurations(t *testing.T) {
	host := filtertest.New(t, module(t, "HARMONY_PROBE_WASM"), "configure: read plugin 0 9, prop plugin_root_id",
		filtertest.VMConfiguration("vmstart: read vm 0 7"), filtertest.RootID("root"))
	got := strings.Join(probeLog(host, "plugin"), "\n")
	for _, want := range []string{`read vm 0 7 = 0 "vmstart"`, `read plugin 0 9 = 0 "configure"`,
		`prop plugin_root_id = 0 "root"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
