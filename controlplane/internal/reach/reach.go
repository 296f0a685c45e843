package reach

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/service/health/v3"
	"google.golang.org/grpc"
)

// Group is a set of servers that Envoys check in the same way.
type Group struct {
	Name string
	// Path is the path that a server must answer with status 200. If it is empty, Envoy only connects.
	Path     string
	Interval time.Duration
	Servers  []Server
}

func (g Group) equal(other Group) bool {
	return g.Name == other.Name && g.Path == other.Path && g.Interval == other.Interval &&
		slices.Equal(g.Servers, other.Servers)
}

// Server is one address of a [Group]. Host is the Host header of its checks.
type Server struct {
	Address netip.AddrPort
	Host    string
}

// Key identifies a server of a [Group].
type Key struct {
	Group   string
	Address netip.AddrPort
}

// Count is how many Envoys reach a server, and how many have checked it and do not reach it.
type Count struct{ Reach, Fail int }

// Options are the settings of a [Tracker]. The zero value is valid.
type Options struct {
	// Grace is how long bad reports do not count after an Envoy's first report on a server. Envoy reports a server as bad
	// until the first check has succeeded. 0 means 5 seconds.
	Grace time.Duration
	// Silence is how long a new stream may stay without a message. 0 means 30 seconds.
	Silence time.Duration
}

const (
	defaultGrace               = 5 * time.Second
	defaultFirstMessageTimeout = 30 * time.Second
)

// Tracker asks every connected Envoy to check the servers, and keeps the last report of each (RATIONALE.md#59). Its
// methods may be called by several goroutines at once.
type Tracker struct {
	grace               time.Duration
	firstMessageTimeout time.Duration
	changed             chan struct{}

	mu      sync.Mutex
	groups  []Group // those with servers, sorted by name
	spec    *healthv3.HealthCheckSpecifier
	wanted  map[Key]bool
	streams map[*stream]struct{}
}

// New returns a [Tracker] without servers.
func New(o Options) *Tracker {
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.Silence <= 0 {
		o.Silence = defaultFirstMessageTimeout
	}
	return &Tracker{grace: o.Grace, firstMessageTimeout: o.Silence, changed: make(chan struct{}, 1), spec: specifier(nil),
		streams: map[*stream]struct{}{}}
}

// Set replaces the servers that Envoys check. It keeps the reports on servers that stay. The caller must not change the
// groups' servers afterwards.
func (t *Tracker) Set(groups []Group) {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g Group) bool { return len(g.Servers) == 0 })
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.EqualFunc(groups, t.groups, Group.equal) {
		return
	}
	spec := specifier(groups)
	t.groups, t.spec, t.wanted = groups, spec, map[Key]bool{}
	for _, g := range groups {
		for _, s := range g.Servers {
			t.wanted[Key{g.Name, s.Address}] = true
		}
	}
	for s := range t.streams {
		s.setSpec(spec)
		maps.DeleteFunc(s.reports, func(k Key, _ *report) bool { return !t.wanted[k] })
	}
}

// Reports returns how many of the connected Envoys reach each server. A server without a report has no entry.
func (t *Tracker) Reports() map[Key]Count {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[Key]Count{}
	now := time.Now()
	for s := range t.streams {
		for k, r := range s.reports {
			c := all[k]
			switch {
			case r.healthy:
				c.Reach++
			case r.counts(now, t.grace):
				c.Fail++
			default:
				continue
			}
			all[k] = c
		}
	}
	return all
}

// Changed returns a channel that receives a value when reports have changed since the last value.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

func (t *Tracker) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Register adds the health discovery service to a gRPC server. Its streams end when ctx ends.
func (t *Tracker) Register(ctx context.Context, g grpc.ServiceRegistrar) {
	healthv3.RegisterHealthDiscoveryServiceServer(g, &service{tracker: t, ctx: ctx})
}

// report is the last report of one Envoy on one server.
type report struct {
	firstTime time.Time // when the Envoy first reported on the server
	healthy   bool
	pastGrace bool // the grace period is over, so a bad report counts
}

func (r *report) counts(now time.Time, grace time.Duration) bool {
	return r.pastGrace || now.Sub(r.firstTime) >= grace
}

// record records the reports of one message.
func (t *Tracker) record(s *stream, m *healthv3.EndpointHealthResponse) {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := false
	now := time.Now()
	for _, c := range m.GetClusterEndpointsHealth() {
		for _, locality := range c.GetLocalityEndpointsHealth() {
			for _, e := range locality.GetEndpointsHealth() {
				key, ok := keyOf(c.GetClusterName(), e)
				if !ok || !t.wanted[key] {
					continue
				}
				r := s.reports[key]
				if r == nil {
					r = &report{firstTime: now}
					s.reports[key] = r
				}
				healthy := e.GetHealthStatus() == corev3.HealthStatus_HEALTHY
				pastGrace := healthy || r.counts(now, t.grace)
				changed = changed || healthy != r.healthy || pastGrace != r.pastGrace
				r.healthy, r.pastGrace = healthy, pastGrace
			}
		}
	}
	if changed {
		t.notify()
	}
}
