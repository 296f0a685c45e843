package wasmhost

import (
	"io"
	"time"
)

// Plugin is a filter's configuration. Its fields are those of Envoy's envoy.extensions.wasm.v3.PluginConfig.
type Plugin struct {
	// Name stands in logs and metrics.
	Name string
	// RootID and VMID are what the filter may ask for as properties.
	RootID, VMID string
	// VMConfiguration and Configuration are what the filter reads when it starts.
	VMConfiguration, Configuration []byte
	// Environment is the module's, as vm_config.environment_variables.
	Environment map[string]string
	// AllowOnHeadersStopIteration decides what it means to pause in a headers callback. With it the headers are held
	// and the body callbacks run; without it nothing runs until the filter resumes the stream.
	AllowOnHeadersStopIteration bool
	// IgnoresHeldHeaders makes a host that Envoy is not: one that sends the headers on though the filter has paused.
	// There are such (an Envoy that does not know the field above in a mesh that sets it), and a filter had better fail
	// safely on them.
	IgnoresHeldHeaders bool
	FailurePolicy      FailurePolicy
	// ReloadInterval is reload_config.backoff.base_interval; 0 is Envoy's default of a second.
	ReloadInterval time.Duration
}

// FailurePolicy says what becomes of streams once the filter's VM has failed.
type FailurePolicy int

const (
	// FailReload starts a new VM for the next stream, as often as the back-off allows.
	FailReload FailurePolicy = iota
	// FailClosed answers every stream 503 for ever.
	FailClosed
	// FailOpen lets every stream pass as if there were no filter.
	FailOpen
)

// Level is a proxy-wasm log level.
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

// String is the level's name as Envoy writes it.
func (l Level) String() string {
	names := [...]string{"trace", "debug", "info", "warning", "error", "critical"}
	if l < 0 || int(l) >= len(names) {
		return "unknown"
	}
	return names[l]
}

// Options is what a [Host] works with. The zero value is usable.
type Options struct {
	// CacheDir keeps the compiled module from one process to the next. Empty: it is compiled each time.
	CacheDir string
	// Now is the time that the filter sees and that ticks and back-off go by. Nil: the system's.
	Now func() time.Time
	// Random is where the filter's random bytes come from. Nil: the system.
	Random io.Reader
	// Log gets what the filter logs, and what the host has to say about it. Nil: nothing is logged.
	Log func(Level, string)
	// Caller performs HTTP callouts. Nil: there are no clusters to call.
	Caller Caller
	// Violation is told of an act that Envoy does not survive: a reply to a stream that is done, or its close. Nil: it
	// is logged as critical.
	Violation func(string)
	// Foreign are functions for proxy_call_foreign_function beyond clear_route_cache.
	Foreign map[string]func(argument []byte) (result []byte, status Status)
	// Ticking is called when a filter has asked for ticks: whoever drives the workers has to look at [Worker.NextTick]
	// again.
	Ticking func(*Worker)
	// Node is the property node.id.
	Node string
}
