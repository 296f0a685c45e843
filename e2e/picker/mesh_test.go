//go:build e2e

package picker

import (
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	procv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	overridev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	robinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/protocol"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// istioFilter is the name of Istio's filter for endpoint pickers, and istioPicker that of a picker's cluster there.
const (
	istioFilter = "envoy.filters.http.ext_proc"
	istioPicker = "outbound|9002||picker.models.svc.cluster.local"
)

// asIstio makes an Envoy ask the picker at an address as gateways of Istio 1.31 do, by Istio's source: the filter is in
// the listener and asks nobody, and the pool's route has it ask, with all bodies. The cluster goes by the picker's
// metadata. What Istio makes of objects is not tested here.
// An empty address is a picker without an endpoint.
func asIstio(address string, open bool) lab.Change {
	return func(t *testing.T, r *xds.Resources) {
		t.Helper()
		m, err := r.ConnectionManager()
		if err != nil {
			t.Fatal(err)
		}
		namespace := &procv3.MetadataOptions_MetadataNamespaces{Untyped: []string{protocol.Namespace}}
		filter := &hcmv3.HttpFilter{Name: istioFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(t,
			&procv3.ExternalProcessor{
				GrpcService: service("dummy"), FailureModeAllow: true, MessageTimeout: &durationpb.Duration{Seconds: 1000},
				ProcessingMode: &procv3.ProcessingMode{RequestHeaderMode: procv3.ProcessingMode_SKIP,
					ResponseHeaderMode: procv3.ProcessingMode_SKIP},
				MetadataOptions: &procv3.MetadataOptions{ReceivingNamespaces: namespace, ForwardingNamespaces: namespace},
			})}}
		m.HttpFilters = slices.Insert(m.HttpFilters, len(m.HttpFilters)-1, filter)
		asked := 0
		for _, route := range m.GetRouteConfig().GetVirtualHosts()[0].GetRoutes() {
			if route.GetRoute().GetCluster() != contract.PoolClusterPrefix+"gpus" {
				continue
			}
			asked++
			if route.TypedPerFilterConfig == nil {
				route.TypedPerFilterConfig = map[string]*anypb.Any{}
			}
			route.TypedPerFilterConfig[istioFilter] = pack(t, &procv3.ExtProcPerRoute{
				Override: &procv3.ExtProcPerRoute_Overrides{Overrides: &procv3.ExtProcOverrides{
					GrpcService: service(istioPicker), FailureModeAllow: wrapperspb.Bool(open),
					ProcessingMode: &procv3.ProcessingMode{
						RequestHeaderMode: procv3.ProcessingMode_SEND, ResponseHeaderMode: procv3.ProcessingMode_SEND,
						RequestBodyMode:    procv3.ProcessingMode_FULL_DUPLEX_STREAMED,
						ResponseBodyMode:   procv3.ProcessingMode_FULL_DUPLEX_STREAMED,
						RequestTrailerMode: procv3.ProcessingMode_SEND, ResponseTrailerMode: procv3.ProcessingMode_SEND,
					},
				}}})
			route.RequestHeadersToRemove = slices.DeleteFunc(route.RequestHeadersToRemove,
				func(name string) bool { return name == contract.DestinationHeader })
		}
		if asked == 0 {
			t.Fatal("no route leads to the pool")
		}
		r.Listeners[0].FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: pack(t, m)}

		key := func(name string) *metadatav3.MetadataKey {
			return &metadatav3.MetadataKey{Key: protocol.Namespace, Path: []*metadatav3.MetadataKey_PathSegment{
				{Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: name}}}}
		}
		policy := func(name string, m proto.Message) *clusterv3.LoadBalancingPolicy {
			return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
				TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: name, TypedConfig: pack(t, m)}}}}
		}
		pool := r.Cluster(contract.PoolClusterPrefix + "gpus")
		pool.LoadBalancingPolicy = policy("envoy.load_balancing_policies.override_host", &overridev3.OverrideHost{
			OverrideHostSources: []*overridev3.OverrideHost_OverrideHostSource{{Metadata: key(contract.DestinationHeader)}},
			SelectedHostKey:     key(protocol.Served),
			FallbackPolicy:      policy("envoy.load_balancing_policies.round_robin", &robinv3.RoundRobin{}),
		})
		r.Clusters = append(r.Clusters, pickerCluster(t, address))
	}
}

func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func service(cluster string) *corev3.GrpcService {
	return &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
		EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: cluster}}}
}

// pickerCluster returns the cluster of a picker, which speaks HTTP/2.
func pickerCluster(t *testing.T, address string) *clusterv3.Cluster {
	t.Helper()
	endpoints := &endpointv3.LocalityLbEndpoints{}
	if address != "" {
		at, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		endpoints.LbEndpoints = append(endpoints.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{
				Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: at.IP.String(),
					PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(at.Port)}}}}}}})
	}
	return &clusterv3.Cluster{
		Name: istioPicker, ConnectTimeout: &durationpb.Duration{Seconds: 10},
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: istioPicker,
			Endpoints: []*endpointv3.LocalityLbEndpoints{endpoints}},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": pack(t, &upstreamhttpv3.HttpProtocolOptions{
				UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
					ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
						ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
							Http2ProtocolOptions: &corev3.Http2ProtocolOptions{}}}}})},
	}
}

// meshPool is a configuration whose model has a pool of servers, and the router filters that a mesh has.
func meshPool(urls []string) *config.Config {
	c := lab.OneModel("http://127.0.0.1:1")
	c.Models[0].Servers, c.Models[0].Pool, c.HeadersOnly = nil, "gpus", true
	c.Pools = []config.Pool{{Name: "gpus", Servers: urls, Policy: config.PolicyLeastRequest,
		Health: config.Health{Path: config.NoHealthChecks}}}
	return c
}

// TestMesh: an Envoy with the filter that Istio has for an InferencePool asks harmony picker, with all bodies in both
// directions, and the picker's choice is what counts. A picker that refuses connections is 503 by either failure mode:
// what Envoy has begun to send it is lost.
func TestMesh(t *testing.T) {
	servers, urls := sims(t, 3, sim.Options{})
	for name, open := range map[string]bool{"FailClose": false, "FailOpen": true} {
		t.Run(name, func(t *testing.T) {
			before := servedBy(servers)
			p := runPicker(t, urls[1]) // the others are in the pool, and in no answer of the picker's
			c := meshPool(urls)
			c.AccessLog = filepath.Join(t.TempDir(), "access.json")
			h := lab.RunEnvoy(t, c, asIstio(strings.TrimPrefix(p.url, "http://"), open))
			client := lab.HTTP1(t)
			stream := `{"model":"gpt-oss-120b","stream":true,"messages":[{"role":"user","content":"Hi"}]}`
			for _, body := range []string{lab.ChatBody(lab.Model, "Hi"), stream,
				lab.ChatBody(lab.Model, strings.Repeat("word ", 100_000))} {
				a := post(client, h.URL, body, nil)
				if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, `"chat.completion`) ||
					body == stream && !strings.HasSuffix(a.Body, "data: [DONE]\n\n") {
					t.Errorf("%.80s: got %d %.300s (%v)", body, a.Status, a.Body, a.Err)
				}
			}
			if after := servedBy(servers); after[1]-before[1] != 3 || after[0] != before[0] || after[2] != before[2] {
				t.Errorf("the servers have got %v requests, and before %v", after, before)
			}
			// Of a picker's metadata, gateways of Istio keep the servers only. Envoy writes its log every 10 seconds.
			if !open {
				reasons := logged(t, c.AccessLog, 3, "picked_for")
				if !slices.Equal(slices.Compact(reasons), []string{"<nil>"}) {
					t.Errorf("the log has %v", reasons)
				}
			}
			p.stop()
			before = servedBy(servers)
			for _, words := range []int{1, 100_000} {
				a := post(client, h.URL, lab.ChatBody(lab.Model, strings.Repeat("word ", words)), nil)
				lab.WantRefused(t, a, http.StatusServiceUnavailable, "server_unavailable")
			}
			if after := servedBy(servers); !slices.Equal(after, before) {
				t.Errorf("without a picker the servers have got %v requests, and before %v", after, before)
			}
		})
	}
}

// TestMeshWithoutPicker: where the picker's Service has no endpoint, the failure mode decides.
func TestMeshWithoutPicker(t *testing.T) {
	servers, urls := sims(t, 2, sim.Options{})
	client := lab.HTTP1(t)
	for name, open := range map[string]bool{"FailClose": false, "FailOpen": true} {
		t.Run(name, func(t *testing.T) {
			before := len(lab.Completions(servers[0])) + len(lab.Completions(servers[1]))
			h := lab.RunEnvoy(t, meshPool(urls), asIstio("", open))
			for range 4 {
				a := post(client, h.URL, lab.ChatBody(lab.Model, "Hi"), nil)
				if !open {
					lab.WantRefused(t, a, http.StatusServiceUnavailable, "server_unavailable")
				} else if a.Err != nil || a.Status != http.StatusOK {
					t.Errorf("got %d %s (%v)", a.Status, a.Body, a.Err)
				}
			}
			served := len(lab.Completions(servers[0])) + len(lab.Completions(servers[1]))
			if want := map[bool]int{true: 4}[open]; served-before != want {
				t.Errorf("the servers have got %d requests, want %d", served-before, want)
			}
		})
	}
}
