package wasmhost

import (
	"context"
	"io"
	"time"
)

// Plugin is a filter's configuration. Its fields are the same as in Envoy's envoy.extensions.wasm.v3.PluginConfig.
type Plugin struct {
	// Name appears in logs and metrics.
	Name string
	// RootID and VMID are available to the filter as properties.
	RootID, VMID string
	// VMConfiguration and Configuration are what the filter reads when it starts.
	VMConfiguration, Configuration []byte
	// Environment is vm_config.environment_variables.
	Environment map[string]string
	// AllowOnHeadersStopIteration decides what a pause in a headers callback means. If true, the headers are held and the
	// body callbacks run. If false, no callback runs until the filter resumes the stream.
	AllowOnHeadersStopIteration bool
	// IgnoresHeldHeaders makes the host send headers on although the filter has paused. Such hosts exist: an Envoy too old
	// for the field above, in a mesh that sets it. A filter should fail safely on them.
	IgnoresHeldHeaders bool
	FailurePolicy      FailurePolicy
	// ReloadInterval is reload_config.backoff.base_interval; 0 means Envoy's default of one second.
	ReloadInterval time.Duration
}

// FailurePolicy selects what happens to streams after the filter's VM has failed.
type FailurePolicy int

const (
	// FailReload starts a new VM for the next stream, as often as the back-off allows.
	FailReload FailurePolicy = iota
	// FailClosed answers every further stream 503.
	FailClosed
	// FailOpen passes every further stream on without the filter.
	FailOpen
)

// Level is a log level of proxy-wasm.
type Level int

// The levels of proxy_log.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
	Critical
)

// String returns the level's name as Envoy writes it.
func (l Level) String() string {
	names := [...]string{"trace", "debug", "info", "warning", "error", "critical"}
	if l < 0 || int(l) >= len(names) {
		return "unknown"
	}
	return names[l]
}

// Options are what a [Host] works with. The zero value is usable.
type Options struct {
	// CacheDir keeps the compiled module between processes. Empty: the module is compiled each time.
	CacheDir string
	// Now is the clock of the filter, its ticks and the back-off. Nil: [time.Now].
	Now func() time.Time
	// Random is the source of the filter's random bytes. Nil: [crypto/rand.Reader].
	Random io.Reader
	// Log receives the filter's log lines, and the host's lines about it. Nil: nothing is logged.
	Log func(Level, string)
	// Caller sends HTTP callouts. Nil: there are no clusters to call.
	Caller Caller
	// Violation is called when the filter makes a call that crashes Envoy: a reply or a close on a stream that is done.
	// Nil: the violation is logged as critical.
	Violation func(string)
	// Foreign are functions for proxy_call_foreign_function besides clear_route_cache.
	Foreign map[string]func(argument []byte) (result []byte, status Status)
	// Ticking is called when the time of a worker's next tick has changed; the driver must then ask [Worker.NextTick]
	// again.
	Ticking func(*Worker)
	// Buckets returns the upper bounds of a histogram's buckets, in ascending order, or nil for Envoy's defaults:
	// histogram_bucket_settings. Nil: all histograms have the defaults.
	Buckets func(name string) []float64
	// Node is the property node.id.
	Node string
	// Context is passed to wazero when it compiles and calls the module. It can carry a listener of calls
	// ([experimental.FunctionListenerFactory]). Nil: [context.Background].
	//
	// [experimental.FunctionListenerFactory]: https://pkg.go.dev/github.com/tetratelabs/wazero/experimental
	Context context.Context //nolint:containedctx // what wazero is called with as long as the host lives
}
