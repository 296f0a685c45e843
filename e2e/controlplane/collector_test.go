//go:build e2e

package controlplane

import (
	"maps"
	"net"
	"testing"
	"time"

	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// collector is an OTLP collector for metrics.
type collector struct {
	address string
	pushes  chan *metricsv1.MetricsData
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{address: l.Addr().String(), pushes: make(chan *metricsv1.MetricsData, 64)}
	g := grpc.NewServer()
	// A stream of one message each way is the unary call on the wire. MetricsData is the call's message there.
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.metrics.v1.MetricsService", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Export", ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			m := &metricsv1.MetricsData{}
			if err := s.RecvMsg(m); err != nil {
				return err
			}
			select {
			case c.pushes <- m:
			default: // the test has seen enough
			}
			return s.SendMsg(&emptypb.Empty{})
		}}},
	}, c)
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// point is one value of a push.
type point struct {
	labels     map[string]string
	value      int64
	cumulative bool
}

// read returns the attributes of a push's Envoy, and the sums and counts of its metrics by name.
func read(m *metricsv1.MetricsData) (envoy map[string]string, points map[string][]point) {
	envoy, points = map[string]string{}, map[string][]point{}
	for _, r := range m.GetResourceMetrics() {
		for _, a := range r.GetResource().GetAttributes() {
			envoy[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				add := func(d *metricsv1.NumberDataPoint, value int64, temporality metricsv1.AggregationTemporality) {
					labels := map[string]string{}
					for _, a := range d.GetAttributes() {
						labels[a.GetKey()] = a.GetValue().GetStringValue()
					}
					points[m.GetName()] = append(points[m.GetName()], point{labels, value,
						temporality == metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE})
				}
				for _, d := range m.GetSum().GetDataPoints() {
					add(d, d.GetAsInt(), m.GetSum().GetAggregationTemporality())
				}
				for _, d := range m.GetHistogram().GetDataPoints() {
					add(nil, int64(d.GetCount()), m.GetHistogram().GetAggregationTemporality())
				}
			}
		}
	}
	return envoy, points
}

// TestMetricsCollector: a collector gets the filter's metrics under the names of docs/metrics.md, with their labels, and
// Envoy's own metrics too. The control plane still gets its own.
func TestMetricsCollector(t *testing.T) {
	_, gpu := lab.RunSim(t, sim.Options{})
	p := startPlane(t, planeSettings{servers: []string{gpu}})
	c := startCollector(t)
	_, address := lab.StartEdge(t, lab.EdgeBootstrap(t, p.xds, "edge%1", "--metrics-otlp", "http://"+c.address))
	client := lab.HTTP1(t)
	for range 3 {
		if a := lab.AskChat(client, "http://"+address); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	has := func(points []point, value int64, labels map[string]string) bool {
		for _, one := range points {
			if one.cumulative && one.value >= value && maps.Equal(one.labels, labels) {
				return true
			}
		}
		return false
	}
	for limit := time.After(lab.Patience); ; {
		var envoy map[string]string
		var points map[string][]point
		select {
		case m := <-c.pushes:
			envoy, points = read(m)
		case <-limit:
			t.Fatalf("the metrics do not come: %v %v", envoy, points)
		}
		if envoy["service.name"] == "harmony-edge" && envoy["service.instance.id"] == "edge%1" &&
			has(points["harmony_requests_total"], 3, map[string]string{"model": lab.Model, "api": "chat", "status": "200"}) &&
			has(points["harmony_tokens_total"], 1, map[string]string{"model": lab.Model, "kind": "prompt"}) &&
			has(points["harmony_tokens_total"], 1, map[string]string{"model": lab.Model, "kind": "final"}) &&
			has(points["harmony_time_to_first_token_milliseconds"], 3, map[string]string{}) &&
			len(points["cluster.upstream_rq_total"]) > 0 {
			break
		}
	}
	openPage(t, p.status).until("the control plane has them too", nil, func(s sampled) bool { return s.has("streams") })
}
