package pushed

import (
	"context"
	"fmt"
	"math"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/sight/history"
)

// method is the call with which OTLP pushes metrics.
const method = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

// anyEnvoy believes the name in a push.
func anyEnvoy(_ context.Context, name string) (string, error) { return name, nil }

// serve serves a receiver, and returns a connection to it.
func serve(t *testing.T, r *Receiver) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := grpc.NewServer()
	r.Register(ctx, g)
	r.RegisterLoads(ctx, g)
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		g.GracefulStop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

func text(name, value string) *commonv1.KeyValue {
	return &commonv1.KeyValue{Key: name, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}}
}

const cumulative = metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

// data is what Envoy 1.40 pushes, in short.
func data(name string, started uint64, tokens int64) *metricsv1.MetricsData {
	return &metricsv1.MetricsData{ResourceMetrics: []*metricsv1.ResourceMetrics{{
		Resource: &resourcev1.Resource{Attributes: []*commonv1.KeyValue{text("service.name", "harmony-edge"),
			text(InstanceAttribute, name)}},
		ScopeMetrics: []*metricsv1.ScopeMetrics{{Metrics: []*metricsv1.Metric{
			{Name: "wasmcustom.harmony_tokens_total", Data: &metricsv1.Metric_Sum{Sum: &metricsv1.Sum{
				AggregationTemporality: cumulative, IsMonotonic: true, DataPoints: []*metricsv1.NumberDataPoint{{
					Attributes:        []*commonv1.KeyValue{text("kind", "final"), text("model", "gpt-oss-120b")},
					StartTimeUnixNano: started, Value: &metricsv1.NumberDataPoint_AsInt{AsInt: tokens}}}}}},
			{Name: "http.downstream_rq_active", Data: &metricsv1.Metric_Gauge{Gauge: &metricsv1.Gauge{
				DataPoints: []*metricsv1.NumberDataPoint{{Attributes: []*commonv1.KeyValue{
					text("envoy.http_conn_manager_prefix", "harmony")}, Value: &metricsv1.NumberDataPoint_AsInt{AsInt: 3}}}}}},
			{Name: "wasmcustom.harmony_time_to_first_token_milliseconds", Data: &metricsv1.Metric_Histogram{
				Histogram: &metricsv1.Histogram{AggregationTemporality: cumulative,
					DataPoints: []*metricsv1.HistogramDataPoint{{StartTimeUnixNano: started,
						BucketCounts: []uint64{0, 0, 0, uint64(tokens), 0}, ExplicitBounds: []float64{10, 25, 50, 100}}}}}},
			{Name: "cluster_manager.cluster_added", Data: &metricsv1.Metric_Sum{Sum: &metricsv1.Sum{
				AggregationTemporality: cumulative, DataPoints: []*metricsv1.NumberDataPoint{{StartTimeUnixNano: started,
					Value: &metricsv1.NumberDataPoint_AsInt{AsInt: 4}}}}}},
		}}},
	}}}
}

// pushes pushes, and returns the answer's error.
func pushes(t *testing.T, c *grpc.ClientConn, m proto.Message) error {
	t.Helper()
	return c.Invoke(t.Context(), method, m, &emptypb.Empty{}, grpc.WaitForReady(true))
}

// seen returns what a history shows, as text: of rates the sum, and of the others the newest value.
func seen(h *history.History) string {
	var all strings.Builder
	for _, s := range h.Page().Series {
		shown := 0.0
		for _, v := range s.Values {
			switch {
			case math.IsNaN(float64(v)):
			case s.Name == history.TokensPerSecond:
				shown += float64(v)
			default:
				shown = float64(v)
			}
		}
		fmt.Fprintln(&all, s.Name, s.Labels, math.Round(shown*10)/10)
	}
	return all.String()
}

// TestPushed: what two Envoys of the same name push is in the history, and each is compared with itself.
func TestPushed(t *testing.T) {
	h := history.New(history.Options{Now: func() time.Time { return time.Now().Add(7 * time.Second) }})
	c := serve(t, New(h, nil, anyEnvoy))
	for _, tokens := range []int64{100, 600} {
		for _, started := range []uint64{1, 2} {
			if err := pushes(t, c, data("edge", started, tokens)); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := seen(h)
	for _, want := range []string{"tokens_per_second map[kind:final] 200\n", "streams map[] 6\n",
		"first_token_ms map[quantile:0.5] 75\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}

// TestRefused: what is no push is refused, and the next push is taken.
func TestRefused(t *testing.T) {
	r := New(history.New(history.Options{}), nil, anyEnvoy)
	c := serve(t, r)
	deltas := data("edge", 1, 1)
	deltas.ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetSum().AggregationTemporality =
		metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	for name, m := range map[string]proto.Message{
		"too large": data(strings.Repeat("x", maxPush), 1, 1),
		"no OTLP":   wrapperspb.Bytes([]byte{0xff}),
		"deltas":    deltas,
	} {
		if err := pushes(t, c, m); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := pushes(t, c, &emptypb.Empty{}); err != nil {
		t.Errorf("a push of nothing: %v", err)
	}
	if err := pushes(t, c, data(strings.Repeat("x", maxName+1), 1, 1)); err != nil {
		t.Errorf("a long name: %v", err)
	}
	if taken, refused := r.Counts(); taken != 2 || refused != 3 {
		t.Errorf("%d were taken in, and %d refused", taken, refused)
	}
}

// TestSlow: a peer that sends nothing does not stay.
func TestSlow(t *testing.T) {
	r := New(history.New(history.Options{}), nil, anyEnvoy)
	r.timeout = 10 * time.Millisecond
	s, err := serve(t, r).NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, method, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the answer is %v", err)
	}
}

// TestMany: 2,000 Envoys that push at once, again and again, take little memory.
func TestMany(t *testing.T) {
	h := history.New(history.Options{MaxSenders: 4000})
	c := serve(t, New(h, nil, anyEnvoy))
	before := heap()
	for round := range int64(3) {
		var pushing sync.WaitGroup
		failed := make(chan error, 2000)
		for i := range 2000 {
			pushing.Go(func() { failed <- pushes(t, c, data(fmt.Sprint("edge-", i), 1, round)) })
		}
		pushing.Wait()
		for range 2000 {
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
		}
	}
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("2,000 Envoys take %d bytes", grown)
	} else {
		t.Logf("2,000 Envoys take %d KiB", grown>>10)
	}
	if h.Dropped() != 0 {
		t.Errorf("%d values are dropped", h.Dropped())
	}
}

// heap returns the heap in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}
