package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// NodeCluster is the node.cluster of all Envoys of a gateway.
const NodeCluster = "harmony"

// Bootstrap returns a complete configuration for an Envoy without a control plane, as indented JSON. Equal resources
// give equal bytes. If stats is valid, Envoy also serves its statistics at that address, and nothing else there. See
// [CheckStats] for the error.
func Bootstrap(r *xds.Resources, admin, stats netip.AddrPort) ([]byte, error) {
	at := address(admin.Addr().String(), uint32(admin.Port()))
	if err := CheckStats(stats, admin); err != nil {
		return nil, err
	}
	b := newBootstrap("harmony", at)
	b.OverloadManager = r.Overload
	b.StaticResources = &bootstrapv3.Bootstrap_StaticResources{
		Listeners: slices.Clip(r.Listeners), Clusters: slices.Clip(r.Clusters), Secrets: r.Secrets}
	addStats(b.StaticResources, stats, at)
	if len(r.Runtime.GetFields()) > 0 {
		b.LayeredRuntime = layeredRuntime(&bootstrapv3.RuntimeLayer{
			Name: xds.RuntimeName, LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: r.Runtime},
		})
	}
	return marshalBootstrap(b)
}

// newBootstrap returns what every bootstrap contains.
func newBootstrap(node string, admin *corev3.Address) *bootstrapv3.Bootstrap {
	return &bootstrapv3.Bootstrap{
		Node: &corev3.Node{Id: node, Cluster: NodeCluster},
		// An operator must reach the admin interface when clients use up all connections.
		Admin:       &bootstrapv3.Admin{Address: admin, IgnoreGlobalConnLimit: true},
		StatsConfig: xds.Stats(),
	}
}

// layeredRuntime puts a layer below the one that the admin interface writes.
func layeredRuntime(layer *bootstrapv3.RuntimeLayer) *bootstrapv3.LayeredRuntime {
	return &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{
		layer,
		{Name: "admin", LayerSpecifier: &bootstrapv3.RuntimeLayer_AdminLayer_{
			AdminLayer: &bootstrapv3.RuntimeLayer_AdminLayer{}}},
	}}
}

func address(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func marshalBootstrap(b *bootstrapv3.Bootstrap) ([]byte, error) {
	if err := b.ValidateAll(); err != nil {
		return nil, fmt.Errorf("envoy: bootstrap: %w", err)
	}
	return MarshalJSON(b)
}

// MarshalJSON returns the protojson of m with proto names and with spaces that do not change from build to build.
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
