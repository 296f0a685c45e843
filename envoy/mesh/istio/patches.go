package istio

import (
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	managerName = "envoy.filters.network.http_connection_manager"
	routerName  = "envoy.filters.http.router"

	merge        = "MERGE"
	insertBefore = "INSERT_BEFORE"
)

// filterSettings returns the filter's own configuration.
func (b *builder) filterSettings() (yaml.MapSlice, error) { return mesh.JSONValue(b.config.FilterJSON) }

// envoyFilters adds what Istio's other objects have no words for. All of it is part of what the control plane itself
// would send.
func (b *builder) envoyFilters() {
	spec := envoyFilterSpec{WorkloadSelector: &workloadSelector{Labels: b.options.Selector}}
	b.extension(&spec)
	for _, l := range b.listeners() {
		b.patchListener(&spec, l.pod)
		b.patchRoutes(&spec, l.service)
	}
	for _, c := range b.parts.Clusters {
		if mesh.InferencePool(b.config, c.GetName()) == "" {
			b.patchCluster(&spec, c)
		}
	}
	b.add(filters, "EnvoyFilter", b.options.Name, spec)

	stats := &bootstrapv3.Bootstrap{StatsConfig: xds.Stats()}
	bootstrap := envoyFilterSpec{WorkloadSelector: spec.WorkloadSelector}
	b.patch(&bootstrap, "BOOTSTRAP", nil, merge, stats)
	b.add(filters, "EnvoyFilter", b.options.Name+"-bootstrap", bootstrap)
}

// patch adds a patch with a message of Envoy's API.
func (b *builder) patch(spec *envoyFilterSpec, to string, match *objectMatch, operation string, m proto.Message) {
	value, err := mesh.Value(m)
	b.fail(err)
	if match != nil {
		match.Context = "GATEWAY"
	}
	spec.ConfigPatches = append(spec.ConfigPatches, configPatch{to, match, patch{operation, value}})
}

func (b *builder) pack(m proto.Message) *anypb.Any {
	packed := &anypb.Any{}
	b.fail(anypb.MarshalFrom(packed, m, proto.MarshalOptions{Deterministic: true}))
	return packed
}

// full reports whether the filter comes by an EnvoyFilter.
func (b *builder) full() bool { return b.config.Config.Mode == contract.ModeFull }

// wasm returns the filter's configuration. Istio's agent puts a file instead of what it has fetched; the cluster
// has no meaning.
func (b *builder) wasm() *anypb.Any {
	const agent, timeout = "_", 30
	m := &b.options.Module
	return b.pack(b.parts.Wasm(m, &corev3.RemoteDataSource{Sha256: m.SHA256, HttpUri: &corev3.HttpUri{
		Uri: m.URL, HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: agent},
		Timeout: &durationpb.Duration{Seconds: timeout},
	}}))
}

// extension adds the filter's configuration as one that Envoy discovers by itself: Istio's agent fetches modules only
// there, and a change of it closes no connection.
func (b *builder) extension(spec *envoyFilterSpec) {
	if b.full() && !b.options.Inline {
		b.patch(spec, "EXTENSION_CONFIG", &objectMatch{}, "ADD",
			&corev3.TypedExtensionConfig{Name: b.options.Name, TypedConfig: b.wasm()})
	}
}

// filter returns this project's filter for the chain of filters.
func (b *builder) filter() *hcmv3.HttpFilter {
	f := &hcmv3.HttpFilter{Name: b.options.Name}
	packed := b.wasm()
	if b.options.Inline {
		f.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed}
		return f
	}
	f.ConfigType = &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
		ConfigSource: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
			ResourceApiVersion:    corev3.ApiVersion_V3,
			// The listener waits for the filter, however long its module takes.
			InitialFetchTimeout: &durationpb.Duration{},
		},
		TypeUrls: []string{packed.GetTypeUrl()},
	}}
	return f
}

// patchListener patches the listener of a port, its connection manager and its filters.
func (b *builder) patchListener(spec *envoyFilterSpec, port uint32) {
	manager := func(sub string) *objectMatch {
		m := &objectMatch{Listener: &listenerMatch{
			PortNumber: port, FilterChain: &filterChainMatch{Filter: filterMatch{Name: managerName}}}}
		if sub != "" {
			m.Listener.FilterChain.Filter.SubFilter = &filterMatch{Name: sub}
		}
		return m
	}
	b.patch(spec, "LISTENER", &objectMatch{Listener: &listenerMatch{PortNumber: port}}, merge,
		&listenerv3.Listener{PerConnectionBufferLimitBytes: b.parts.Listener.GetPerConnectionBufferLimitBytes()})
	// Istio wants the type of what it merges.
	b.patch(spec, "NETWORK_FILTER", manager(""), merge, &listenerv3.Filter{
		Name: managerName, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: b.pack(b.parts.Manager)}})
	chain := b.parts.Before
	if b.full() {
		chain = append(chain[:len(chain):len(chain)], b.filter())
	}
	next := routerName
	if b.inference() {
		next = pickerFilter
	}
	for _, f := range append(chain[:len(chain):len(chain)], b.parts.After...) {
		b.patch(spec, "HTTP_FILTER", manager(next), insertBefore, f)
	}
	b.patch(spec, "HTTP_FILTER", manager(routerName), merge, &hcmv3.HttpFilter{
		Name: routerName, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: b.pack(b.parts.Router)}})
}

// patchRoutes patches the routes of a port.
func (b *builder) patchRoutes(spec *envoyFilterSpec, port uint32) {
	at := func(r *routeMatch) *objectMatch {
		m := &objectMatch{RouteConfiguration: &routeConfiguration{PortNumber: port}}
		if r != nil {
			m.RouteConfiguration.VHost = &hostMatch{*r}
		}
		return m
	}
	b.patch(spec, "VIRTUAL_HOST", at(nil), merge, &routev3.VirtualHost{
		RequestBodyBufferLimit: b.parts.Host.GetRequestBodyBufferLimit(),
		TypedPerFilterConfig:   b.parts.Host.GetTypedPerFilterConfig(),
	})
	// The patch is one for all routes, so it has the longest time.
	var idle time.Duration
	for _, r := range b.parts.Host.GetRoutes() {
		idle = max(idle, r.GetRoute().GetIdleTimeout().AsDuration())
	}
	if idle > 0 {
		b.patch(spec, "HTTP_ROUTE", at(&routeMatch{Action: "ROUTE"}), merge, &routev3.Route{
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{IdleTimeout: durationpb.New(idle)}}})
	}
	if b.inference() {
		b.patchOtherRoutes(spec, func() *objectMatch { return at(nil) })
		return
	}
	for _, r := range b.parts.Host.GetRoutes() {
		if filters := r.GetTypedPerFilterConfig(); len(filters) > 0 {
			b.patch(spec, "HTTP_ROUTE", at(&routeMatch{Name: r.GetName()}), merge,
				&routev3.Route{TypedPerFilterConfig: filters})
		}
	}
}

// outliers returns when a server is put out. The statuses of the cluster's own options do not get through: without them
// every 5xx would count, and a prompt can cause a 500.
func outliers(c *clusterv3.Cluster) *clusterv3.OutlierDetection {
	out := proto.CloneOf(c.GetOutlierDetection())
	if out != nil {
		out.EnforcingConsecutive_5Xx = wrapperspb.UInt32(0)
	}
	return out
}

// patchCluster patches what a DestinationRule cannot say of a cluster.
func (b *builder) patchCluster(spec *envoyFilterSpec, c *clusterv3.Cluster) {
	to, _ := b.destinationOf(c.GetName())
	more := &clusterv3.Cluster{
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
			HealthyPanicThreshold: c.GetCommonLbConfig().GetHealthyPanicThreshold(),
			UpdateMergeWindow:     c.GetCommonLbConfig().GetUpdateMergeWindow(),
		},
		OutlierDetection: outliers(c), DnsLookupFamily: c.GetDnsLookupFamily(),
		IgnoreHealthOnHostRemoval: c.GetIgnoreHealthOnHostRemoval(),
	}
	for _, check := range c.GetHealthChecks() {
		check = proto.CloneOf(check)
		// The servers' own names are not in Istio's endpoints.
		if names := authoritiesOf(mesh.Endpoints(c)); len(names) > 0 && check.GetHttpHealthCheck() != nil {
			check.GetHttpHealthCheck().Host = names[0]
		}
		more.HealthChecks = append(more.HealthChecks, check)
	}
	b.patch(spec, "CLUSTER", &objectMatch{Cluster: &clusterMatch{to.destination.Host}}, merge, more)
}
