package xds

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	samplersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/tracers/opentelemetry/samplers/v3"
	tracingv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	// serviceName is the gateway's name in traces.
	serviceName = "harmony-gateway"
	// exportTimeout is how long the collector may take for one delivery, and maxExports how many deliveries there may be
	// at once, in all of Envoy. Spans that find no place are dropped.
	exportTimeout = 5 * time.Second
	maxExports    = 32
	// A worker delivers its spans when it has so many, and at this interval. It keeps no more than maxSpans. A client can
	// make a span as large as a request's headers may be.
	spansOfExport    = 50
	exportIntervalMS = 1000
	maxSpans         = 512
)

// tracing returns the tracer of the listeners, or nil if there is no collector.
func (b *builder) tracing() *hcmv3.HttpConnectionManager_Tracing {
	if !b.config.Tracing.Enabled() {
		return nil
	}
	otel := &tracev3.OpenTelemetryConfig{ServiceName: serviceName, Sampler: b.sampler(),
		MaxCacheSize: wrapperspb.UInt32(maxSpans)}
	collector := b.resolved.Collector
	if collector.GRPC() {
		otel.GrpcService = &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
				ClusterName: TracingCluster, Authority: collector.Endpoint.Authority()}},
			Timeout: durationpb.New(exportTimeout),
		}
	} else {
		otel.HttpService = &corev3.HttpService{HttpUri: &corev3.HttpUri{
			Uri:              collector.Endpoint.String() + collector.Path,
			HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: TracingCluster}, Timeout: durationpb.New(exportTimeout),
		}}
	}
	return &hcmv3.HttpConnectionManager_Tracing{
		Provider: &tracev3.Tracing_Http{Name: "envoy.tracers.opentelemetry",
			ConfigType: &tracev3.Tracing_Http_TypedConfig{TypedConfig: b.any(otel)}},
		SpawnUpstreamSpan: wrapperspb.Bool(true),
		CustomTags:        spanTags(),
		Operation:         "%REQ(:METHOD)% " + harmonyState(contract.SpanRoute),
		UpstreamOperation: "%REQ(:METHOD)% %UPSTREAM_CLUSTER%",
	}
}

// sampler returns the sampler of the configured share. It decides by the trace's id alone: a client that has sampled a
// trace itself gets no more than its share, and all gateways that a trace passes decide alike.
func (b *builder) sampler() *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: "envoy.tracers.opentelemetry.samplers.trace_id_ratio_based",
		TypedConfig: b.any(&samplersv3.TraceIdRatioBasedSamplerConfig{SamplingPercentage: &typev3.FractionalPercent{
			Numerator: b.config.Tracing.Share.Millionths(), Denominator: typev3.FractionalPercent_MILLION}})}
}

// spanTags returns the attributes that the filter's fields give a span.
func spanTags() []*tracingv3.CustomTag {
	const text, count = tracingv3.CustomTag_UNSPECIFIED, tracingv3.CustomTag_INT
	var tags []*tracingv3.CustomTag
	tag := func(name, format string, kind tracingv3.CustomTag_ValueType) {
		tags = append(tags, &tracingv3.CustomTag{Tag: name, ValueType: kind, Type: &tracingv3.CustomTag_Value{Value: format}})
	}
	// Envoy's own value has the query, and a query may have anything. The path is the server's, after the translation.
	tag("http.url", "%REQ(:SCHEME)%://%REQ(:AUTHORITY)%%PATH(NQ):256%", text)
	tag("http.route", harmonyState(contract.SpanRoute), text)
	tag("gen_ai.operation.name", harmonyState(contract.SpanOperation), text)
	tag("gen_ai.provider.name", harmonyState(contract.LogServer), text)
	tag("gen_ai.request.model", harmonyState(contract.LogModel), text)
	tag("gen_ai.usage.input_tokens", harmonyState(contract.LogPromptTokens), count)
	tag("gen_ai.conversation.id", harmonyState(contract.SpanConversation), text)
	tag("gen_ai.usage.cache_read.input_tokens", harmonyState(contract.SpanCachedTokens), count)
	tag("gen_ai.usage.output_tokens", harmonyState(contract.LogCompletionTokens), count)
	tag("gen_ai.usage.reasoning.output_tokens", harmonyState(contract.LogReasoningTokens), count)
	tag("gen_ai.response.finish_reasons", harmonyState(contract.LogFinish), text)
	tag("gen_ai.response.time_to_first_chunk", harmonyState(contract.SpanFirstSeconds), tracingv3.CustomTag_DOUBLE)
	tag("harmony.api", harmonyState(contract.LogAPI), text)
	tag("harmony.pool", harmonyState(contract.LogPool), text)
	tag("harmony.policy", harmonyState(contract.LogPolicy), text)
	tag("harmony.routed_by", harmonyState(contract.LogRoutedBy), text)
	tag("harmony.recoveries", harmonyState(contract.LogRecoveries), count)
	tag("harmony.early_end", harmonyState(contract.LogEarlyEnd), text)
	tag("harmony.cut", harmonyState(contract.LogCut), text)
	return tags
}

// setExports adds how often spans are delivered to Envoy's runtime. Envoy's default is a delivery for every five spans.
func (b *builder) setExports(keys map[string]*structpb.Value) {
	if b.config.Tracing.Enabled() {
		keys["tracing.opentelemetry.min_flush_spans"] = structpb.NewNumberValue(spansOfExport)
		keys["tracing.opentelemetry.flush_interval_ms"] = structpb.NewNumberValue(exportIntervalMS)
	}
}

// tracingCluster returns the cluster of the collector. It breaks early: spans must not pile up.
func (b *builder) tracingCluster() *clusterv3.Cluster {
	collector := b.resolved.Collector
	c := b.cluster(TracingCluster, singleServer(collector.Endpoint), speech{http2: collector.GRPC()})
	limit := wrapperspb.UInt32(maxExports)
	c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: limit, MaxPendingRequests: limit, MaxRequests: limit, MaxRetries: wrapperspb.UInt32(0),
	}}}
	return c
}
