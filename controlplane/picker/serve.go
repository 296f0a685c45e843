package picker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
)

const (
	// maxConnections is how many connections there may be at once. Each worker of each Envoy has one.
	maxConnections = 4096
	// maxMessage is the largest message, in bytes: the headers of a request, or a part of a body.
	maxMessage = 2 << 20
	// A connection that has been silent for pingAfter is asked for a sign of life, and has pingTimeout for it.
	pingAfter   = 30 * time.Second
	pingTimeout = 10 * time.Second
	// handshakeTimeout is how long the handshakes of a new connection may take.
	handshakeTimeout = 10 * time.Second
	// stopTimeout is how long answers may take when the program ends. The streams of requests that run are cut: Envoy goes
	// on without them.
	stopTimeout = 100 * time.Millisecond
)

// Service serves a [Picker] to Envoys.
type Service struct {
	picker  *Picker
	metrics *metrics
	log     *slog.Logger
}

// NewService returns a service. If log is nil, nothing is logged.
func NewService(p *Picker, log *slog.Logger) *Service {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Service{picker: p, metrics: newMetrics(p), log: log}
}

// Collector returns the metrics.
func (s *Service) Collector() prometheus.Collector { return s.metrics }

// StatusHandler returns a handler that answers with the pools and their servers as JSON.
func (s *Service) StatusHandler() http.Handler { return http.HandlerFunc(s.picker.serveStatus) }

// Serve serves on l until ctx ends, and closes l. It returns nil after ctx has ended.
func (s *Service) Serve(ctx context.Context, l net.Listener) error {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	procv3.RegisterExternalProcessorServer(g, &processor{picker: s.picker, metrics: s.metrics, log: s.log, ctx: ctx})
	g.RegisterService(&statusDesc, s.picker)
	// It serves only when servers are known, so all that can be asked of is well until it ends.
	state := health.NewServer()
	for _, service := range []string{protocol.Liveness, protocol.Readiness, protocol.ExternalProcessor} {
		state.SetServingStatus(service, healthv1.HealthCheckResponse_SERVING)
	}
	healthv1.RegisterHealthServer(g, state)
	failed := make(chan error, 1)
	go func() { failed <- g.Serve(netutil.LimitListener(l, maxConnections)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("picker: %w", err)
	case <-ctx.Done():
	}
	state.Shutdown()
	force := time.AfterFunc(stopTimeout, g.Stop)
	defer force.Stop()
	g.GracefulStop()
	if err := <-failed; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("picker: %w", err)
	}
	return nil
}
