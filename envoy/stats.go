package envoy

import (
	"errors"
	"net/netip"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// StatsListener is the name of the listener for statistics.
	StatsListener = "harmony-stats"
	// StatsPath is the only path of the admin interface that the listener serves.
	StatsPath = "/stats/prometheus"

	adminCluster      = "harmony-admin"
	statsIdleTimeout  = 2 * time.Minute
	statsHeadersLimit = 10 * time.Second
)

// CheckStats returns an error if an Envoy with this admin interface cannot serve its statistics at stats. If stats is
// invalid, there is nothing to serve and no error. An admin interface at a socket needs no check.
func CheckStats(stats, admin netip.AddrPort) error {
	if stats.IsValid() && admin.Port() == 0 {
		return errors.New("the statistics are read from the admin interface: give --admin a port of its own, not 0")
	}
	return nil
}

// addStats adds the statistics listener to a bootstrap, if stats is valid.
func addStats(b *bootstrapv3.Bootstrap_StaticResources, stats netip.AddrPort, admin *corev3.Address) {
	if stats.IsValid() {
		b.Listeners = append(b.Listeners, statsListener(stats))
		b.Clusters = append(b.Clusters, adminEndpoint(admin))
	}
}

// statsListener returns a listener that serves GET of Envoy's statistics. A Prometheus on another machine can then read
// them while the admin interface, which can end Envoy, stays on loopback.
func statsListener(at netip.AddrPort) *listenerv3.Listener {
	marshal := func(m proto.Message) *anypb.Any {
		packed, err := anypb.New(m)
		if err != nil {
			panic(err) // cannot happen: a message of Envoy's API can always be marshalled
		}
		return packed
	}
	get := &routev3.HeaderMatcher{Name: ":method", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
		StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "GET"}},
	}}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: StatsListener,
		CodecType:  hcmv3.HttpConnectionManager_AUTO,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name: StatsListener,
			VirtualHosts: []*routev3.VirtualHost{{Name: StatsListener, Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: StatsPath},
					Headers: []*routev3.HeaderMatcher{get}},
				Action: &routev3.Route_Route{Route: &routev3.RouteAction{
					ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: adminCluster}}},
			}}}},
		}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: marshal(&routerv3.Router{SuppressEnvoyHeaders: true})},
		}},
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(statsIdleTimeout)},
		RequestHeadersTimeout:     durationpb.New(statsHeadersLimit),
	}
	return &listenerv3.Listener{
		Name:    StatsListener,
		Address: address(at.Addr().String(), uint32(at.Port())),
		// The statistics must be readable when clients use up all connections.
		IgnoreGlobalConnLimit: true,
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: marshal(manager)},
		}}}},
	}
}

// adminEndpoint returns Envoy's own admin interface as a cluster.
func adminEndpoint(at *corev3.Address) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: adminCluster, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout: durationpb.New(connectTimeout),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: adminCluster,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: at}},
			}}}},
		},
	}
}
