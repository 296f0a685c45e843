package filtertest

import (
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// settings are what options change.
type settings struct {
	plugin         wasmhost.Plugin
	client, server Protocol
	bufferLimit    int
	idleTimeout    time.Duration
	route          func(*Headers) *Route
	clusters       []string
	onCallout      func(*Callout)
	start          time.Time
}

// Server is the cluster that every request goes to unless [Routes] says otherwise.
const Server = "server"

// Envoy's limits where nothing is said: per_connection_buffer_limit_bytes, and over HTTP/2 initial_stream_window_size.
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

// Option is something about a host that is not as usual.
type Option func(*settings)

// Protocols says what the client and the server speak. Both speak HTTP/1.1 otherwise.
func Protocols(client, server Protocol) Option {
	return func(s *settings) { s.client, s.server = client, server }
}

// AllowOnHeadersStopIteration is Envoy's setting of that name: whether the body callbacks run while the filter pauses
// in a headers callback. It is on here unless this turns it off; in Envoy's configuration it is off unless set.
func AllowOnHeadersStopIteration(on bool) Option {
	return func(s *settings) { s.plugin.AllowOnHeadersStopIteration = on }
}

// BufferLimit is how much of a body the filter may have held, in bytes: per_connection_buffer_limit_bytes, and where
// the client speaks HTTP/2 initial_stream_window_size. Otherwise it is Envoy's default, 1 MiB and 16 MiB.
func BufferLimit(bytes int) Option { return func(s *settings) { s.bufferLimit = bytes } }

// OnFailure says what becomes of requests once the VM has failed: failure_policy. Otherwise it is [FailReload].
func OnFailure(p FailurePolicy) Option { return func(s *settings) { s.plugin.FailurePolicy = p } }

// ReloadInterval is reload_config.backoff.base_interval. Otherwise it is Envoy's default, a second. Envoy adds up to
// half of it by chance, and so does the host: only after one and a half intervals is a new VM certain.
func ReloadInterval(d time.Duration) Option {
	return func(s *settings) { s.plugin.ReloadInterval = d }
}

// IdleTimeout is stream_idle_timeout: a request on which nothing happens for so long is answered 408 or 504. Otherwise
// there is none.
func IdleTimeout(d time.Duration) Option { return func(s *settings) { s.idleTimeout = d } }

// VMConfiguration is vm_config.configuration.
func VMConfiguration(text string) Option {
	return func(s *settings) { s.plugin.VMConfiguration = []byte(text) }
}

// Environment is vm_config.environment_variables.
func Environment(variables map[string]string) Option {
	return func(s *settings) { s.plugin.Environment = variables }
}

// RootID is root_id, by which a module with several plugins knows which one is meant.
func RootID(id string) Option { return func(s *settings) { s.plugin.RootID = id } }

// Routes chooses routes; nil is no route, which is a 404. It is asked again when the filter has changed a request
// header. Otherwise every request goes to the cluster Server, without a time-out.
func Routes(choose func(request *Headers) *Route) Option {
	return func(s *settings) { s.route = choose }
}

// Clusters are the clusters that exist, for routes and for callouts. Otherwise it is only Server. A route to another is
// a 503, a callout to another fails at once.
func Clusters(names ...string) Option { return func(s *settings) { s.clusters = names } }

// OnCallout answers the filter's callouts as they are made. Without it they wait for the test; see [Host.Callout].
func OnCallout(answer func(*Callout)) Option { return func(s *settings) { s.onCallout = answer } }

// StartAt is the time at which the clock stands first. Otherwise it is 2026-01-02 03:04:05 UTC.
func StartAt(t time.Time) Option { return func(s *settings) { s.start = t } }
