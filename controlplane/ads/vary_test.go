package ads

import (
	"strconv"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// extensionWith returns a configuration of an extension.
func extensionWith(t *testing.T, content string) *corev3.TypedExtensionConfig {
	t.Helper()
	packed, err := anypb.New(wrapperspb.String(content))
	if err != nil {
		t.Fatal(err)
	}
	return &corev3.TypedExtensionConfig{Name: "filter", TypedConfig: packed}
}

// TestARefusedExtensionNeverComesAgainAsItWas checks that a refused configuration is not sent again unchanged, on the
// same stream or on a later one: Envoy would acknowledge it without trying it. A configuration that is held is not sent
// again for that reason.
func TestARefusedExtensionNeverComesAgainAsItWas(t *testing.T) {
	with := func(content string) Resources {
		r := testResources(t, 1, "a")
		r[resource.ExtensionConfigType] = append(r[resource.ExtensionConfigType], extensionWith(t, content))
		return r
	}
	s := New(Options{Vary: func(_ *corev3.TypedExtensionConfig, variant uint32) *corev3.TypedExtensionConfig {
		return extensionWith(t, strconv.FormatUint(uint64(variant), 10))
	}})
	set(t, s, with("bad"))
	address := serve(t, s)
	seen := map[string]bool{}
	different := func(r *discovery.DeltaDiscoveryResponse) {
		t.Helper()
		content := string(r.GetResources()[0].GetResource().GetValue())
		if seen[content] {
			t.Errorf("it has come before as it is now")
		}
		seen[content] = true
	}
	var version string
	for range 2 {
		c := connect(t, address, "one")
		c.subscribe(resource.ExtensionConfigType, "filter")
		for range 2 {
			r := c.receive(resource.ExtensionConfigType)
			different(r)
			if got := r.GetResources()[0].GetVersion(); version != "" && got != version {
				t.Errorf("version %s, and before %s", got, version)
			} else {
				version = got
			}
			c.nack(r, "no such file")
			c.subscribe(resource.ExtensionConfigType, "filter") // as an Envoy does that has dropped the resource
		}
		different(c.receive(resource.ExtensionConfigType))
		c.close()
	}
	c := connect(t, address, "one")
	c.send(&discovery.DeltaDiscoveryRequest{
		TypeUrl: resource.ExtensionConfigType, ResourceNamesSubscribe: []string{"filter"},
		InitialResourceVersions: map[string]string{"filter": version},
	})
	c.expectNothing()
}
