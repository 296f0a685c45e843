//go:build e2e

package tracing

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// span is a span with the name of the service that has sent it.
type span struct {
	*tracepb.Span
	service string
}

// attributes returns the values of a list of attributes.
func attributes(list []*commonpb.KeyValue) map[string]any {
	all := map[string]any{}
	for _, kv := range list {
		all[kv.Key] = valueOf(kv.Value)
	}
	return all
}

func valueOf(v *commonpb.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return v.DoubleValue
	case *commonpb.AnyValue_BoolValue:
		return v.BoolValue
	case *commonpb.AnyValue_ArrayValue:
		list := []any{}
		for _, one := range v.ArrayValue.GetValues() {
			list = append(list, valueOf(one))
		}
		return list
	}
	return nil
}

// collector is a receiver of OTLP, over gRPC and HTTP.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	grpcURL, httpURL string

	mu    sync.Mutex
	spans []span
	// raw is everything that was sent, for searches of what must not be in it.
	raw     []byte
	changed chan struct{}
}

// startCollector runs a collector until the test ends.
func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{changed: make(chan struct{})}
	serve := func(serve func(net.Listener) error) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = serve(l) }()
		return "http://" + l.Addr().String()
	}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	web := &http.Server{Handler: http.HandlerFunc(c.serveHTTP)}
	c.grpcURL, c.httpURL = serve(server.Serve), serve(web.Serve)+"/v1/traces"
	t.Cleanup(func() {
		server.Stop()
		web.Close()
	})
	return c
}

func (c *collector) serveHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	export := &collectorpb.ExportTraceServiceRequest{}
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.take(export)
	w.Header().Set("content-type", "application/x-protobuf")
}

// Export implements the trace service of OTLP.
func (c *collector) Export(_ context.Context, r *collectorpb.ExportTraceServiceRequest,
) (*collectorpb.ExportTraceServiceResponse, error) {
	c.take(r)
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (c *collector) take(r *collectorpb.ExportTraceServiceRequest) {
	raw, err := proto.Marshal(r)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, raw...)
	for _, from := range r.GetResourceSpans() {
		service, _ := attributes(from.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range from.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, span{s, service})
			}
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// wait returns the spans as soon as enough reports that they are all there.
func (c *collector) wait(t *testing.T, enough func([]span) bool) []span {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	for {
		c.mu.Lock()
		spans, changed := c.spans[:len(c.spans):len(c.spans)], c.changed
		c.mu.Unlock()
		if enough(spans) {
			return spans
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("not all spans have come:\n%v", spans)
		}
	}
}
