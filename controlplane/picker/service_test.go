package picker

import (
	"context"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// running is a service that runs, and a client of it.
type running struct {
	*Service
	client procv3.ExternalProcessorClient
	health healthv1.HealthClient
	stop   func()
}

func serve(t *testing.T, pools map[string][]Server) *running {
	t.Helper()
	p := New(Options{})
	p.Set(pools)
	s := &running{Service: NewService(p, nil)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s.client, s.health = procv3.NewExternalProcessorClient(c), healthv1.NewHealthClient(c)
	return s
}

// open begins a request of a pool.
func (s *running) open(t *testing.T, pool string) procv3.ExternalProcessor_ProcessClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	if pool != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, protocol.PoolKey, pool)
	}
	stream, err := s.client.Process(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func headersOf(pairs ...string) *procv3.HttpHeaders {
	h := &procv3.HttpHeaders{Headers: &corev3.HeaderMap{}}
	for i := 0; i < len(pairs); i += 2 {
		h.Headers.Headers = append(h.Headers.Headers, &corev3.HeaderValue{Key: pairs[i], RawValue: []byte(pairs[i+1])})
	}
	return h
}

func requestOf(h *procv3.HttpHeaders) *procv3.ProcessingRequest {
	return &procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_RequestHeaders{RequestHeaders: h}}
}

func exchange(t *testing.T, stream procv3.ExternalProcessor_ProcessClient, r *procv3.ProcessingRequest,
) *procv3.ProcessingResponse {
	t.Helper()
	if err := stream.Send(r); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// destinations returns the servers in an answer's header. They must be those in its metadata.
func destinations(t *testing.T, a *procv3.ProcessingResponse) []string {
	t.Helper()
	set := a.GetRequestHeaders().GetResponse().GetHeaderMutation().GetSetHeaders()
	inMetadata := a.GetDynamicMetadata().GetFields()[protocol.Namespace].GetStructValue().
		GetFields()[contract.DestinationHeader].GetStringValue()
	if len(set) == 0 && inMetadata == "" {
		return nil
	}
	if len(set) != 1 || set[0].GetHeader().GetKey() != contract.DestinationHeader ||
		string(set[0].GetHeader().GetRawValue()) != inMetadata {
		t.Fatalf("the headers are %v, the metadata %q", set, inMetadata)
	}
	return strings.Split(inMetadata, ",")
}

func (s *running) requests(pool string) (n int) {
	for _, one := range s.picker.status()[pool].servers {
		n += one.Running
	}
	return n
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + ": it does not become so")
		}
	}
}

func TestRequest(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(4), "q": servers(1)})
	stream := s.open(t, "p")
	blocks := headersOf(":path", "/v1/completions", contract.BlocksHeader, "000000000000000a,00000000000000ff")
	a := exchange(t, stream, requestOf(blocks))
	first := destinations(t, a)
	if len(first) != 3 {
		t.Fatalf("chosen are %v", first)
	}
	if reason := a.GetDynamicMetadata().GetFields()[protocol.OwnNamespace].GetStructValue().GetFields()[protocol.ReasonKey]; reason.GetStringValue() != string(ReasonLoad) {
		t.Errorf("the reason is %v", reason)
	}
	if s.requests("p") != 1 || s.requests("q") != 0 {
		t.Errorf("%d and %d requests run", s.requests("p"), s.requests("q"))
	}
	for _, part := range []*procv3.ProcessingRequest{
		{Request: &procv3.ProcessingRequest_RequestBody{RequestBody: &procv3.HttpBody{Body: []byte("b"), EndOfStream: true}}},
		{Request: &procv3.ProcessingRequest_RequestTrailers{RequestTrailers: &procv3.HttpTrailers{}}},
		{Request: &procv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: headersOf(":status", "200")},
			MetadataContext: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
				protocol.Namespace: oneField(protocol.Served, first[1]).GetStructValue()}}},
		{Request: &procv3.ProcessingRequest_ResponseBody{ResponseBody: &procv3.HttpBody{Body: []byte("b")}}},
		{Request: &procv3.ProcessingRequest_ResponseTrailers{ResponseTrailers: &procv3.HttpTrailers{}}},
	} {
		exchange(t, stream, part)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request has ended", func() bool { return s.requests("p") == 0 })
	// first[1] has answered, so it has the prompt.
	if second := destinations(t, exchange(t, s.open(t, "p"), requestOf(blocks))); second[0] != first[1] {
		t.Errorf("chosen are %v after %v", second, first)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`harmony_picker_moved_total{pool="p"} 1`, `harmony_picker_running{pool="p"} 1`, `harmony_picker_servers{pool="q"} 1`,
		`harmony_picker_requests_total{pool="p",reason="load"} 1`, `harmony_picker_blocks_found_total{pool="p"} 2`,
		`harmony_picker_requests_total{pool="p",reason="prefix"} 1`, `harmony_picker_blocks_total{pool="p"} 4`,
		`harmony_picker_index_blocks{pool="p"} 4`, `harmony_picker_choice_seconds_count 2`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("the metrics have no %s:\n%s", want, &text)
		}
	}
	w := httptest.NewRecorder()
	s.StatusHandler().ServeHTTP(w, httptest.NewRequest("GET", "/status", nil))
	if !strings.Contains(w.Body.String(), `"address": "10.0.0.3:8000"`) {
		t.Errorf("the status is %s", w.Body)
	}
}

// TestNoServer: our Envoys get an answer without a server, and others the 503 of the protocol.
func TestNoServer(t *testing.T) {
	s := serve(t, map[string][]Server{"p": nil})
	for _, pool := range []string{"p", "other"} {
		a := exchange(t, s.open(t, pool), requestOf(headersOf()))
		if a.GetRequestHeaders() == nil || destinations(t, a) != nil {
			t.Errorf("%s: the answer is %v", pool, a)
		}
	}
	if a := exchange(t, s.open(t, ""), requestOf(headersOf())); a.GetImmediateResponse().GetStatus().GetCode() != 503 {
		t.Errorf("the answer is %v", a)
	}
}

func TestSubset(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(9)})
	ask := func(allowed ...string) *procv3.ProcessingResponse {
		var list []*structpb.Value
		for _, one := range allowed {
			list = append(list, structpb.NewStringValue(one))
		}
		r := requestOf(headersOf())
		r.MetadataContext = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{protocol.SubsetNamespace: {
			Fields: map[string]*structpb.Value{protocol.SubsetKey: structpb.NewListValue(&structpb.ListValue{Values: list})}}}}
		return exchange(t, s.open(t, ""), r)
	}
	if got := destinations(t, ask("10.0.0.7:8000", "10.9.9.9:8000")); !slices.Equal(got, []string{"10.0.0.7:8000"}) {
		t.Errorf("chosen are %v", got)
	}
	if a := ask(); a.GetImmediateResponse().GetStatus().GetCode() != 503 {
		t.Errorf("the answer for an empty subset is %v", a)
	}
}

// TestRude has messages that Envoy does not send.
func TestRude(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(2)})
	stream := s.open(t, "p")
	exchange(t, stream, requestOf(headersOf()))
	for _, r := range []*procv3.ProcessingRequest{requestOf(headersOf()), {}} {
		stream := s.open(t, "p")
		exchange(t, stream, requestOf(headersOf()))
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("got %v", err)
		}
	}
	eventually(t, "the others have ended", func() bool { return s.requests("p") == 1 })
	s.stop() // an open stream does not keep it
	if s.requests("p") != 0 {
		t.Error("a request runs after the end")
	}
}

func TestParseBlocks(t *testing.T) {
	for text, want := range map[string][]uint64{
		"":                                  nil,
		"0000000000000001":                  {1},
		"ffffffffffffffff,000000000000000A": {1<<64 - 1, 10},
		"1":                                 nil,
		"0000000000000001,":                 nil,
		"0000000000000001, 000000000000002": nil,
		"+000000000000001":                  nil,
		"000000000000000g":                  nil,
	} {
		if got := ParseBlocks(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %v", text, got)
		}
	}
	if got := ParseBlocks(strings.Repeat("0000000000000001,", 1<<20)); len(got) != maxChain || cap(got) > maxChain {
		t.Errorf("got %d blocks with room for %d", len(got), cap(got))
	}
}
