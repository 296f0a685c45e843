package blocks

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api-inference-extension/apix/v1alpha2"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/config/loader"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/datalayer"
	fwkdl "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/datalayer"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/interface/plugin"
	extractormetrics "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/extractor/metrics"
	sourcemetrics "sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/datalayer/source/metrics"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/fairness"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/ordering"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/saturationdetector/utilization"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/flowcontrol/usagelimits"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/requesthandling/parsers/passthrough"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/picker"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/profile"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/kvcacheutilization"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/framework/plugins/scheduling/scorer/queuedepth"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/handlers"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/requestcontrol"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/scheduling"
)

// cluster stands for Kubernetes: it has the pods of a pool, and lets every request in.
type cluster []fwkdl.Endpoint

func (c cluster) PoolGet() (*datalayer.EndpointPool, error)               { return &datalayer.EndpointPool{}, nil }
func (c cluster) ObjectiveGet(string) *v1alpha2.InferenceObjective        { return nil }
func (c cluster) PodList(func(fwkdl.Endpoint) bool) []fwkdl.Endpoint      { return c }
func (c cluster) Locate(context.Context, map[string]any) []fwkdl.Endpoint { return c }
func (c cluster) ModelRewriteGet(string) (*v1alpha2.InferenceModelRewriteRule, string) {
	return nil, ""
}
func (c cluster) Admit(context.Context, *handlers.RequestContext, int) error { return nil }

// TestInPicker runs the Inference Extension's own picker with config.yaml, and speaks with it as Envoy does: headers,
// then the body. Requests with the same first blocks get the same pod, and requests of other tenants spread.
func TestInPicker(t *testing.T) {
	client := startPicker(t)
	home := map[int]string{}
	for turn := range 3 {
		for tenant := range 8 {
			got := pick(t, client, prompt(tenant, 10+turn).Headers[Header])
			if turn == 0 {
				home[tenant] = got
			} else if got != home[tenant] {
				t.Errorf("turn %d of the tenant %d: %s, and before %s", turn, tenant, got, home[tenant])
			}
		}
	}
	if !strings.HasSuffix(home[0], ":8000") {
		t.Errorf("chosen are %v", home)
	}
}

func startPicker(t *testing.T) procv3.ExternalProcessorClient {
	t.Helper()
	// The ones in config.yaml, and after them those that the picker adds by itself.
	for name, factory := range map[string]plugin.FactoryFunc{
		Type:                                            Factory,
		queuedepth.QueueScorerType:                      queuedepth.QueueScorerFactory,
		picker.MaxScorePickerType:                       picker.MaxScorePickerFactory,
		passthrough.PassthroughParserType:               passthrough.PassthroughParserPluginFactory,
		profile.SingleProfileHandlerType:                profile.SingleProfileHandlerFactory,
		ordering.FCFSOrderingPolicyType:                 ordering.FCFSOrderingPolicyFactory,
		utilization.UtilizationDetectorType:             utilization.UtilizationDetectorFactory,
		fairness.GlobalStrictFairnessPolicyType:         fairness.GlobalStrictFairnessPolicyFactory,
		usagelimits.StaticUsageLimitPolicyType:          usagelimits.StaticPolicyFactory,
		sourcemetrics.MetricsDataSourceType:             sourcemetrics.MetricsDataSourceFactory,
		extractormetrics.MetricsExtractorType:           extractormetrics.CoreMetricsExtractorFactory,
		kvcacheutilization.KvCacheUtilizationScorerType: kvcacheutilization.KvCacheUtilizationScorerFactory,
	} {
		plugin.Register(name, factory)
	}
	raw, err := os.ReadFile("../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parsed, _, err := loader.LoadRawConfig(raw, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	handle := plugin.NewEppHandle(context.Background(), func() []types.NamespacedName { return nil })
	c, err := loader.InstantiateAndConfigure(parsed, handle, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	var pods cluster
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, fwkdl.NewEndpoint(&fwkdl.EndpointMetadata{Address: "10.0.0." + string('1'+name[0]-'a'),
			Port:           "8000",
			NamespacedName: types.NamespacedName{Namespace: "models", Name: name}}, fwkdl.NewMetrics()))
	}
	control := requestcontrol.NewConfig()
	control.AddPlugins(handle.GetAllPlugins()...)
	director := requestcontrol.NewDirectorWithConfig(pods, scheduling.NewSchedulerWithConfig(c.SchedulerConfig), pods,
		c.ParserConfig.Parser, pods, control)
	g := grpc.NewServer()
	procv3.RegisterExternalProcessorServer(g, handlers.NewStreamingServer(pods, director, c.ParserConfig.Parser))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = g.Serve(l) }() // it ends with the test
	t.Cleanup(g.Stop)
	connection, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return procv3.NewExternalProcessorClient(connection)
}

// pick asks for a server as Envoy does, and returns it.
func pick(t *testing.T, client procv3.ExternalProcessorClient, hashes string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stream, err := client.Process(ctx)
	if err != nil {
		t.Fatal(err)
	}
	headers := &procv3.HttpHeaders{Headers: &corev3.HeaderMap{Headers: []*corev3.HeaderValue{
		{Key: ":path", RawValue: []byte("/v1/completions")}, {Key: Header, RawValue: []byte(hashes)}}}}
	for _, r := range []*procv3.ProcessingRequest{
		{Request: &procv3.ProcessingRequest_RequestHeaders{RequestHeaders: headers}},
		{Request: &procv3.ProcessingRequest_RequestBody{RequestBody: &procv3.HttpBody{
			Body: []byte(`{"model":"m","prompt":[1,2,3]}`), EndOfStream: true}}},
	} {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range answer.GetRequestHeaders().GetResponse().GetHeaderMutation().GetSetHeaders() {
		if h.GetHeader().GetKey() == "x-gateway-destination-endpoint" {
			return string(h.GetHeader().GetRawValue())
		}
	}
	t.Fatalf("the answer names no server: %v", answer)
	return ""
}
