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
	"google.golang.org/protobuf/proto"
)

// Group is a set of servers that are checked alike.
type Group struct {
	Name string
	// Path is what a server must answer with status 200. Empty: a connection is enough.
	Path     string
	Interval time.Duration
	Servers  []Server
}

// Server is one address of a group. Host is the Host header of its checks.
type Server struct {
	Address netip.AddrPort
	Host    string
}

// Key names a server of a group.
type Key struct {
	Group   string
	Address netip.AddrPort
}

// Count is how many Envoys reach a server, and how many have tried and do not.
type Count struct{ Reach, Fail int }

// Options of a [Tracker].
type Options struct {
	// Grace is how long the bad reports of an Envoy that has just been given a server do not count: Envoy calls a server
	// bad until its first check has succeeded. Zero: 5 seconds.
	Grace time.Duration
	// Silence is how long a stream may say nothing after it has begun. Zero: 30 seconds.
	Silence time.Duration
}

const (
	defaultGrace   = 5 * time.Second
	defaultSilence = 30 * time.Second
)

// Tracker asks every connected Envoy to check the servers, and remembers what each has reported last. All methods may be
// called at the same time.
type Tracker struct {
	grace   time.Duration
	silence time.Duration
	changed chan struct{}

	mu      sync.Mutex
	order   *healthv3.HealthCheckSpecifier
	wanted  map[Key]bool
	streams map[*stream]struct{}
}

// New makes a tracker without servers.
func New(o Options) *Tracker {
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.Silence <= 0 {
		o.Silence = defaultSilence
	}
	return &Tracker{grace: o.Grace, silence: o.Silence, changed: make(chan struct{}, 1), order: specifier(nil), streams: map[*stream]struct{}{}}
}

// Set replaces the servers that Envoys check. Reports on servers that stay are kept.
func (t *Tracker) Set(groups []Group) {
	groups = slices.SortedFunc(slices.Values(groups), func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	order := specifier(groups)
	t.mu.Lock()
	defer t.mu.Unlock()
	if proto.Equal(order, t.order) {
		return
	}
	t.order, t.wanted = order, map[Key]bool{}
	for _, g := range groups {
		for _, s := range g.Servers {
			t.wanted[Key{g.Name, s.Address}] = true
		}
	}
	for s := range t.streams {
		s.give(order)
		maps.DeleteFunc(s.reports, func(k Key, _ *report) bool { return !t.wanted[k] })
	}
}

// Reports are what the Envoys that are connected say. A server of which none has said anything is not there.
func (t *Tracker) Reports() map[Key]Count {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[Key]Count{}
	now := time.Now()
	for s := range t.streams {
		for k, r := range s.reports {
			c := all[k]
			switch {
			case r.well:
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

// Changed has a token when reports have changed since it last had one.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

func (t *Tracker) tell() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Register adds the service to a gRPC server. Its streams end with ctx.
func (t *Tracker) Register(ctx context.Context, g grpc.ServiceRegistrar) {
	healthv3.RegisterHealthDiscoveryServiceServer(g, &service{tracker: t, ctx: ctx})
}

// report is what one Envoy has said last of one server.
type report struct {
	first   time.Time // when it has first said anything
	well    bool
	settled bool // a bad report counts
}

func (r *report) counts(now time.Time, grace time.Duration) bool {
	return r.settled || now.Sub(r.first) >= grace
}

// hear takes the reports of one message, and tells of changes.
func (t *Tracker) hear(s *stream, m *healthv3.EndpointHealthResponse) {
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
					r = &report{first: now}
					s.reports[key] = r
				}
				well := e.GetHealthStatus() == corev3.HealthStatus_HEALTHY
				settled := well || r.counts(now, t.grace)
				changed = changed || well != r.well || settled != r.settled
				r.well, r.settled = well, settled
			}
		}
	}
	if changed {
		t.tell()
	}
}
