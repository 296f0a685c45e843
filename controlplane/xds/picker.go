package xds

import (
	"slices"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	rulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	overridev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	robinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// PickerFilterName is the name of the filter that asks pickers, and of its configuration, which Envoy discovers.
	PickerFilterName = "harmony-picker"
	// pickerPrefix begins the names of the pickers' clusters.
	pickerPrefix = "harmony-picker-"
	// pickerCheck is how often Envoy connects to a picker to see whether its machine is there. Without that, each request
	// would wait for a machine that is gone.
	pickerCheck = time.Second
)

// secretHeaders are headers that a picker does not get: clients' keys, and who they are.
var secretHeaders = []string{"authorization", "proxy-authorization", "cookie", "api-key", "x-api-key",
	contract.ClientHeader, contract.ReservationHeader, contract.ReserveHeader}

// pickerFilter returns the filter that asks pickers. Only the virtual host turns it on, so the listener stays the same
// when a pool begins to have a picker.
func (b *builder) pickerFilter() *hcmv3.HttpFilter {
	headers := &matcherv3.ListStringMatcher{}
	for _, name := range secretHeaders {
		headers.Patterns = append(headers.Patterns, exactly(name))
	}
	settings := &procv3.ExternalProcessor{
		GrpcService: grpcService(UnroutedCluster, nil), // each route names its own
		// A picker that fails never fails a request, and cuts no answer: the cluster's policy chooses.
		FailureModeAllow: true,
		StatusOnError:    &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable},
		ProcessingMode:   silent(),
		MessageTimeout:   durationpb.New(b.pickerTimeout()),
		// A picker names servers. It changes nothing else.
		MutationRules: &rulesv3.HeaderMutationRules{DisallowAll: wrapperspb.Bool(true),
			AllowExpression: &matcherv3.RegexMatcher{Regex: contract.DestinationHeader}},
		ForwardRules:     &procv3.HeaderForwardingRules{DisallowedHeaders: headers},
		RouteCacheAction: procv3.ExternalProcessor_RETAIN,
		MetadataOptions: &procv3.MetadataOptions{
			ForwardingNamespaces: &procv3.MetadataOptions_MetadataNamespaces{Untyped: []string{protocol.Namespace}},
			ReceivingNamespaces: &procv3.MetadataOptions_MetadataNamespaces{
				Untyped: []string{protocol.Namespace, protocol.OwnNamespace}},
		},
	}
	b.allowQueues(settings)
	return &hcmv3.HttpFilter{Name: PickerFilterName, Disabled: true,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.any(settings)}}
}

// pickerTimeout returns how long a request waits for a picker. All pools have the same.
func (b *builder) pickerTimeout() time.Duration {
	for _, p := range b.usedPools() {
		if p.Asked() {
			return time.Duration(p.Picker.Timeout)
		}
	}
	return config.DefaultPickerTimeout
}

// pickerMode returns which parts of a request and of its answer a picker gets. By the headers of the answer it learns
// which server has answered. An answer's trailers, which never come, keep its stream open until the answer has
// ended, so that it can count the requests that run.
func pickerMode(send string) *procv3.ProcessingMode {
	m := &procv3.ProcessingMode{
		RequestHeaderMode: procv3.ProcessingMode_SEND, ResponseHeaderMode: procv3.ProcessingMode_SEND,
		RequestBodyMode: procv3.ProcessingMode_NONE, ResponseBodyMode: procv3.ProcessingMode_NONE,
		RequestTrailerMode: procv3.ProcessingMode_SKIP, ResponseTrailerMode: procv3.ProcessingMode_SEND,
	}
	if send == config.SendBodies {
		// The Inference Extension's own picker answers when it has the whole body, and expects this mode.
		m.RequestBodyMode, m.RequestTrailerMode = procv3.ProcessingMode_FULL_DUPLEX_STREAMED, procv3.ProcessingMode_SEND
		// Its stream ends with the answer's headers. Envoy would cut the answer if the picker died later: after a body it
		// never takes a failure as harmless.
		m.ResponseTrailerMode = procv3.ProcessingMode_SKIP
	}
	return m
}

// silent returns the mode in which nobody is asked.
func silent() *procv3.ProcessingMode {
	return &procv3.ProcessingMode{
		RequestHeaderMode: procv3.ProcessingMode_SKIP, ResponseHeaderMode: procv3.ProcessingMode_SKIP,
		RequestTrailerMode: procv3.ProcessingMode_SKIP, ResponseTrailerMode: procv3.ProcessingMode_SKIP,
	}
}

// enablePickers turns the filter on for all requests, if a pool has a picker. Envoy decides before the first filter
// runs which filters a request has. A route that the shipped filter has led to comes too late for that.
func (b *builder) enablePickers(host *routev3.VirtualHost) {
	if !slices.ContainsFunc(b.usedPools(), func(p *config.ResolvedPool) bool { return p.Asked() }) {
		return
	}
	if host.TypedPerFilterConfig == nil {
		host.TypedPerFilterConfig = map[string]*anypb.Any{}
	}
	host.TypedPerFilterConfig[PickerFilterName] = b.any(&procv3.ExtProcPerRoute{
		Override: &procv3.ExtProcPerRoute_Overrides{Overrides: &procv3.ExtProcOverrides{ProcessingMode: silent()}},
	})
}

// askPicker makes Envoy ask the pool's picker for the requests of a route.
func (b *builder) askPicker(r *routev3.Route, p *config.ResolvedPool) {
	if !p.Asked() {
		return
	}
	b.configure(r, PickerFilterName, &procv3.ExtProcPerRoute{
		Override: &procv3.ExtProcPerRoute_Overrides{Overrides: &procv3.ExtProcOverrides{
			GrpcService:    grpcService(pickerCluster(p.PickerEndpoint), &p.PickerEndpoint),
			ProcessingMode: pickerMode(p.Picker.Send),
			// Of a body that the picker has begun to read, nobody has the rest.
			FailureModeAllow: wrapperspb.Bool(p.Picker.Send != config.SendBodies),
			// A request's headers could be anybody's. The pool that a picker chooses from is the route's word.
			GrpcInitialMetadata: []*corev3.HeaderValue{{Key: protocol.PoolKey, Value: p.Name}},
		}},
	})
}

func grpcService(cluster string, at *config.Endpoint) *corev3.GrpcService {
	target := &corev3.GrpcService_EnvoyGrpc{ClusterName: cluster}
	if at != nil {
		target.Authority = at.Authority()
	}
	return &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: target}}
}

func exactly(text string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: text}}
}

// pickerCluster returns the name of the cluster of a picker.
func pickerCluster(e config.Endpoint) string { return pickerPrefix + e.Authority() }

func isPickerCluster(name string) bool { return strings.HasPrefix(name, pickerPrefix) }

// pickerClusters returns a cluster for each picker. Several pools may have the same one.
func (b *builder) pickerClusters() []*clusterv3.Cluster {
	var all []*clusterv3.Cluster
	seen := map[string]bool{}
	for _, p := range b.usedPools() {
		name := pickerCluster(p.PickerEndpoint)
		if !p.Asked() || seen[name] {
			continue
		}
		seen[name] = true
		c := b.cluster(name, singleServer(p.PickerEndpoint), speech{http2: true})
		c.HealthChecks = []*corev3.HealthCheck{{
			Timeout: durationpb.New(pickerCheck), Interval: durationpb.New(pickerCheck),
			NoTrafficInterval: durationpb.New(pickerCheck),
			HealthyThreshold:  wrapperspb.UInt32(1), UnhealthyThreshold: wrapperspb.UInt32(1),
			HealthChecker: &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}},
		}}
		all = append(all, c)
	}
	return all
}

// overrideHost returns the policy of a pool with a picker: the servers that the picker has named, one after the other,
// and then the fallback. The servers are found by address. Envoy does not look whether one of them is healthy.
func (b *builder) overrideHost(p *config.ResolvedPool) proto.Message {
	var fallback *clusterv3.LoadBalancingPolicy_Policy
	if p.Picker.OnFailure == config.OnFailureRefuse {
		fallback = b.noServer()
	} else {
		alone := *p
		alone.Policy = p.Picker.Fallback
		fallback = b.balance(&alone)
	}
	sources := []*overridev3.OverrideHost_OverrideHostSource{{Header: contract.DestinationHeader}}
	if p.Asked() {
		sources = append(sources, &overridev3.OverrideHost_OverrideHostSource{Metadata: lbKey(contract.DestinationHeader)})
	}
	return &overridev3.OverrideHost{
		OverrideHostSources: sources,
		SelectedHostKey:     lbKey(protocol.Served),
		FallbackPolicy:      &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{fallback}},
	}
}

func lbKey(name string) *metadatav3.MetadataKey {
	return &metadatav3.MetadataKey{Key: protocol.Namespace, Path: []*metadatav3.MetadataKey_PathSegment{
		{Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: name}}}}
}

// noServer returns a policy that chooses no server, so that the request gets a 503.
func (b *builder) noServer() *clusterv3.LoadBalancingPolicy_Policy {
	robin := named("round_robin", b.any(&robinv3.RoundRobin{}))
	return named("subset", b.any(&subsetv3.Subset{
		FallbackPolicy: subsetv3.Subset_NO_FALLBACK,
		// No server has this label, and no route asks for one.
		SubsetSelectors: []*subsetv3.Subset_LbSubsetSelector{{Keys: []string{"none"}}},
		SubsetLbPolicy:  &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{robin}},
	}))
}

func named(policy string, settings *anypb.Any) *clusterv3.LoadBalancingPolicy_Policy {
	return &clusterv3.LoadBalancingPolicy_Policy{TypedExtensionConfig: &corev3.TypedExtensionConfig{
		Name: "envoy.load_balancing_policies." + policy, TypedConfig: settings}}
}
