package envoy

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Discovery is the input of [DiscoveryBootstrap]: where an Envoy gets its configuration, and what it cannot get from
// there.
type Discovery struct {
	// ControlPlane is the control plane's address for Envoys, as host:port, or as unix:PATH for a socket of this machine.
	ControlPlane string
	// Node is the Envoy's own name. The control plane's status shows it.
	Node string
	// Group is the group of Envoys that it belongs to, for rollouts of another filter. It may be empty.
	Group string
	// Admin is the address of its admin interface.
	Admin netip.AddrPort
	// AdminSocket is the path of a Unix socket for its admin interface. If it is not empty, Admin is not used. Only the
	// user of the Envoy can connect to it.
	AdminSocket string
	// Stats is the address at which it serves its statistics to Prometheus, and nothing else. If it is invalid, there is
	// no such address.
	Stats netip.AddrPort
	// CAFile is the path of the certificates that the control plane's certificate is checked against, for the host of its
	// address. If it is empty, the connection has no TLS.
	CAFile string
	// CertificateFile and KeyFile are the certificate that this Envoy presents to the control plane. They are empty if it
	// presents none.
	CertificateFile, KeyFile string
	// SecretsFolder is where Envoy finds the files of [DiscoverySecrets], by which it notices that the files above have
	// been renewed. If it is empty, Envoy reads them when it starts, and not again.
	SecretsFolder string
	// PushMetrics makes the Envoy push the metrics that the control plane's page shows to the control plane.
	PushMetrics bool
	// Collector is the URL of an OTLP collector that gets all of the Envoy's metrics, by gRPC. If it is empty, there is
	// none. CollectorCAFile is the path of the certificates that the collector is checked against, if the URL is https.
	Collector, CollectorCAFile string
	// Limits has the limits of the Envoy as a whole, which it cannot discover: MaxHeap and MaxConnections. 0 means the
	// default.
	Limits config.Envoy
}

// maxGroup is the longest name of a group that a control plane takes, in bytes.
const maxGroup = 512

const (
	controlPlaneCluster = "harmony-controlplane"
	connectTimeout      = time.Second
	// reconnectFirst and reconnectLast are the waits before an Envoy connects again: short, so that a restarted control
	// plane is found soon, and growing, so that not all Envoys connect at once.
	reconnectFirst = 100 * time.Millisecond
	reconnectLast  = time.Second
	// Pings detect a dead connection to the control plane. Without them an Envoy would keep an old configuration until TCP
	// notices.
	pingInterval = 10 * time.Second
	pingTimeout  = 5 * time.Second
)

// DiscoveryBootstrap returns the configuration of an Envoy that gets everything else from a control plane over delta
// ADS, as indented JSON. It returns an error if an address, a limit or the TLS files are wrong.
func DiscoveryBootstrap(d Discovery) ([]byte, error) {
	cluster, err := d.cluster()
	if err != nil {
		return nil, err
	}
	if d.Node == "" {
		return nil, errors.New("the Envoy has no name; give it one with --node")
	}
	limits := d.Limits
	limits.MaxHeap = cmp.Or(limits.MaxHeap, config.DefaultMaxHeap)
	limits.MaxConnections = cmp.Or(limits.MaxConnections, config.DefaultMaxConnections)
	if err := limits.CheckLimits(); err != nil {
		return nil, err
	}
	admin, err := d.admin()
	if err != nil {
		return nil, err
	}
	if len(d.Group) > maxGroup {
		return nil, fmt.Errorf("the group has %d bytes, and may have %d; shorten --group", len(d.Group), maxGroup)
	}
	b := newBootstrap(d.Node, admin)
	if d.Group != "" {
		b.Node.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{
			ads.GroupMetadata: structpb.NewStringValue(d.Group)}}
	}
	if b.OverloadManager, err = xds.Overload(&limits); err != nil {
		return nil, err
	}
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{cluster}}
	addStats(b.StaticResources, d.Stats, admin)
	if err := d.addMetrics(b); err != nil {
		return nil, err
	}
	ads := &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		ResourceApiVersion:    corev3.ApiVersion_V3,
	}
	b.DynamicResources = &bootstrapv3.Bootstrap_DynamicResources{
		LdsConfig: ads, CdsConfig: ads,
		AdsConfig: &corev3.ApiConfigSource{
			ApiType: corev3.ApiConfigSource_DELTA_GRPC, TransportApiVersion: corev3.ApiVersion_V3,
			SetNodeOnFirstMessageOnly: true,
			GrpcServices: []*corev3.GrpcService{{
				TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
					ClusterName: controlPlaneCluster,
					RetryPolicy: &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
						BaseInterval: durationpb.New(reconnectFirst), MaxInterval: durationpb.New(reconnectLast),
					}},
				}}}},
		},
	}
	// The control plane learns only from this Envoy which servers it reaches (HDS, RATIONALE.md#59).
	b.HdsConfig = &corev3.ApiConfigSource{
		ApiType: corev3.ApiConfigSource_GRPC, TransportApiVersion: corev3.ApiVersion_V3,
		GrpcServices: b.GetDynamicResources().GetAdsConfig().GetGrpcServices(),
	}
	if d.PushMetrics { // the numbers of single servers, which are no metrics (LRS, RATIONALE.md#268)
		b.ClusterManager = &bootstrapv3.ClusterManager{LoadStatsConfig: &corev3.ApiConfigSource{
			ApiType: corev3.ApiConfigSource_GRPC, TransportApiVersion: corev3.ApiVersion_V3,
			GrpcServices: b.GetDynamicResources().GetAdsConfig().GetGrpcServices(),
		}}
	}
	b.LayeredRuntime = layeredRuntime(&bootstrapv3.RuntimeLayer{
		Name: xds.RuntimeName,
		LayerSpecifier: &bootstrapv3.RuntimeLayer_RtdsLayer_{RtdsLayer: &bootstrapv3.RuntimeLayer_RtdsLayer{
			Name: xds.RuntimeName, RtdsConfig: ads,
		}},
	})
	return marshalBootstrap(b)
}

// socketMode is the mode of the admin interface's socket.
const socketMode = 0o600

// admin returns the address of the admin interface.
func (d *Discovery) admin() (*corev3.Address, error) {
	if d.AdminSocket != "" {
		return &corev3.Address{Address: &corev3.Address_Pipe{
			Pipe: &corev3.Pipe{Path: d.AdminSocket, Mode: socketMode}}}, nil
	}
	return address(d.Admin.Addr().String(), uint32(d.Admin.Port())), CheckStats(d.Stats, d.Admin)
}

// UnixPrefix begins an address that is the path of a Unix socket.
const UnixPrefix = "unix:"

// endpoint returns the control plane's address, the type of cluster that reaches it, and the host name that its
// certificate must have.
func (d *Discovery) endpoint() (at *corev3.Address, kind clusterv3.Cluster_DiscoveryType, host string, err error) {
	if path, ok := strings.CutPrefix(d.ControlPlane, UnixPrefix); ok {
		if path == "" || d.CAFile != "" {
			return nil, 0, "", fmt.Errorf("the control plane's address %q is a Unix socket: write its path after unix:, and "+
				"leave the certificates out", d.ControlPlane)
		}
		return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}, clusterv3.Cluster_STATIC, "",
			nil
	}
	host, port, err := net.SplitHostPort(d.ControlPlane)
	if err != nil {
		return nil, 0, "", fmt.Errorf("the control plane's address %q is not host:port", d.ControlPlane)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 || host == "" {
		return nil, 0, "", fmt.Errorf("the control plane's address %q is not host:port", d.ControlPlane)
	}
	kind = clusterv3.Cluster_STRICT_DNS
	if _, err := netip.ParseAddr(host); err == nil {
		kind = clusterv3.Cluster_STATIC
	}
	return address(host, uint32(number)), kind, host, nil
}

func (d *Discovery) cluster() (*clusterv3.Cluster, error) {
	at, kind, host, err := d.endpoint()
	if err != nil {
		return nil, err
	}
	socket, err := d.tls(host)
	if err != nil {
		return nil, err
	}
	return grpcCluster(controlPlaneCluster, at, kind, socket, &corev3.KeepaliveSettings{
		Interval: durationpb.New(pingInterval), Timeout: durationpb.New(pingTimeout),
	})
}

// grpcCluster returns a cluster of one gRPC server. If pings is nil, it gets none.
func grpcCluster(name string, at *corev3.Address, kind clusterv3.Cluster_DiscoveryType, socket *corev3.TransportSocket,
	pings *corev3.KeepaliveSettings) (*clusterv3.Cluster, error) {
	options, err := anypb.New(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{ConnectionKeepalive: pings},
				},
			},
		},
	})
	if err != nil {
		return nil, err
	}
	return &clusterv3.Cluster{
		// A name may resolve to an IPv6 address first, on which the server need not listen. Pools have the same rule.
		DnsLookupFamily: clusterv3.Cluster_V4_PREFERRED,
		TransportSocket: socket,
		Name:            name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: kind},
		ConnectTimeout: durationpb.New(connectTimeout),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: at}},
			}}}},
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options},
	}, nil
}

// tls returns the TLS socket for the control plane, or nil without TLS.
func (d *Discovery) tls(host string) (*corev3.TransportSocket, error) {
	if d.CAFile == "" {
		if d.CertificateFile != "" || d.KeyFile != "" {
			return nil, errors.New("an Envoy presents a certificate only to a control plane whose certificate it checks: " +
				"name the CA file too")
		}
		return nil, nil
	}
	if (d.CertificateFile == "") != (d.KeyFile == "") {
		return nil, errors.New("a certificate needs its key: name both files")
	}
	name := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: host}}
	kind := tlsv3.SubjectAltNameMatcher_DNS
	if _, err := netip.ParseAddr(host); err == nil {
		kind = tlsv3.SubjectAltNameMatcher_IP_ADDRESS
	}
	common := &tlsv3.CommonTlsContext{
		AlpnProtocols: []string{"h2"},
		TlsParams:     &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
	}
	d.addSecrets(common, []*tlsv3.SubjectAltNameMatcher{{SanType: kind, Matcher: name}})
	packed, err := anypb.New(&tlsv3.UpstreamTlsContext{CommonTlsContext: common})
	if err != nil {
		return nil, err
	}
	return &corev3.TransportSocket{Name: "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: packed}}, nil
}
