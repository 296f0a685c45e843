package picker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
)

// The names are the Inference Extension's, and are written out: they are what other data planes send and read, whatever
// this package calls them. The cases are those of its protocol 1.0 and of its conformance tests (release 1.6) that are
// about the picker.

// foreign begins a request of a data plane that is not ours: it names no pool, and sends bodies in both directions.
func (s *running) foreign(t *testing.T, meta map[string]*structpb.Struct) (
	procv3.ExternalProcessor_ProcessClient, *procv3.ProcessingResponse) {
	t.Helper()
	stream := s.open(t, "")
	r := requestOf(headersOf(":path", "/v1/completions", "x-request-id", "1"))
	r.MetadataContext = &corev3.Metadata{FilterMetadata: meta}
	return stream, exchange(t, stream, r)
}

func structOf(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// chosen returns the servers in an answer, which are the same in its header and in its metadata.
func chosen(t *testing.T, a *procv3.ProcessingResponse) []string {
	t.Helper()
	headers := a.GetRequestHeaders().GetResponse().GetHeaderMutation().GetSetHeaders()
	inMetadata := a.GetDynamicMetadata().GetFields()["envoy.lb"].GetStructValue().
		GetFields()["x-gateway-destination-endpoint"].GetStringValue()
	if len(headers) != 1 || headers[0].GetHeader().GetKey() != "x-gateway-destination-endpoint" ||
		string(headers[0].GetHeader().GetRawValue()) != inMetadata ||
		headers[0].GetAppendAction() != corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD {
		t.Fatalf("the headers are %v, and the metadata has %q", headers, inMetadata)
	}
	return strings.Split(inMetadata, ",")
}

// TestConformanceDestination: the header and the metadata have the same servers, as ip:port, several of them in order.
func TestConformanceDestination(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(4)})
	_, a := s.foreign(t, nil)
	if got := chosen(t, a); len(got) != 3 || got[0] == got[1] || !strings.HasSuffix(got[0], ":8000") {
		t.Errorf("chosen are %v", got)
	}
}

// TestConformanceServed: the data plane says which of the servers has answered. It is the one that has the prompt, and
// the one before it is behind others for the next requests (GatewayDestinationEndpointServed).
func TestConformanceServed(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(2)})
	stream, a := s.foreign(t, nil)
	named := chosen(t, a)
	exchange(t, stream, &procv3.ProcessingRequest{
		Request: &procv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: headersOf(":status", "200")},
		MetadataContext: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
			"envoy.lb": structOf(t, map[string]any{"x-gateway-destination-endpoint-served": named[1]})}},
	})
	for _, one := range s.picker.status()["p"].servers {
		if want := map[bool]int{true: 1, false: 0}[one.Address == named[1]]; one.Running != want {
			t.Errorf("%s has %d requests, want %d", one.Address, one.Running, want)
		}
	}
}

// TestConformanceSubset: only servers of the subset are chosen. If none of them is there, or the list is empty, the
// answer is 503. Without the key the whole pool counts.
func TestConformanceSubset(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(9)})
	for name, c := range map[string]struct {
		subset any
		want   []string
	}{
		"one":       {[]any{"10.0.0.7:8000"}, []string{"10.0.0.7:8000"}},
		"with more": {[]any{"10.9.9.9:1", "10.0.0.3:8000"}, []string{"10.0.0.3:8000"}},
		"not there": {[]any{"10.9.9.9:1"}, nil},
		"empty":     {[]any{}, nil},
		"a text":    {"10.0.0.7:8000", []string{"10.0.0.7:8000"}},
		"a header":  {[]any{" 10.9.9.9:1, 10.0.0.7:8000"}, []string{"10.0.0.7:8000"}},
		"all ports": {[]any{"10.0.0.7"}, []string{"10.0.0.7:8000"}},
		"nonsense":  {"10.0.0.7:http,,x", nil},
		"a number":  {7.0, nil},
	} {
		_, a := s.foreign(t, map[string]*structpb.Struct{
			"envoy.lb.subset_hint": structOf(t, map[string]any{"x-gateway-destination-endpoint-subset": c.subset})})
		if c.want == nil {
			if code := a.GetImmediateResponse().GetStatus().GetCode(); code != 503 {
				t.Errorf("%s: the answer is %v", name, a)
			}
			continue
		}
		if got := chosen(t, a); !slices.Equal(got, c.want) {
			t.Errorf("%s: chosen are %v, want %v", name, got, c.want)
		}
	}
	_, a := s.foreign(t, map[string]*structpb.Struct{"envoy.lb.subset_hint": structOf(t, nil)})
	if got := chosen(t, a); len(got) != 3 {
		t.Errorf("without the key chosen are %v", got)
	}
}

// TestConformanceStreaming: bodies in both directions come back as they were, and in full duplex, whatever they are.
func TestConformanceStreaming(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(1)})
	stream, _ := s.foreign(t, nil)
	body := &procv3.HttpBody{Body: []byte(`{"prompt":[1,2]}`), EndOfStream: true}
	a := exchange(t, stream, &procv3.ProcessingRequest{Request: &procv3.ProcessingRequest_RequestBody{RequestBody: body}})
	got := a.GetRequestBody().GetResponse().GetBodyMutation().GetStreamedResponse()
	if string(got.GetBody()) != string(body.GetBody()) || !got.GetEndOfStream() {
		t.Errorf("the request's body comes back as %v", a)
	}
	exchange(t, stream, &procv3.ProcessingRequest{
		Request: &procv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: headersOf(":status", "200")}})
	a = exchange(t, stream, &procv3.ProcessingRequest{
		Request: &procv3.ProcessingRequest_ResponseBody{ResponseBody: body}})
	got = a.GetResponseBody().GetResponse().GetBodyMutation().GetStreamedResponse()
	if string(got.GetBody()) != string(body.GetBody()) || !got.GetEndOfStream() {
		t.Errorf("the answer's body comes back as %v", a)
	}
}

// TestConformanceHealth: the services of the protocol are well, another one is unknown, and none is well while the
// program ends.
func TestConformanceHealth(t *testing.T) {
	s := serve(t, map[string][]Server{"p": servers(1)})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, service := range []string{"", "liveness", "readiness", "envoy.service.ext_proc.v3.ExternalProcessor"} {
		a, err := s.health.Check(ctx, &healthv1.HealthCheckRequest{Service: service})
		if err != nil || a.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q is %v (%v)", service, a, err)
		}
	}
	if a, err := s.health.Check(ctx, &healthv1.HealthCheckRequest{Service: "other"}); err == nil {
		t.Errorf("another service is %v", a)
	}
	watch, err := s.health.Watch(ctx, &healthv1.HealthCheckRequest{Service: protocol.Readiness})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := watch.Recv(); err != nil || a.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("the readiness is %v (%v)", a, err)
	}
	go s.stop()
	if a, err := watch.Recv(); err != nil || a.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("at the end the readiness is %v (%v)", a, err)
	}
}
