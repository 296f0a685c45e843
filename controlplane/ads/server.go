package ads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
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
	maxRequest  = 16 << 20 // an Envoy that comes back names all that it holds
)

const useDelta = "state-of-the-world ADS is not served here: set api_type: DELTA_GRPC in the bootstrap's ads_config"

// Options of a Server.
type Options struct {
	// Log is told of Envoys coming and going and of what they refuse. Nil: nobody is.
	Log *slog.Logger
}

// Server serves delta ADS.
type Server struct {
	log     *slog.Logger
	changed chan struct{}

	mu       sync.Mutex
	snapshot snapshot // nil until the first Set: Envoys wait
	streams  map[*stream]struct{}
	counts   map[string]Count
}

// Count is how often something has happened to responses of one type, for all Envoys since the start.
type Count struct{ Sent, Accepted, Refused uint64 }

// New makes a server that has nothing to give yet.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		log: o.Log, changed: make(chan struct{}, 1), streams: map[*stream]struct{}{}, counts: map[string]Count{},
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
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	discovery.RegisterAggregatedDiscoveryServiceServer(g, &service{server: s, ctx: ctx})
	failed := make(chan error, 1)
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
	return delta.NewServer(s.ctx, st, nil).DeltaStreamHandler(g, resource.AnyType)
}
