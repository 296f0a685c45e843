package pushed

import (
	"context"
	"errors"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadstatsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/harmonyedge/harmonyedge/sight/history"
)

// report is what Envoy 1.40 reports of servers of a cluster, in short. Each has had 7 good answers and 2 failures.
func report(cluster string, addresses ...string) *loadstatsv3.LoadStatsRequest {
	locality := &endpointv3.UpstreamLocalityStats{}
	for _, address := range addresses {
		locality.UpstreamEndpointStats = append(locality.UpstreamEndpointStats, &endpointv3.UpstreamEndpointStats{
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
				Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 8000}}}},
			TotalSuccessfulRequests: 7, TotalErrorRequests: 2, TotalIssuedRequests: 10,
		})
	}
	return &loadstatsv3.LoadStatsRequest{ClusterStats: []*endpointv3.ClusterStats{
		{ClusterName: cluster, UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{locality}}}}
}

type loadStream = loadstatsv3.LoadReportingService_StreamLoadStatsClient

// beginLoads begins a stream as Envoy does, and waits for the answer.
func beginLoads(t *testing.T, c *grpc.ClientConn, node string) loadStream {
	t.Helper()
	s, err := loadstatsv3.NewLoadReportingServiceClient(c).StreamLoadStats(t.Context(), grpc.WaitForReady(true))
	if err == nil {
		err = s.Send(&loadstatsv3.LoadStatsRequest{Node: &corev3.Node{Id: node}})
	}
	var answer *loadstatsv3.LoadStatsResponse
	if err == nil {
		answer, err = s.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	if !answer.GetSendAllClusters() || !answer.GetReportEndpointGranularity() ||
		answer.GetLoadReportingInterval().AsDuration() != loadsInterval {
		t.Errorf("the Envoy is asked for %v", answer)
	}
	return s
}

// ends waits for the end of a stream, and returns its code.
func ends(s loadStream) codes.Code {
	_, err := s.Recv()
	return status.Code(err)
}

// TestLoads: what Envoys have had of servers is in the history, but for servers and clusters that it does not know.
func TestLoads(t *testing.T) {
	h := history.New(history.Options{})
	h.SetServer(time.Now(), "p", "10.0.0.1:8000", history.ServerReading{Running: -1, Waiting: -1, Cache: -1})
	c := serve(t, New(h, nil, anyEnvoy))
	for _, node := range []string{"a", "b"} {
		s := beginLoads(t, c, node)
		for _, m := range []*loadstatsv3.LoadStatsRequest{
			report("harmony-pool-p", "10.0.0.1", "10.0.0.9", "no address"), report("harmony-controlplane", "10.0.0.1"),
			report("harmony-pool-q", "10.0.0.1"), {},
		} {
			if err := s.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		ends(s) // all reports are taken in by then
	}
	all := h.Window(5).Rows
	if len(all) != 1 || all[0].Requests == nil || *all[0].Requests != 18 || *all[0].Errors != 4 || all[0].Limited != nil {
		t.Errorf("%d rows: %+v", len(all), all)
	}
}

// TestLoadsOfOthers: a peer without an ADS stream of its own cannot report, and one that says nothing is let go.
func TestLoadsOfOthers(t *testing.T) {
	h := history.New(history.Options{})
	h.SetServer(time.Now(), "p", "10.0.0.1:8000", history.ServerReading{})
	r := New(h, nil, func(_ context.Context, name string) (string, error) {
		if name == "first" {
			return name, nil
		}
		return "", errors.New("no Envoy")
	})
	r.timeout = 50 * time.Millisecond
	c := serve(t, r)
	s := beginLoads(t, c, "other")
	if err := s.Send(report("harmony-pool-p", "10.0.0.1")); err != nil {
		t.Fatal(err)
	}
	if got := ends(s); got != codes.PermissionDenied {
		t.Errorf("a report of another peer: %v", got)
	}
	silent, err := loadstatsv3.NewLoadReportingServiceClient(c).StreamLoadStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := ends(silent); got != codes.DeadlineExceeded {
		t.Errorf("a silent peer: %v", got)
	}
	if all := h.Window(5).Rows; len(all) != 1 || all[0].Requests != nil {
		t.Errorf("%+v", all)
	}
}
