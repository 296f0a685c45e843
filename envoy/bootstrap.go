package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// NodeCluster is what the Envoys of one gateway call themselves together.
const NodeCluster = "harmony"

// Bootstrap is a complete configuration of one Envoy with nothing behind it: indented JSON, equal for equal resources.
func Bootstrap(r *xds.Resources, admin netip.AddrPort) ([]byte, error) {
	b := base("harmony", admin)
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{Listeners: r.Listeners, Clusters: r.Clusters, Secrets: r.Secrets}
	if len(r.Runtime.GetFields()) > 0 {
		b.LayeredRuntime = runtimeOf(&bootstrapv3.RuntimeLayer{
			Name: xds.RuntimeName, LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: r.Runtime},
		})
	}
	return finish(b)
}

// Discovery is where an Envoy that knows nothing else gets its configuration.
type Discovery struct {
	// ControlPlane is the control plane's address for Envoys, as host:port.
	ControlPlane string
	// Node is the Envoy's own name, which the control plane's status tells.
	Node string
	// Admin is where its admin interface listens.
	Admin netip.AddrPort
}

const (
	controlPlaneCluster = "harmony-controlplane"
	connectTimeout      = time.Second
	// A control plane that restarts is found again soon, and not by all Envoys at once.
	reconnectFirst = 200 * time.Millisecond
	reconnectLast  = 5 * time.Second
	// A dead connection to it would leave an Envoy with an old configuration for as long as TCP takes to notice.
	pingInterval = 10 * time.Second
	pingTimeout  = 5 * time.Second
)

// DiscoveryBootstrap is the configuration of an Envoy that gets the rest of it from a control plane, over delta ADS.
func DiscoveryBootstrap(d Discovery) ([]byte, error) {
	cluster, err := d.cluster()
	if err != nil {
		return nil, err
	}
	b := base(d.Node, d.Admin)
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{cluster}}
	ads := &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}, ResourceApiVersion: corev3.ApiVersion_V3,
	}
	b.DynamicResources = &bootstrapv3.Bootstrap_DynamicResources{
		LdsConfig: ads, CdsConfig: ads,
		AdsConfig: &corev3.ApiConfigSource{
			ApiType: corev3.ApiConfigSource_DELTA_GRPC, TransportApiVersion: corev3.ApiVersion_V3, SetNodeOnFirstMessageOnly: true,
			GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
				ClusterName: controlPlaneCluster,
				RetryPolicy: &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
					BaseInterval: durationpb.New(reconnectFirst), MaxInterval: durationpb.New(reconnectLast),
				}},
			}}}},
		},
	}
	b.LayeredRuntime = runtimeOf(&bootstrapv3.RuntimeLayer{
		Name: xds.RuntimeName,
		LayerSpecifier: &bootstrapv3.RuntimeLayer_RtdsLayer_{RtdsLayer: &bootstrapv3.RuntimeLayer_RtdsLayer{
			Name: xds.RuntimeName, RtdsConfig: ads,
		}},
	})
	return finish(b)
}

func (d *Discovery) cluster() (*clusterv3.Cluster, error) {
	host, port, err := net.SplitHostPort(d.ControlPlane)
	if err != nil {
		return nil, fmt.Errorf("the control plane's address %q is not host:port", d.ControlPlane)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 || host == "" {
		return nil, fmt.Errorf("the control plane's address %q is not host:port", d.ControlPlane)
	}
	options, err := anypb.New(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{ConnectionKeepalive: &corev3.KeepaliveSettings{
						Interval: durationpb.New(pingInterval), Timeout: durationpb.New(pingTimeout),
					}},
				},
			},
		},
	})
	if err != nil {
		return nil, err
	}
	kind := clusterv3.Cluster_STRICT_DNS
	if _, err := netip.ParseAddr(host); err == nil {
		kind = clusterv3.Cluster_STATIC
	}
	return &clusterv3.Cluster{
		Name: controlPlaneCluster, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: kind}, ConnectTimeout: durationpb.New(connectTimeout),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: controlPlaneCluster,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address(host, uint32(number))}},
			}}}},
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options},
	}, nil
}

// base is what every Envoy has.
func base(node string, admin netip.AddrPort) *bootstrapv3.Bootstrap {
	return &bootstrapv3.Bootstrap{
		Node:        &corev3.Node{Id: node, Cluster: NodeCluster},
		Admin:       &bootstrapv3.Admin{Address: address(admin.Addr().String(), uint32(admin.Port()))},
		StatsConfig: xds.Stats(),
	}
}

// runtimeOf is a layer of ours below the one that the admin interface writes.
func runtimeOf(layer *bootstrapv3.RuntimeLayer) *bootstrapv3.LayeredRuntime {
	return &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{
		layer,
		{Name: "admin", LayerSpecifier: &bootstrapv3.RuntimeLayer_AdminLayer_{AdminLayer: &bootstrapv3.RuntimeLayer_AdminLayer{}}},
	}}
}

func address(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func finish(b *bootstrapv3.Bootstrap) ([]byte, error) {
	if err := b.ValidateAll(); err != nil {
		return nil, fmt.Errorf("envoy: bootstrap: %w", err)
	}
	return MarshalJSON(b)
}

// MarshalJSON is protojson with spaces that do not change from build to build.
func MarshalJSON(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("envoy: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("envoy: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
