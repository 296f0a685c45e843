package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
)

// Bootstrap is a complete configuration of one Envoy with nothing behind it: indented JSON, equal for equal resources.
func Bootstrap(r *xds.Resources, admin netip.AddrPort) ([]byte, error) {
	b := &bootstrapv3.Bootstrap{
		Node: &corev3.Node{Id: "harmony", Cluster: "harmony"},
		Admin: &bootstrapv3.Admin{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: admin.Addr().String(), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(admin.Port())},
		}}}},
		StatsConfig:     xds.Stats(),
		StaticResources: &bootstrapv3.Bootstrap_StaticResources{Listeners: []*listenerv3.Listener{r.Listener}, Clusters: r.Clusters},
	}
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
