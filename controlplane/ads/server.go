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
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	pingAfter   = 30 * time.Second // of silence; a dead Envoy or a forgetful middlebox is found within this and the next
	pingTimeout = 10 * time.Second
	minPing     = 5 * time.Second // Envoys that ping more often are let go
	stopTimeout = 5 * time.Second
	// idleConnection is how long a connection may be there without a stream, shakeHands how long its beginning may take.
	idleConnection = time.Minute
	shakeHands     = 10 * time.Second
)

const useDelta = "state-of-the-world ADS is not served here: set api_type: DELTA_GRPC in the bootstrap's ads_config"

// Options of a Server.
type Options struct {
	// Log is told of Envoys coming and going and of what they refuse. Nil: nobody is.
	Log *slog.Logger
	// Services adds more services to the gRPC server that Envoys connect to. Their streams must end with ctx. Nil: none.
	Services func(ctx context.Context, g grpc.ServiceRegistrar)
	// Vary returns an extension's configuration that means the same and that Envoy takes for another one; two of one variant
	// are alike. Nil: an Envoy may be taken to hold a configuration that it has refused before.
	Vary func(config *corev3.TypedExtensionConfig, variant uint32) *corev3.TypedExtensionConfig
	// MaxEnvoys is how many Envoys may be connected at once; 0 is DefaultMaxEnvoys.
	MaxEnvoys int
}

// Server serves delta ADS.
type Server struct {
	log      *slog.Logger
	services func(ctx context.Context, g grpc.ServiceRegistrar)
	vary     func(config *corev3.TypedExtensionConfig, variant uint32) *corev3.TypedExtensionConfig
	changed  chan struct{}
	most     int           // Envoys at once
	silence  time.Duration // firstRequest, but in tests
	open     atomic.Int64  // streams of all services

	mu       sync.Mutex
	snapshot snapshot // nil until the first Set: Envoys wait
	streams  map[*stream]struct{}
	counts   map[string]Count
	// toldRefused is when a refusal was last told of, untold how many there have been since.
	toldRefused time.Time
	untold      int
}

// Count is how often something has happened to responses of one type, for all Envoys since the start.
type Count struct{ Sent, Accepted, Refused uint64 }

// New makes a server that has nothing to give yet.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		log: o.Log, services: o.Services, vary: o.Vary, changed: make(chan struct{}, 1), streams: map[*stream]struct{}{}, counts: map[string]Count{},
		most: cmp.Or(o.MaxEnvoys, DefaultMaxEnvoys), silence: firstRequest,
	}
}

// Set gives every Envoy these resources from now on. They are refused when they do not fit together; when their content
// is what it was, nothing is sent. They must not be changed afterwards. Set never waits for an Envoy.
func (s *Server) Set(r Resources) (changed bool, err error) {
	next, err := newSnapshot(r)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if next.equal(s.snapshot) {
		return false, nil
	}
	s.snapshot = next
	for st := range s.streams {
		st.push()
	}
	s.tell()
	return true, nil
}

// Versions are the versions of what Envoys get now, by the short name of the type. A type without resources has none.
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

// Counts are what has become of responses, by the short name of the type.
func (s *Server) Counts() map[string]Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Changed is told when there are other resources, when an Envoy comes or goes, and when one answers: once for all that
// has happened since it was last read.
func (s *Server) Changed() <-chan struct{} { return s.changed }

func (s *Server) tell() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Serve serves until ctx ends, and closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders), grpc.ConnectionTimeout(shakeHands),
		grpc.StreamInterceptor(s.admit),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout, MaxConnectionIdle: idleConnection}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	discovery.RegisterAggregatedDiscoveryServiceServer(g, &service{server: s, ctx: ctx})
	if s.services != nil {
		s.services(ctx, g)
	}
	failed := make(chan error, 1)
	// Twice as many connections as Envoys: one that comes back may do so before its old connection is known to be dead.
	l = netutil.LimitListener(l, 2*s.most)
	go func() { failed <- g.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("ads: %w", err)
	case <-ctx.Done():
	}
	// The streams end with ctx; an Envoy that does not take notice is cut off.
	force := time.AfterFunc(stopTimeout, g.Stop)
	defer force.Stop()
	g.GracefulStop()
	if err := <-failed; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("ads: %w", err)
	}
	return nil
}

// admit refuses a stream of any service when there are as many as all Envoys together may have.
func (s *Server) admit(service any, g grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	defer s.open.Add(-1)
	if s.open.Add(1) > int64(2*s.most) {
		return status.Error(codes.ResourceExhausted, "ads: too many streams are open: see --max-envoys")
	}
	return handle(service, g)
}

// service is what gRPC calls.
type service struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	server *Server
	ctx    context.Context
}

func (s *service) StreamAggregatedResources(discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented, useDelta)
}

func (s *service) DeltaAggregatedResources(g discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	st := s.server.connect(g.Context())
	defer s.server.disconnect(st)
	err := s.serve(st, g)
	if refused := status.Code(err); refused != codes.OK && refused != codes.Canceled {
		s.server.tellRefused(st.address, err)
	}
	return err
}

func (s *service) serve(st *stream, g discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	if st.beyond {
		return status.Errorf(codes.ResourceExhausted, "ads: %d Envoys are connected, which is the most that this control plane serves: see --max-envoys", s.server.most)
	}
	ctx, end := context.WithCancel(s.ctx)
	defer end()
	peer := newGuard(g, s.server.silence, end)
	defer peer.silence.Stop()
	err := delta.NewServer(ctx, st, nil).DeltaStreamHandler(peer, resource.AnyType)
	// The library takes a request that was refused for the end of the stream.
	return cmp.Or(peer.refused(), err)
}
