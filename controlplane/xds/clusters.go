package xds

import (
	"errors"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
)

const (
	// A server whose machine is gone does not even refuse; then another one is tried after this time.
	connectTimeout = 2 * time.Second
	// The engines' HTTP servers close an idle connection after 5 s (uvicorn's default); a request sent at that very
	// moment would fail. So ours are closed first.
	upstreamIdle = 4 * time.Second

	tlsSocket = "envoy.transport_sockets.tls"
)

func (b *builder) clusters() []*clusterv3.Cluster {
	clusters := []*clusterv3.Cluster{b.cluster(UnroutedCluster, nil, nil)}
	for _, p := range b.usedPools() {
		clusters = append(clusters, b.poolCluster(p))
	}
	if b.config.Passthrough != "" {
		clusters = append(clusters, b.cluster(PassthroughCluster, written(b.resolved.Passthrough), nil))
	}
	if b.config.ResponsesService.URL != "" {
		clusters = append(clusters, b.cluster(ResponsesCluster, written(b.resolved.Service), nil))
	}
	return clusters
}

// usedPools are those with models. Another is a spare, or waits for one.
func (b *builder) usedPools() []*config.ResolvedPool {
	var all []*config.ResolvedPool
	for i := range b.resolved.Pools {
		if p := &b.resolved.Pools[i]; len(p.Models) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// written is a group of one server whose URL is written out.
func written(e config.Endpoint) []group { return []group{{servers: []Server{{Endpoint: e}}}} }

// group are servers of one priority: those of a higher one are for when these are not enough.
type group struct {
	priority uint32
	servers  []Server
}

// cluster is what all clusters have in common.
func (b *builder) cluster(name string, groups []group, filters []*hcmv3.HttpFilter) *clusterv3.Cluster {
	c := &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(connectTimeout),
		LoadAssignment:       assignment(name, groups),
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
			// By default Envoy sends to every server, dead ones too, once half of them are dead.
			HealthyPanicThreshold: &typev3.Percent{Value: 0},
			// By default a server that has come, or is well again, waits a second for others to be merged with it.
			UpdateMergeWindow: durationpb.New(0),
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
				HttpFilters: filters,
			}),
		},
	}
	for _, g := range groups {
		for i := range g.servers {
			s := &g.servers[i]
			if !s.Address.IsValid() && !s.Endpoint.IsIP() {
				c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
				// localhost is ::1 first, and engines listen on 127.0.0.1.
				c.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
			}
			if s.Endpoint.TLS && c.TransportSocket == nil {
				c.TransportSocket = b.tls()
			}
		}
	}
	return c
}

// assignment are the servers of a cluster.
func assignment(cluster string, groups []group) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
	for _, g := range groups {
		locality := &endpointv3.LocalityLbEndpoints{Priority: g.priority}
		for i := range g.servers {
			locality.LbEndpoints = append(locality.LbEndpoints, lbEndpoint(&g.servers[i]))
		}
		if len(locality.LbEndpoints) > 0 {
			a.Endpoints = append(a.Endpoints, locality)
		}
	}
	return a
}

func lbEndpoint(s *Server) *endpointv3.LbEndpoint {
	e := s.Endpoint
	// The name is what the Host header is rewritten to, and the one that TLS asks for and checks.
	hostname := e.Authority()
	address := socketAddress(e.Host, uint32(e.Port))
	if s.Address.IsValid() {
		address = socketAddress(s.Address.Addr().String(), uint32(s.Address.Port()))
	}
	out := &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
		Endpoint: &endpointv3.Endpoint{Address: address, Hostname: hostname},
	}}
	if s.NotReady {
		out.HealthStatus = corev3.HealthStatus_UNHEALTHY
	}
	return out
}

// tls asks each server for the certificate of its own name and checks it.
func (b *builder) tls() *corev3.TransportSocket {
	if b.options.CAFile == "" {
		b.fail(errors.New("an https server is configured and no file of trusted certificates was found; name one as ca_file"))
	}
	return &corev3.TransportSocket{
		Name: tlsSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: b.any(&tlsv3.UpstreamTlsContext{
			AutoHostSni:          true,
			AutoSniSanValidation: true,
			CommonTlsContext: &tlsv3.CommonTlsContext{
				AlpnProtocols: []string{"http/1.1"},
				TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
				ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
					TrustedCa: file(b.options.CAFile),
				}},
			},
		})},
	}
}
