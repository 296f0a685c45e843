package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

const (
	// maxMessage is the largest request of an Envoy, in bytes.
	maxMessage = 64 << 10
	// maxStreams is how many questions of one connection are answered at once.
	maxStreams = 4096
	// booksLimit is how long it may take to read all books.
	booksLimit = 30 * time.Second
)

// Serve answers Envoys at a listener until ctx ends, and what they have asked by then for drain at most.
func (s *Service) Serve(ctx context.Context, l net.Listener, drain time.Duration) error {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage), grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}))
	rlsv3.RegisterRateLimitServiceServer(server, s)
	grpc_health_v1.RegisterHealthServer(server, &health{service: s})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	stop := time.AfterFunc(drain, server.Stop)
	defer stop.Stop()
	server.GracefulStop()
	return <-ended
}

// health tells Envoys whether the service is ready, and control planes whether its ledger answers.
type health struct {
	grpc_health_v1.UnimplementedHealthServer
	service *Service
}

// Check implements the health service.
func (h *health) Check(ctx context.Context, r *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	ready := h.service.Ready
	if r.GetService() == contract.LedgerHealth {
		ready = h.service.pingLedger
	}
	if ready(ctx) != nil {
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}, nil
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// AddStatus adds /healthz, /ready and /books to a mux.
func (s *Service) AddStatus(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Ready(r.Context()); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /books", s.serveBooks)
}

// serveBooks writes the books of every client and model, and their sum.
func (s *Service) serveBooks(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), booksLimit)
	defer cancel()
	books, err := s.Books(ctx)
	if err != nil {
		http.Error(w, "the ledger does not answer", http.StatusServiceUnavailable)
		return
	}
	var sum ledger.Book
	for i := range books {
		sum.Add(&books[i])
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Books{books, sum}) // the client may have left
}

// Books is what /books answers.
type Books struct {
	Books []ledger.Book `json:"books"`
	Sum   ledger.Book   `json:"sum"`
}
