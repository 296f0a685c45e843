package filtertest

import (
	"context"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// settings are the values that options change.
type settings struct {
	plugin         wasmhost.Plugin
	client, server Protocol
	bufferLimit    int
	idleTimeout    time.Duration
	route          func(*Headers) *Route
	clusters       []string
	onCallout      func(*Callout)
	start          time.Time
	ctx            context.Context //nolint:containedctx // handed on to wazero
}

// Server is the cluster that receives every request unless [Routes] says otherwise.
const Server = "server"

// Envoy's default buffer limits: per_connection_buffer_limit_bytes and, over HTTP/2, initial_stream_window_size.
const (
	bufferLimitHTTP1 = 1 << 20
	bufferLimitHTTP2 = 16 << 20
)

func defaults() *settings {
	route := &Route{Name: "default", VirtualHost: "filtertest", Cluster: Server}
	return &settings{
		plugin:   wasmhost.Plugin{AllowOnHeadersStopIteration: true},
		route:    func(*Headers) *Route { return route },
		clusters: []string{Server},
		start:    time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC),
	}
}

// Option changes one setting of a [Host].
type Option func(*settings)

// Protocols sets what the client and the server speak. The default for both is HTTP/1.1.
func Protocols(client, server Protocol) Option {
	return func(s *settings) { s.client, s.server = client, server }
}

// AllowOnHeadersStopIteration sets Envoy's option allow_on_headers_stop_iteration: whether body callbacks run while the
// filter pauses in a headers callback. The default here is true; Envoy's own default is false.
func AllowOnHeadersStopIteration(on bool) Option {
	return func(s *settings) { s.plugin.AllowOnHeadersStopIteration = on }
}

// BufferLimit sets how many bytes of a body the filter may hold: per_connection_buffer_limit_bytes or, where the client
// speaks HTTP/2, initial_stream_window_size. The defaults are Envoy's: 1 MiB and 16 MiB.
func BufferLimit(bytes int) Option { return func(s *settings) { s.bufferLimit = bytes } }

// OnFailure sets Envoy's failure_policy: what happens to requests after the VM has failed. The default is [FailReload].
func OnFailure(p FailurePolicy) Option { return func(s *settings) { s.plugin.FailurePolicy = p } }

// ReloadInterval sets reload_config.backoff.base_interval. The default is Envoy's, one second. Like Envoy, the host
// adds a random delay of up to half the interval, so a new VM is certain only after one and a half intervals.
func ReloadInterval(d time.Duration) Option {
	return func(s *settings) { s.plugin.ReloadInterval = d }
}

// IdleTimeout sets stream_idle_timeout: a stream without activity for this long is answered 408 or 504. The default is
// no timeout.
func IdleTimeout(d time.Duration) Option { return func(s *settings) { s.idleTimeout = d } }

// VMConfiguration sets vm_config.configuration.
func VMConfiguration(text string) Option {
	return func(s *settings) { s.plugin.VMConfiguration = []byte(text) }
}

// Environment sets vm_config.environment_variables.
func Environment(variables map[string]string) Option {
	return func(s *settings) { s.plugin.Environment = variables }
}

// RootID sets root_id, which selects one of several plugins in a module.
func RootID(id string) Option { return func(s *settings) { s.plugin.RootID = id } }

// Routes sets the function that chooses routes. It returns nil for a request without a route, which is answered 404. It
// is called again after the filter has changed a request header. By default every request goes to the cluster [Server],
// without a timeout.
func Routes(choose func(request *Headers) *Route) Option {
	return func(s *settings) { s.route = choose }
}

// Clusters sets which clusters exist, for routes and for callouts. The default is [Server] alone. A route to any other
// cluster returns 503; a callout to any other fails at once.
func Clusters(names ...string) Option { return func(s *settings) { s.clusters = names } }

// OnCallout sets a function that answers the filter's callouts as they are made. By default they wait for the test: see
// [Host.Callout].
func OnCallout(answer func(*Callout)) Option { return func(s *settings) { s.onCallout = answer } }

// StartAt sets the time at which the clock starts. The default is 2026-01-02 03:04:05 UTC.
func StartAt(t time.Time) Option { return func(s *settings) { s.start = t } }

// Context sets the context with which wazero compiles and calls the filter. It can carry a listener of calls, for
// profiles: see [wasmhost.Options].
func Context(ctx context.Context) Option { return func(s *settings) { s.ctx = ctx } }
