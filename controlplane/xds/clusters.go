package xds

import (
	"errors"
	"net"
	"strconv"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
)

const (
	connectTimeout = 5 * time.Second
	// The engines' HTTP servers close an idle connection after 5 s (uvicorn's default); a request sent at that very
	// moment would fail. So ours are closed first.
	upstreamIdle = 4 * time.Second
	// Envoy's default of 1,024 requests (and 3 retries) is a hidden limit; queues belong to the engines.
	breakerLimit = 100_000
)

func (b *builder) clusters() []*clusterv3.Cluster {
	clusters := []*clusterv3.Cluster{b.cluster(UnroutedCluster, nil)}
	for i := range b.config.Models {
		m := &b.config.Models[i]
		var endpoints []config.Endpoint
		for _, text := range m.Servers {
			s, err := config.ParseServer(text)
			b.fail(err)
			endpoints = append(endpoints, s.Endpoint)
		}
		clusters = append(clusters, b.cluster(PoolCluster(m), endpoints))
	}
	if b.config.Passthrough != "" {
		clusters = append(clusters, b.cluster(PassthroughCluster, []config.Endpoint{b.endpoint(b.config.Passthrough)}))
	}
	if b.config.ResponsesService.URL != "" {
		clusters = append(clusters, b.cluster(ResponsesCluster, []config.Endpoint{b.endpoint(b.config.ResponsesService.URL)}))
	}
	return clusters
}

func (b *builder) cluster(name string, endpoints []config.Endpoint) *clusterv3.Cluster {
	c := &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(connectTimeout),
		LoadAssignment:       &endpointv3.ClusterLoadAssignment{ClusterName: name},
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
			// By default Envoy sends to every server, dead ones too, once half of them are dead.
			HealthyPanicThreshold: &typev3.Percent{Value: 0},
		},
		CircuitBreakers: breakers(),
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": b.any(&upstreamhttpv3.HttpProtocolOptions{
				CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(upstreamIdle)},
				UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
					ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
						ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
							HttpProtocolOptions: &corev3.Http1ProtocolOptions{},
						},
					},
				},
			}),
		},
	}
	if len(endpoints) == 0 {
		return c
	}
	if len(endpoints) > 1 {
		c.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
	}
	locality := &endpointv3.LocalityLbEndpoints{}
	for _, e := range endpoints {
		if !e.IsIP() {
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
			// localhost is ::1 first, and engines listen on 127.0.0.1.
			c.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
		}
		locality.LbEndpoints = append(locality.LbEndpoints, lbEndpoint(e))
	}
	c.LoadAssignment.Endpoints = []*endpointv3.LocalityLbEndpoints{locality}
	if endpoints[0].TLS {
		c.TransportSocket = b.tls()
	}
	return c
}

func lbEndpoint(e config.Endpoint) *endpointv3.LbEndpoint {
	// The name is what the Host header is rewritten to, and the one that TLS asks for and checks.
	hostname := e.Host
	if !e.TLS && e.Port != 80 {
		hostname = net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
	}
	return &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
		Endpoint: &endpointv3.Endpoint{Address: socketAddress(e.Host, uint32(e.Port)), Hostname: hostname},
	}}
}

func breakers() *clusterv3.CircuitBreakers {
	limit := wrapperspb.UInt32(breakerLimit)
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: limit, MaxPendingRequests: limit, MaxRequests: limit, MaxRetries: limit,
	}}}
}

// tls asks each server for the certificate of its own name and checks it.
func (b *builder) tls() *corev3.TransportSocket {
	if b.options.CAFile == "" {
		b.fail(errors.New("an https server is configured and no file of trusted certificates was found; name one as ca_file"))
	}
	return &corev3.TransportSocket{
		Name: "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: b.any(&tlsv3.UpstreamTlsContext{
			AutoHostSni:          true,
			AutoSniSanValidation: true,
			CommonTlsContext: &tlsv3.CommonTlsContext{
				AlpnProtocols: []string{"http/1.1"},
				TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
				ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
					TrustedCa: &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: b.options.CAFile}},
				}},
			},
		})},
	}
}
