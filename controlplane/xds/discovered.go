package xds

import (
	"fmt"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	headersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	localv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	statefilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_filter_state/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// RuntimeName is the name of the runtime layer that Envoy discovers.
const RuntimeName = "harmony"

// Discovered returns the resources by type URL, as an Envoy discovers them over ADS. It moves what may change while
// streams run out of the listeners, because a listener that changes closes its connections (RATIONALE.md#12). It does
// not change r.
func (r *Resources) Discovered() (map[string][]types.Resource, error) {
	all := map[string][]types.Resource{
		resource.RuntimeType: {&runtimev3.Runtime{Name: RuntimeName, Layer: r.Runtime}},
		// Every type has an entry, even an empty one: Envoy waits for a type that it gets no answer for.
		resource.EndpointType: nil, resource.SecretType: nil,
	}
	for i, l := range r.Listeners {
		split, m, filters, err := splitListener(l)
		if err != nil {
			return nil, fmt.Errorf("xds: listener %s: %w", l.GetName(), err)
		}
		all[resource.ListenerType] = append(all[resource.ListenerType], split)
		if i == 0 { // all listeners have the same ones
			all[resource.RouteType] = append(all[resource.RouteType], m.GetRouteConfig())
			all[resource.ExtensionConfigType] = append(all[resource.ExtensionConfigType], filters...)
		}
	}
	for _, c := range r.Clusters {
		c, err := discoverInCluster(c)
		if err != nil {
			return nil, err
		}
		if isPool(c.GetName()) && c.GetType() == clusterv3.Cluster_STATIC {
			all[resource.EndpointType] = append(all[resource.EndpointType], c.GetLoadAssignment())
			c = proto.CloneOf(c)
			c.LoadAssignment = nil
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
			c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource()}
		}
		all[resource.ClusterType] = append(all[resource.ClusterType], c)
	}
	for _, s := range r.Secrets {
		all[resource.SecretType] = append(all[resource.SecretType], s)
	}
	return all, nil
}

// Endpoints returns the part of [Resources.Discovered] that depends only on the pools' servers. Nothing else changes
// when servers come and go. The filter's own configuration is a part of it if the filter chooses prefill servers.
// o.Servers must have addresses.
func Endpoints(c *config.Resolved, o Options) (map[string][]types.Resource, error) {
	b := newBuilder(c, o)
	all := map[string][]types.Resource{resource.EndpointType: nil}
	for _, p := range b.usedPools() {
		a := poolAssignment(p, b.groups(p))
		b.fail(a.ValidateAll())
		all[resource.EndpointType] = append(all[resource.EndpointType], a)
	}
	all[resource.RuntimeType] = []types.Resource{&runtimev3.Runtime{Name: RuntimeName, Layer: b.runtime()}}
	if slices.ContainsFunc(b.usedPools(), b.isPinned) {
		filters, err := discoverAll(b.httpFilters())
		if err != nil {
			return nil, err
		}
		all[resource.ExtensionConfigType] = filters
	}
	return all, b.err
}

// isDiscovered reports whether Envoy discovers the configuration of a filter by the filter's name.
func isDiscovered(f *hcmv3.HttpFilter) bool {
	typed := f.GetTypedConfig()
	switch f.GetName() {
	case LimitsFilterName, AttemptsFilterName, AffinityFilter:
		return true
	}
	return typed.MessageIs(&wasmfilterv3.Wasm{}) || typed.MessageIs(&procv3.ExternalProcessor{})
}

func discoveredFilter(f *hcmv3.HttpFilter) *corev3.TypedExtensionConfig {
	return &corev3.TypedExtensionConfig{Name: f.GetName(), TypedConfig: f.GetTypedConfig()}
}

// splitListener returns a copy of a listener that refers to the routes and to configurations of filters by name, the
// original connection manager with the routes, and those configurations.
func splitListener(l *listenerv3.Listener) (
	*listenerv3.Listener, *hcmv3.HttpConnectionManager, []types.Resource, error) {
	original, err := managerOf(l)
	if err != nil {
		return nil, nil, nil, err
	}
	m := proto.CloneOf(original)
	m.RouteSpecifier = &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
		ConfigSource: adsSource(), RouteConfigName: original.GetRouteConfig().GetName(),
	}}
	filters, err := discoverAll(m.HttpFilters)
	if err != nil {
		return nil, nil, nil, err
	}
	packed, err := pack(m)
	if err != nil {
		return nil, nil, nil, err
	}
	split := proto.CloneOf(l)
	for _, chain := range split.GetFilterChains() {
		for _, f := range chain.GetFilters() {
			if f.GetTypedConfig().MessageIs(m) {
				f.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
			}
		}
	}
	return split, original, filters, nil
}

// discoverAll is discover for the filters of a listener, its router's included.
func discoverAll(filters []*hcmv3.HttpFilter) ([]types.Resource, error) {
	all := discover(filters)
	for _, f := range filters {
		r := &routerv3.Router{}
		if !f.GetTypedConfig().MessageIs(r) {
			continue
		}
		if err := f.GetTypedConfig().UnmarshalTo(r); err != nil {
			return nil, err
		}
		all = append(all, discover(r.GetUpstreamHttpFilters())...)
		packed, err := pack(r)
		if err != nil {
			return nil, err
		}
		f.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed}
	}
	return all, nil
}

// discover makes Envoy discover the configurations of filters that may change while streams run, and returns them.
func discover(filters []*hcmv3.HttpFilter) (all []types.Resource) {
	for _, f := range filters {
		if !isDiscovered(f) {
			continue
		}
		all = append(all, discoveredFilter(f))
		f.ConfigType = &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
			ConfigSource: filterSource(), TypeUrls: typesOf(f),
		}}
	}
	return all
}

// typesOf returns the types that a filter's configuration may have. A filter's type may change while streams run.
func typesOf(f *hcmv3.HttpFilter) (urls []string) {
	var all []proto.Message
	switch f.GetName() {
	case LimitsFilterName: // who keeps the limits
		all = []proto.Message{&ratelimitv3.RateLimit{}, &localv3.LocalRateLimit{}}
	case AttemptsFilterName: // whether a pool needs it
		all = []proto.Message{&headersv3.HeaderMutation{}, &wasmfilterv3.Wasm{}}
	case AffinityFilter:
		all = []proto.Message{&headersv3.HeaderMutation{}, &statefilterv3.Config{}}
	default:
		return []string{f.GetTypedConfig().GetTypeUrl()}
	}
	for _, m := range all {
		a, _ := anypb.New(m) // an empty message can be packed
		urls = append(urls, a.GetTypeUrl())
	}
	return urls
}

func pack(m proto.Message) (*anypb.Any, error) {
	packed := &anypb.Any{}
	return packed, anypb.MarshalFrom(packed, m, proto.MarshalOptions{Deterministic: true})
}

// discoverInCluster returns a cluster whose filters Envoy discovers. Their configurations are the same as the router's
// filters'.
func discoverInCluster(c *clusterv3.Cluster) (*clusterv3.Cluster, error) {
	var o upstreamhttpv3.HttpProtocolOptions
	if err := c.GetTypedExtensionProtocolOptions()[protocolOptions].UnmarshalTo(&o); err != nil {
		return nil, fmt.Errorf("xds: cluster %s: %w", c.GetName(), err)
	}
	if len(discover(o.GetHttpFilters())) == 0 {
		return c, nil
	}
	packed, err := pack(&o)
	if err != nil {
		return nil, fmt.Errorf("xds: cluster %s: %w", c.GetName(), err)
	}
	c = proto.CloneOf(c)
	c.TypedExtensionProtocolOptions[protocolOptions] = packed
	return c, nil
}

// filterSource returns the source of the filter's configuration. A listener waits for it as long as it takes: one that
// opens without the filter would refuse every request.
func filterSource() *corev3.ConfigSource {
	source := adsSource()
	source.InitialFetchTimeout = &durationpb.Duration{}
	return source
}

// adsSource returns the source of discovered resources: the one ADS stream of the control plane.
func adsSource() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		ResourceApiVersion:    corev3.ApiVersion_V3,
	}
}
