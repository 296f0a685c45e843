//go:build e2e

package filtertest_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// module returns the file of a filter, which must have been built: `make dist/probe.wasm` and `make wasm`.
func module(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set; run the tests by make e2e", variable)
	}
	return path
}

// probe starts a host with the probe (e2e/probe), which runs the script in the header x-probe.
func probe(t *testing.T, options ...filtertest.Option) *filtertest.Host {
	t.Helper()
	return filtertest.New(t, module(t, "HARMONY_PROBE_WASM"), "", options...)
}

// script returns the headers that make the probe run text for one request. The probe logs the request under the name
// id.
func script(id, text string) []string { return []string{"x-probe-id", id, "x-probe", text} }

// probeLog returns all that the probe has logged about a request, without the word that nothing else comes.
func probeLog(h *filtertest.Host, id string) []string {
	var out []string
	for _, line := range h.Logs() {
		if rest, ok := strings.CutPrefix(line, "[warning] probe: "+id+" "); ok && rest != "deleted" {
			out = append(out, rest)
		}
	}
	return out
}

func wantLog(t *testing.T, h *filtertest.Host, id string, want ...string) {
	t.Helper()
	if got := probeLog(h, id); !slices.Equal(got, want) {
		t.Errorf("the filter has seen\n  %s\nnot\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantClient compares everything that the client has received, as one line.
func wantClient(t *testing.T, x *filtertest.Exchange, want string) {
	t.Helper()
	if got := x.Client().String(); got != want {
		t.Errorf("the client has got\n  %s\nnot\n  %s", got, want)
	}
}

func wantServer(t *testing.T, x *filtertest.Exchange, state filtertest.State, chunks ...string) {
	t.Helper()
	if got := x.Server(); got.State != state || !slices.Equal(got.Chunks, chunks) {
		t.Errorf("the server has got %s", got)
	}
}

// tester is a [testing.TB] that records how its test fails.
type tester struct {
	testing.TB
	errors   []string
	logs     []string
	cleanups []func()
}

func (t *tester) Helper()          {}
func (t *tester) Failed() bool     { return len(t.errors) > 0 }
func (t *tester) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *tester) Logf(format string, args ...any) {
	t.logs = append(t.logs, fmt.Sprintf(format, args...))
}
func (t *tester) Errorf(format string, args ...any) {
	t.errors = append(t.errors, fmt.Sprintf(format, args...))
}
func (t *tester) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// runFailing runs a test within the test and returns how it failed.
func runFailing(test func(t testing.TB)) *tester {
	t := &tester{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(t)
	}()
	<-ended
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
	return t
}
