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
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// connectTimeout is how long a connection attempt may take before another server is tried. A machine that is gone does
	// not even refuse connections.
	connectTimeout = 2 * time.Second
	// upstreamIdle is how long an idle connection to a server is kept. The engines' HTTP servers close theirs after 5 s
	// (uvicorn's default), and a request sent at that moment would fail. So Envoy closes them earlier.
	upstreamIdle = 4 * time.Second

	tlsSocket = "envoy.transport_sockets.tls"
	// protocolOptions is the name of a cluster's HTTP options.
	protocolOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
)

func (b *builder) clusters() []*clusterv3.Cluster {
	clusters := []*clusterv3.Cluster{b.cluster(UnroutedCluster, nil, speech{})}
	for _, p := range b.usedPools() {
		clusters = append(clusters, b.poolCluster(p))
	}
	clusters = append(clusters, b.pickerClusters()...)
	if b.config.Passthrough != "" {
		clusters = append(clusters, b.cluster(PassthroughCluster, singleServer(b.resolved.Passthrough), speech{}))
	}
	if c := b.withService(); c != nil {
		clusters = append(clusters, b.cluster(ResponsesCluster, singleServer(c.Service), speech{}))
	}
	if b.config.Tap.URL != "" {
		clusters = append(clusters, b.cluster(contract.TapCluster, singleServer(b.resolved.Tap), speech{}))
	}
	if b.config.Limits.Kept() == config.LimitsService {
		clusters = append(clusters, b.limitsCluster())
	}
	if b.config.Tracing.Enabled() {
		clusters = append(clusters, b.tracingCluster())
	}
	return clusters
}

// usedPools returns the pools with models, and those that read or render prompts for one of them. The others are spares, or have
// no model yet.
func (b *builder) usedPools() []*config.ResolvedPool {
	var all []*config.ResolvedPool
	for i := range b.resolved.Pools {
		if p := &b.resolved.Pools[i]; len(p.Models) > 0 || len(b.decodePools(p)) > 0 || b.rendersForOthers(p) {
			all = append(all, p)
		}
	}
	return all
}

// singleServer returns a group of the one server of a URL in the configuration.
func singleServer(e config.Endpoint) []group { return []group{{servers: []Server{{Endpoint: e}}}} }

// group is the servers of one priority. A higher number is used when the servers of the lower ones are not enough.
type group struct {
	priority uint32
	servers  []Server
	// spare is the name of the pool, if it is another one's spare.
	spare string
}

// speech is how Envoy speaks with the servers of a cluster. The zero value is plain HTTP/1.1.
type speech struct {
	// filters change what the servers get.
	filters []*hcmv3.HttpFilter
	// perConnection is how many requests a connection may have, or 0.
	perConnection uint32
	// http2 reports whether the servers speak HTTP/2.
	http2 bool
	// faults are the statuses of answers that count against a server. Empty: Envoy's own choice.
	faults []int
}

// cluster returns a cluster with the settings that all clusters have in common.
func (b *builder) cluster(name string, groups []group, how speech) *clusterv3.Cluster {
	connections := &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(upstreamIdle)}
	if how.perConnection > 0 {
		connections.MaxRequestsPerConnection = wrapperspb.UInt32(how.perConnection)
	}
	c := &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(connectTimeout),
		LoadAssignment:       assignment(name, groups),
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{
			// With Envoy's default, requests go to all servers, dead ones too, when half of them are dead.
			HealthyPanicThreshold: &typev3.Percent{Value: 0},
			// With Envoy's default, a server that is added or becomes healthy waits a second, so that changes can be merged
			// (RATIONALE.md#57).
			UpdateMergeWindow: durationpb.New(0),
		},
		CircuitBreakers: breakers(),
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			protocolOptions: b.any(&upstreamhttpv3.HttpProtocolOptions{
				CommonHttpProtocolOptions: connections,
				UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
					ExplicitHttpConfig: how.protocol(),
				},
				HttpFilters:      how.filters,
				OutlierDetection: faulty(how.faults),
			}),
		},
	}
	for _, g := range groups {
		for i := range g.servers {
			s := &g.servers[i]
			if !s.Address.IsValid() && !s.Endpoint.IsIP() {
				c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
				// localhost resolves to ::1 first, and engines listen on 127.0.0.1.
				c.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
			}
			if s.Endpoint.TLS && c.TransportSocket == nil {
				c.TransportSocket = b.tls(how)
			}
		}
	}
	return c
}

func (s *speech) protocol() *upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig {
	if s.http2 {
		return &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
			ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
				Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
			},
		}
	}
	return &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
			HttpProtocolOptions: &corev3.Http1ProtocolOptions{},
		},
	}
}

// assignment returns the endpoints of a cluster.
func assignment(cluster string, groups []group) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
	for _, g := range groups {
		locality := &endpointv3.LocalityLbEndpoints{Priority: g.priority}
		for i := range g.servers {
			e := lbEndpoint(&g.servers[i])
			e.Metadata = serverMetadata(g.spare, g.servers[i].Draining)
			locality.LbEndpoints = append(locality.LbEndpoints, e)
		}
		if len(locality.LbEndpoints) > 0 {
			a.Endpoints = append(a.Endpoints, locality)
		}
	}
	return a
}

// serverMetadata returns the metadata from which the access log and the filter know that a server is a spare's, and the
// filter that it is drained. Envoy gives a server's new metadata to streams that run there.
func serverMetadata(spare string, draining bool) *corev3.Metadata {
	fields := map[string]*structpb.Value{}
	if spare != "" {
		fields[contract.SpareKey] = structpb.NewStringValue(spare)
	}
	if draining {
		fields[contract.DrainingKey] = structpb.NewStringValue(contract.IsDraining)
	}
	if len(fields) == 0 {
		return nil
	}
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{contract.MetadataNamespace: {Fields: fields}}}
}

func lbEndpoint(s *Server) *endpointv3.LbEndpoint {
	e := s.Endpoint
	// The Host header is rewritten to this name. TLS requests and verifies a certificate for it.
	hostname := e.Authority()
	address := socketAddress(e.Host, uint32(e.Port))
	if s.Address.IsValid() {
		address = socketAddress(s.Address.Addr().String(), uint32(s.Address.Port()))
	}
	out := &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
		Endpoint: &endpointv3.Endpoint{Address: address, Hostname: hostname},
	}}
	if s.Draining {
		out.HealthStatus = corev3.HealthStatus_DRAINING
	} else if s.NotReady {
		out.HealthStatus = corev3.HealthStatus_UNHEALTHY
	} else if s.Weight > 0 {
		out.LoadBalancingWeight = wrapperspb.UInt32(s.Weight)
	}
	return out
}

// tls returns a TLS socket that requests and verifies, for each server, a certificate for the server's own name.
func (b *builder) tls(how speech) *corev3.TransportSocket {
	protocol := "http/1.1"
	if how.http2 {
		protocol = "h2"
	}
	if b.options.CAFile == "" {
		b.fail(errors.New("an https server is configured and no file of trusted certificates was found; name one as ca_file"))
	}
	return &corev3.TransportSocket{
		Name: tlsSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: b.any(&tlsv3.UpstreamTlsContext{
			AutoHostSni:          true,
			AutoSniSanValidation: true,
			CommonTlsContext: &tlsv3.CommonTlsContext{
				AlpnProtocols: []string{protocol},
				TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
				ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{
					ValidationContext: &tlsv3.CertificateValidationContext{
						TrustedCa: file(b.options.CAFile),
					}},
			},
		})},
	}
}
