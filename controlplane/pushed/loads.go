package pushed

import (
	"context"
	"math"
	"net/netip"
	"strings"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// loadsInterval is how often an Envoy reports what it has had of each server.
const loadsInterval = 10 * time.Second

// loads takes in the reports of Envoys on single servers, by Envoy's load reporting service (LRS). Envoy's metrics have
// no label for servers (RATIONALE.md#268).
type loads struct {
	loadstatsv3.UnimplementedLoadReportingServiceServer
	*Receiver
	ctx context.Context
}

// RegisterLoads adds the load reporting service to a gRPC server. Its streams end when ctx ends.
func (r *Receiver) RegisterLoads(ctx context.Context, g grpc.ServiceRegistrar) {
	loadstatsv3.RegisterLoadReportingServiceServer(g, &loads{Receiver: r, ctx: ctx})
}

// StreamLoadStats serves one Envoy's stream: the first message names the Envoy, and each later one is a report.
func (l *loads) StreamLoadStats(g loadstatsv3.LoadReportingService_StreamLoadStatsServer) error {
	failed, first := make(chan error, 1), make(chan struct{})
	go func() { failed <- l.receive(g, first) }() // ends at the latest when this returns
	late := time.NewTimer(l.timeout)
	defer late.Stop()
	for {
		select {
		case <-first:
			late.Stop()
			first = nil
			if err := g.Send(&loadstatsv3.LoadStatsResponse{SendAllClusters: true, ReportEndpointGranularity: true,
				LoadReportingInterval: durationpb.New(loadsInterval)}); err != nil {
				return err
			}
		case err := <-failed:
			return err
		case <-late.C:
			return status.Errorf(codes.DeadlineExceeded, "load reports: no message on this stream within %s", l.timeout)
		case <-l.ctx.Done():
			return nil
		}
	}
}

// receive takes in reports until the stream ends. It closes first at the first message.
func (l *loads) receive(g loadstatsv3.LoadReportingService_StreamLoadStatsServer, first chan<- struct{}) error {
	name := ""
	for begun := false; ; begun = true {
		m, err := g.Recv()
		switch {
		case err != nil:
			return err
		case !begun:
			name = m.GetNode().GetId()
			close(first)
			continue
		}
		// The Envoy's ADS stream may begin after this one, but not after a report.
		if _, err := l.envoyOf(g.Context(), name); err != nil {
			return status.Error(codes.PermissionDenied, "load reports: "+err.Error())
		}
		l.addLoads(time.Now(), m)
	}
}

// addLoads adds a report to the history.
func (l *loads) addLoads(now time.Time, m *loadstatsv3.LoadStatsRequest) {
	for _, cluster := range m.GetClusterStats() {
		pool, ok := strings.CutPrefix(cluster.GetClusterName(), contract.PoolClusterPrefix)
		if !ok {
			continue
		}
		for _, locality := range cluster.GetUpstreamLocalityStats() {
			for _, s := range locality.GetUpstreamEndpointStats() {
				if at, ok := addressOf(s); ok {
					failed := float64(s.GetTotalErrorRequests())
					l.history.AddServer(now, pool, at.String(), float64(s.GetTotalSuccessfulRequests())+failed, failed)
				}
			}
		}
	}
}

func addressOf(s *endpointv3.UpstreamEndpointStats) (netip.AddrPort, bool) {
	socket := s.GetAddress().GetSocketAddress()
	ip, err := netip.ParseAddr(socket.GetAddress())
	port := socket.GetPortValue()
	return netip.AddrPortFrom(ip, uint16(port)), err == nil && port <= math.MaxUint16
}
