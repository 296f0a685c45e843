//go:build e2e

package lab

import (
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
)

// Change is a change that a test makes to Envoy's resources before it starts.
type Change func(*testing.T, *xds.Resources)

// EditManager edits the HTTP connection manager of the clients' listener.
func EditManager(t *testing.T, r *xds.Resources, edit func(*hcmv3.HttpConnectionManager)) {
	t.Helper()
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	r.Listeners[0].FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: Pack(t, m)}
}

// FilterIn returns the shipped filter among a connection manager's.
func FilterIn(m *hcmv3.HttpConnectionManager) *hcmv3.HttpFilter {
	return m.HttpFilters[slices.IndexFunc(m.HttpFilters,
		func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })]
}

// EditPlugin edits the shipped filter's configuration.
func EditPlugin(t *testing.T, r *xds.Resources, edit func(*wasmv3.PluginConfig)) {
	t.Helper()
	EditManager(t, r, func(m *hcmv3.HttpConnectionManager) { EditFilter(t, FilterIn(m), edit) })
}

// EditFilter edits a Wasm filter's configuration.
func EditFilter(t *testing.T, f *hcmv3.HttpFilter, edit func(*wasmv3.PluginConfig)) {
	t.Helper()
	filter := &wasmfilterv3.Wasm{}
	if err := f.GetTypedConfig().UnmarshalTo(filter); err != nil {
		t.Fatal(err)
	}
	edit(filter.Config)
	f.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: Pack(t, filter)}
}

// Pack returns a message as Any.
func Pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// WithoutFilter is the [Change] that takes the shipped filter out of the chain, and nothing else.
func WithoutFilter(t *testing.T, r *xds.Resources) {
	t.Helper()
	if err := hosts.WithoutFilter(r); err != nil {
		t.Fatal(err)
	}
}

// HTTP2To returns the [Change] that makes Envoy speak HTTP/2 to a cluster's servers.
func HTTP2To(cluster string) Change {
	return func(t *testing.T, r *xds.Resources) {
		c := r.Cluster(cluster)
		if c == nil {
			t.Fatalf("no cluster %s", cluster)
		}
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": Pack(t, &upstreamhttpv3.HttpProtocolOptions{
				UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
					ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
						ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
							Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
						},
					},
				},
			}),
		}
	}
}
