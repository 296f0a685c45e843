package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// ProbeSetup configures a gateway with the probe. A zero size or time leaves Envoy's default.
type ProbeSetup struct {
	// Server, Other and Closed are ports on 127.0.0.1: the server, another server, and a port without a listener.
	Server, Other, Closed int
	// ServerHTTP2 selects HTTP/2 towards both servers.
	ServerHTTP2 bool
	// Module is another filter to use instead of the probe; empty means the probe.
	Module string
	// Script is the plugin's configuration.
	Script string
	// NoKnob leaves allow_on_headers_stop_iteration at its default.
	NoKnob bool
	// Failure is the policy for a failed VM. ReloadInterval is the shortest time before it is replaced.
	Failure        wasmv3.FailurePolicy
	ReloadInterval time.Duration
	// BufferLimit is the listener's limit in bytes, ClusterLimit the clusters', RouteLimit the limit of the routes to a
	// cluster.
	BufferLimit, ClusterLimit, RouteLimit uint32
	// Window is the stream window towards HTTP/2 clients, in bytes.
	Window uint32
	// IdleTimeout is the stream's. RouteTimeout limits the server's whole answer; 0 means no limit.
	IdleTimeout, RouteTimeout time.Duration
	// MaxDuration limits a stream. TryIdleTimeout limits how long a server may send nothing.
	MaxDuration, TryIdleTimeout time.Duration
	// Edge configures the listener as for an Envoy at the edge: paths are normalized, headers with underscores refused.
	Edge bool
	// RequestTimeout is how long a client may take to send a request.
	RequestTimeout time.Duration
	// WebSocket lets the route of the path / upgrade to WebSocket.
	WebSocket bool
}

// probeName is the probe's name in the configuration and in Envoy's statistics.
const probeName = "probe"

// Resources returns a listener with the probe, and its clusters, in the form of the gateway's own resources. These are
// the routes, in order:
//
//   - The header x-to selects a cluster: other, empty, closed or missing.
//   - The path /direct has a direct response.
//   - Paths below /none have no route.
//   - Everything else goes to the cluster server.
func (s ProbeSetup) Resources() (*xds.Resources, error) {
	module := cmp.Or(s.Module, os.Getenv("HARMONY_PROBE_WASM"))
	if module == "" {
		return nil, errors.New("HARMONY_PROBE_WASM is not set: run the tests by `make e2e`")
	}
	p := &packer{}
	r := &xds.Resources{
		Listeners: []*listenerv3.Listener{{
			Name: xds.ListenerName, Address: loopback(0), PerConnectionBufferLimitBytes: size(s.BufferLimit),
			FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
				Name:       "envoy.filters.network.http_connection_manager",
				ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: p.any(s.connectionManager(p, module))},
			}}}},
		}},
		Clusters: []*clusterv3.Cluster{
			s.cluster(p, "server", s.Server), s.cluster(p, "other", s.Other), s.cluster(p, "closed", s.Closed),
			s.cluster(p, "empty", 0),
		},
	}
	return r, p.err
}

// packer keeps the first error.
type packer struct{ err error }

func (p *packer) any(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("probe: %w", err)
	}
	return a
}

func (s ProbeSetup) connectionManager(p *packer, module string) *hcmv3.HttpConnectionManager {
	m := &hcmv3.HttpConnectionManager{
		StatPrefix:     probeName,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: s.routes()},
		HttpFilters: []*hcmv3.HttpFilter{
			{Name: "envoy.filters.http.wasm", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: p.any(s.wasm(p, module))}},
			{Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{
				TypedConfig: p.any(&routerv3.Router{SuppressEnvoyHeaders: true})}},
		},
		StreamIdleTimeout:   interval(s.IdleTimeout),
		DelayedCloseTimeout: durationpb.New(100 * time.Millisecond),
	}
	if s.MaxDuration != 0 {
		m.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{MaxStreamDuration: interval(s.MaxDuration)}
	}
	if s.RequestTimeout != 0 {
		m.RequestTimeout = interval(s.RequestTimeout)
	}
	if s.Edge {
		m.NormalizePath, m.MergeSlashes = wrapperspb.Bool(true), true
		m.PathWithEscapedSlashesAction = hcmv3.HttpConnectionManager_UNESCAPE_AND_FORWARD
		m.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{
			HeadersWithUnderscoresAction: corev3.HttpProtocolOptions_REJECT_REQUEST}
	}
	if s.Window != 0 {
		m.Http2ProtocolOptions = &corev3.Http2ProtocolOptions{InitialStreamWindowSize: size(s.Window)}
	}
	return m
}

func (s ProbeSetup) wasm(p *packer, module string) *wasmfilterv3.Wasm {
	c := &wasmv3.PluginConfig{
		Name: probeName, RootId: probeName,
		Vm: &wasmv3.PluginConfig_VmConfig{VmConfig: &wasmv3.VmConfig{
			VmId: probeName, Runtime: "envoy.wasm.runtime.v8",
			Code: &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Local{Local: &corev3.DataSource{
				Specifier: &corev3.DataSource_Filename{Filename: module},
			}}},
		}},
		Configuration:               p.any(wrapperspb.String(s.Script)),
		FailurePolicy:               s.Failure,
		AllowOnHeadersStopIteration: wrapperspb.Bool(!s.NoKnob),
	}
	if s.ReloadInterval != 0 {
		c.ReloadConfig = &wasmv3.ReloadConfig{Backoff: &corev3.BackoffStrategy{BaseInterval: interval(s.ReloadInterval)}}
	}
	return &wasmfilterv3.Wasm{Config: c}
}

func (s ProbeSetup) routes() *routev3.RouteConfiguration {
	var routes []*routev3.Route
	for _, to := range []string{"other", "empty", "closed", "missing"} {
		routes = append(routes, s.forward(&routev3.RouteMatch{
			PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"},
			Headers: []*routev3.HeaderMatcher{{Name: "x-to", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
				StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: to}},
			}}},
		}, to))
	}
	routes = append(routes,
		&routev3.Route{
			Name: "direct", Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: "/direct"}},
			Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
				Status: 200, Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "direct"}},
			}},
		},
		s.forward(&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/to/"}}, "server"),
		s.forward(&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: "/"}}, "server"),
	)
	if s.WebSocket {
		routes[len(routes)-1].GetRoute().UpgradeConfigs = []*routev3.RouteAction_UpgradeConfig{{UpgradeType: "websocket"}}
	}
	return &routev3.RouteConfiguration{
		Name: probeName, VirtualHosts: []*routev3.VirtualHost{{Name: probeName, Domains: []string{"*"}, Routes: routes}},
		// One of the clusters must be missing.
		ValidateClusters: wrapperspb.Bool(false),
	}
}

func (s ProbeSetup) forward(match *routev3.RouteMatch, cluster string) *routev3.Route {
	action := &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
		Timeout: durationpb.New(s.RouteTimeout)}
	if s.TryIdleTimeout != 0 {
		action.RetryPolicy = &routev3.RetryPolicy{PerTryIdleTimeout: interval(s.TryIdleTimeout)}
	}
	r := &routev3.Route{Name: "to " + cluster, Match: match, Action: &routev3.Route_Route{Route: action}}
	if s.RouteLimit != 0 {
		r.RequestBodyBufferLimit = wrapperspb.UInt64(uint64(s.RouteLimit))
	}
	return r
}

func (s ProbeSetup) cluster(p *packer, name string, port int) *clusterv3.Cluster {
	explicit := &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{},
	}
	if s.ServerHTTP2 {
		explicit.ProtocolConfig = &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
		}
	}
	c := &clusterv3.Cluster{
		Name:                          name,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:                durationpb.New(time.Second),
		PerConnectionBufferLimitBytes: size(s.ClusterLimit),
		LoadAssignment:                &endpointv3.ClusterLoadAssignment{ClusterName: name},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": p.any(&upstreamhttpv3.HttpProtocolOptions{
				UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: explicit},
			}),
		},
	}
	if port != 0 {
		c.LoadAssignment.Endpoints = []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: loopback(port)}},
		}}}}
	}
	return c
}

func loopback(port int) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

func size(bytes uint32) *wrapperspb.UInt32Value {
	if bytes == 0 {
		return nil
	}
	return wrapperspb.UInt32(bytes)
}

func interval(t time.Duration) *durationpb.Duration {
	if t == 0 {
		return nil
	}
	return durationpb.New(t)
}
