package filtertest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// Host is a proxy with one filter in one VM.
type Host struct {
	t        testing.TB
	settings *settings
	host     *wasmhost.Host
	worker   *wasmhost.Worker
	now      time.Time
	logs     []string
	// exchanges are the open ones. requests is the number of all exchanges that have begun.
	exchanges []*Exchange
	requests  int
	callouts  []*Callout
	// faults are the filter's mistakes in the current step. The end of the step reports them to the test.
	faults []string
}

// New starts the filter in the file wasm with its configuration. A filter that does not start fails the test; a test
// that expects this uses [Start]. The host ends with the test. If the test fails, the filter's log is printed.
func New(t testing.TB, wasm, configuration string, options ...Option) *Host {
	t.Helper()
	h, err := Start(t, wasm, configuration, options...)
	if err != nil {
		t.Fatalf("filtertest: %v", err)
	}
	return h
}

// Start is [New] for tests that expect the filter to refuse to start. The error then wraps [ErrRefused] and contains
// the filter's log.
func Start(t testing.TB, wasm, configuration string, options ...Option) (*Host, error) {
	t.Helper()
	h := &Host{t: t, settings: defaults()}
	for _, o := range options {
		o(h.settings)
	}
	h.now = h.settings.start
	h.settings.plugin.Name = "filtertest"
	h.settings.plugin.Configuration = []byte(configuration)
	if i := h.settings.plugin.ReloadInterval; i > 0 && i < 2*time.Millisecond {
		return nil, fmt.Errorf("a reload interval of %s: Envoy divides by its half in milliseconds and does not survive "+
			"less than 2 ms", i)
	}
	module, err := os.ReadFile(wasm)
	if err != nil {
		return nil, fmt.Errorf("there is no module to test; build it first: %w", err)
	}
	cache, err := wasmhost.CacheDir()
	if err != nil {
		cache = "" // the module is then compiled each time
	}
	h.host, err = wasmhost.New(module, h.settings.plugin, wasmhost.Options{
		CacheDir: cache, Now: func() time.Time { return h.now }, Random: rand.NewChaCha8([32]byte{}),
		Log:       func(l wasmhost.Level, text string) { h.logs = append(h.logs, fmt.Sprintf("[%s] %s", l, text)) },
		Caller:    caller{h},
		Context:   h.settings.ctx,
		Violation: func(what string) { h.faults = append(h.faults, what) },
	})
	if err != nil {
		return nil, err
	}
	if h.worker, err = h.host.NewWorker(); err != nil {
		h.host.Close()
		if len(h.logs) > 0 {
			err = fmt.Errorf("%w; its log:\n%s", err, strings.Join(h.logs, "\n"))
		}
		return nil, err
	}
	t.Cleanup(func() {
		if t.Failed() && len(h.logs) > 0 {
			t.Logf("filtertest: the log:\n%s", strings.Join(h.logs, "\n"))
		}
		h.host.Close()
	})
	return h, nil
}

// Now returns the time on the host's clock.
func (h *Host) Now() time.Time { return h.now }

// Logs returns the log lines of the filter, and the host's lines about it, each with its level: "[warning] …".
func (h *Host) Logs() []string { return slices.Clone(h.logs) }

// Metrics returns the filter's counters and gauges by name. A histogram's value is the number of recorded values.
func (h *Host) Metrics() map[string]uint64 { return h.host.Metrics() }

// Stats returns whether the filter's VM has failed and how often it was replaced.
func (h *Host) Stats() Stats { return h.worker.Stats() }

// settle ends a step of the test. It hands what the filter has sent on to the client and the server, and fails the test
// for the filter's mistakes. The failure is reported at the test's line that caused it.
func (h *Host) settle(step string) {
	h.t.Helper()
	for _, x := range h.exchanges {
		x.deliver()
	}
	h.exchanges = slices.DeleteFunc(h.exchanges, func(x *Exchange) bool { return x.stream.Done() })
	faults := h.faults
	h.faults = nil
	for _, what := range faults {
		h.t.Errorf("filtertest: in %s: %s", step, what)
	}
}

// router implements [wasmhost.Router]. It is a type of its own so that [Host] does not export these methods.
type router struct{ host *Host }

// HasCluster implements [wasmhost.Router].
func (r router) HasCluster(name string) bool { return slices.Contains(r.host.settings.clusters, name) }

// Route implements [wasmhost.Router].
func (r router) Route(request *Headers) *Route { return r.host.settings.route(request) }
