package ads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	// pingAfter is how long a connection may be silent before the server sends an HTTP/2 ping. A dead Envoy, or a
	// middlebox that has dropped the connection, is detected within pingAfter and pingTimeout.
	pingAfter   = 30 * time.Second
	pingTimeout = 10 * time.Second
	// minPingInterval is the shortest time between two pings of an Envoy. A connection with more frequent pings is closed.
	minPingInterval = 5 * time.Second
	stopTimeout     = 5 * time.Second
	// maxConnectionIdle is how long a connection may stay open without a stream.
	maxConnectionIdle = time.Minute
	// handshakeTimeout is how long the handshakes of a new connection may take.
	handshakeTimeout = 10 * time.Second
)

const useDelta = "state-of-the-world ADS is not served here: set api_type: DELTA_GRPC in the bootstrap's ads_config"

// Options are the settings of a [Server]. The zero value is valid.
type Options struct {
	// Log receives a line when an Envoy connects, when it disconnects, and when it refuses a resource. If Log is nil,
	// nothing is logged.
	Log *slog.Logger
	// Services registers more services with the gRPC server that Envoys connect to. Their streams must end when ctx ends.
	// It may be nil.
	Services func(ctx context.Context, g grpc.ServiceRegistrar)
	// Vary returns a configuration of an extension that has the same meaning as config but that Envoy does not recognise
	// as the same. Two results for the same variant are equal. If Vary is nil, the server may count an Envoy as holding a
	// configuration that the Envoy refused earlier (RATIONALE.md#90).
	Vary func(config *corev3.TypedExtensionConfig, variant uint32) *corev3.TypedExtensionConfig
	// Answered is called when an Envoy has accepted or refused a response, except when it has accepted weights alone. It
	// must not call the server. It may be nil.
	Answered func(Answer)
	// MaxEnvoys is how many Envoys may be connected at once. 0 means [DefaultMaxEnvoys].
	MaxEnvoys int
	// MaxInFlight is how many responses with configurations of extensions are sent at once. The next one is sent when an
	// Envoy has answered, or has taken too long. It is for variants that are large. 0 means no limit.
	MaxInFlight int
	// HoldRemovals is how long an Envoy keeps a cluster after it has accepted that nothing refers to it any more.
	HoldRemovals time.Duration
}

// Server serves delta ADS (RATIONALE.md#12). Its methods may be called by several goroutines at once.
type Server struct {
	log                 *slog.Logger
	services            func(ctx context.Context, g grpc.ServiceRegistrar)
	vary                func(config *corev3.TypedExtensionConfig, variant uint32) *corev3.TypedExtensionConfig
	answered            func(Answer)
	changed             chan struct{}
	maxEnvoys           int           // how many Envoys may be connected at once
	firstRequestTimeout time.Duration // how long a new stream may stay without a request
	open                atomic.Int64  // how many streams are open, of all services
	holdRemovals        time.Duration // see Options.HoldRemovals
	maxInFlight         int           // see Options.MaxInFlight
	slotTime            time.Duration // how long an Envoy may take to answer before the next one gets its slot
	answerTimeout       time.Duration // how long an Envoy may take to answer before its stream ends

	mu       sync.Mutex
	snapshot snapshot // nil until the first Set; until then Envoys wait
	streams  map[*stream]struct{}
	// extensions are the configurations of extensions in the snapshot, and others what chosen Envoys get in their place.
	extensions []types.Resource
	split      *Split // nil: all Envoys get the same
	others     *collection
	inFlight   int       // how many slots are taken
	waiting    []*stream // the streams that wait for a slot, the longest first
	counts     map[string]Count
	// refusedLogged is when a refused peer was last logged. refusedUnlogged is how many were refused and not logged since
	// then.
	refusedLogged   time.Time
	refusedUnlogged int
}

// Answer is what an Envoy has said to a response.
type Answer struct {
	// Envoy is the Envoy's id. Type is the short name of the resources' type (see [Types]), Version the version of which
	// they are, and Resources how many there were.
	Envoy, Type, Version string
	Resources            int
	// Sent is when the response was sent.
	Sent time.Time
	// Error is the text with which Envoy refused it, or empty.
	Error string
}

// Count is the number of responses of one type that were sent, accepted and refused. It covers all Envoys since the
// server was made.
type Count struct{ Sent, Accepted, Refused uint64 }

// New returns a server that has no resources yet. Envoys may connect, and wait until the first [Server.Set].
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		log: o.Log, services: o.Services, vary: o.Vary, answered: o.Answered, changed: make(chan struct{}, 1),
		streams: map[*stream]struct{}{},
		counts:  map[string]Count{}, maxInFlight: o.MaxInFlight, holdRemovals: o.HoldRemovals, slotTime: slotTime,
		answerTimeout: answerTimeout,
		maxEnvoys:     cmp.Or(o.MaxEnvoys, DefaultMaxEnvoys), firstRequestTimeout: firstRequestTimeout,
	}
}

// Set replaces the resources of every Envoy, and reports whether their content has changed. It returns an error, and
// changes nothing, if the resources are not consistent. If their content is as before, nothing is sent. If only weights
// of endpoints have changed, they are sent, and changed is false: an Envoy is current without them, and no version shows
// them. The caller must not change r, its slices or its resources afterwards: what is passed again is not looked at
// again. Set never waits for an Envoy.
func (s *Server) Set(r Resources) (changed bool, err error) {
	s.mu.Lock()
	before := s.snapshot
	s.mu.Unlock()
	next, err := newSnapshot(r, before)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	equal, alike := next.equal(s.snapshot)
	if equal {
		s.snapshot = next
		return false, nil
	}
	others := s.others
	if t := resource.ExtensionConfigType; s.snapshot == nil || next[t] != s.snapshot[t] {
		if others, err = s.split.collection(r[t]); err != nil {
			return false, err
		}
	}
	s.snapshot, s.extensions, s.others = next, r[resource.ExtensionConfigType], others
	for st := range s.streams {
		st.push()
	}
	if alike {
		return false, nil
	}
	s.notify()
	return true, nil
}

// Versions returns the versions of the present resources, by the short name of the type (see [Types]). A type without
// resources has no entry.
func (s *Server) Versions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := map[string]string{}
	for t, c := range s.snapshot {
		if c.version != "" {
			versions[shortNames[t]] = c.version
		}
	}
	return versions
}

// Counts returns the counts of responses, by the short name of the type (see [Types]).
func (s *Server) Counts() map[string]Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Changed returns a channel that receives a value when the resources change, when an Envoy connects or disconnects, and
// when an Envoy sends a request. The channel holds one value, however much has happened since it was last read.
func (s *Server) Changed() <-chan struct{} { return s.changed }

func (s *Server) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Serve serves on l until ctx ends, and closes l. It returns nil after ctx has ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.StreamInterceptor(s.admit),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: pingAfter, Timeout: pingTimeout, MaxConnectionIdle: maxConnectionIdle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	)
	discovery.RegisterAggregatedDiscoveryServiceServer(g, &service{server: s, ctx: ctx})
	if s.services != nil {
		s.services(ctx, g)
	}
	failed := make(chan error, 1)
	// There may be twice as many connections as Envoys, because an Envoy may reconnect before its old connection is known
	// to be dead.
	l = netutil.LimitListener(connections{l}, 2*s.maxEnvoys)
	go func() { failed <- g.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("ads: %w", err)
	case <-ctx.Done():
	}
	// The streams end with ctx. A connection that is still open after stopTimeout is cut.
	force := time.AfterFunc(stopTimeout, g.Stop)
	defer force.Stop()
	g.GracefulStop()
	if err := <-failed; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("ads: %w", err)
	}
	return nil
}

// admit refuses a stream of any service if too many streams are open.
func (s *Server) admit(service any, g grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	defer s.open.Add(-1)
	if s.open.Add(1) > int64(streamsOfEnvoy*s.maxEnvoys) {
		return status.Error(codes.ResourceExhausted, "ads: too many streams are open: see --max-envoys")
	}
	return handle(service, g)
}

// service implements the gRPC service for a [Server].
type service struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	server *Server
	ctx    context.Context
}

// StreamAggregatedResources refuses state-of-the-world ADS.
func (s *service) StreamAggregatedResources(
	discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, useDelta)
}

// DeltaAggregatedResources serves one stream of an Envoy, and logs why it is refused, if it is.
func (s *service) DeltaAggregatedResources(
	g discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	st := s.server.connect(g.Context())
	defer s.server.disconnect(st)
	err := s.serve(st, g)
	if code := status.Code(err); code != codes.OK && code != codes.Canceled {
		s.server.logRefused(st.address, err)
	}
	return err
}

func (s *service) serve(st *stream, g discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	if st.overLimit {
		return status.Errorf(codes.ResourceExhausted,
			"ads: %d Envoys are connected, which is the most that this control plane serves: see --max-envoys",
			s.server.maxEnvoys)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	peer := newGuard(g, s.server.firstRequestTimeout, cancel)
	defer peer.timer.Stop()
	st.end = func(reason error) {
		peer.refuse(reason)
		cancel()
	}
	err := delta.NewServer(ctx, st, nil).DeltaStreamHandler(peer, resource.AnyType)
	// The library takes a refused request for the end of the stream, so its error is not the reason.
	return cmp.Or(peer.refusal(), err)
}
