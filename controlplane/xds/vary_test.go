package xds

import (
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
)

// TestVary checks that variants of the filter's configuration differ by less than a millisecond in one interval, and in
// nothing else.
func TestVary(t *testing.T) {
	c, err := config.Load("testdata/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := build(c, withDiscovery(t, c, testOptions))
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Discovered()
	if err != nil {
		t.Fatal(err)
	}
	filter := all[resource.ExtensionConfigType][0].(*corev3.TypedExtensionConfig)
	before := proto.CloneOf(filter)
	plugin := func(config *corev3.TypedExtensionConfig) *wasmv3.PluginConfig {
		m := &wasmfilterv3.Wasm{}
		if err := config.GetTypedConfig().UnmarshalTo(m); err != nil {
			t.Fatal(err)
		}
		return m.GetConfig()
	}
	seen := map[time.Duration]bool{}
	for _, variant := range []uint32{0, 1, 2, variants - 1, 1<<32 - 1} {
		varied := Vary(filter, variant)
		p := plugin(varied)
		backoff := p.GetReloadConfig().GetBackoff()
		longest := backoff.GetMaxInterval().AsDuration()
		if seen[longest] || longest.Truncate(time.Millisecond) != longestReload {
			t.Errorf("variant %d: %s", variant, longest)
		}
		seen[longest] = true
		backoff.MaxInterval = nil
		if !proto.Equal(p, plugin(filter)) || varied.GetName() != filter.GetName() {
			t.Errorf("variant %d differs in more: %v", variant, varied)
		}
	}
	if !proto.Equal(filter, before) {
		t.Error("what is varied has changed")
	}
	other := &corev3.TypedExtensionConfig{Name: "other"}
	if got := Vary(other, 1); got != other {
		t.Errorf("got %v", got)
	}
}
