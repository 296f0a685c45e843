package xds

import (
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"

	"github.com/harmonyedge/harmonyedge/operator/config"
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
		varied := Vary(filter, variant, nil)
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
	if got := Vary(other, 1, nil); got != other {
		t.Errorf("got %v", got)
	}
}

// TestVaryHandsOut checks that a module comes instead of its reference, in each variant and in nothing that is
// kept, and that a reference to an unknown module stays.
func TestVaryHandsOut(t *testing.T) {
	c, err := config.Load("testdata/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions
	o.ModulePath = Reference("abc")
	r, err := build(c, withDiscovery(t, c, o))
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Discovered()
	if err != nil {
		t.Fatal(err)
	}
	filter := all[resource.ExtensionConfigType][0].(*corev3.TypedExtensionConfig)
	if got := Referenced(filter); got != "abc" {
		t.Fatalf("it refers to %q", got)
	}
	codeOf := func(config *corev3.TypedExtensionConfig) *corev3.DataSource {
		m := &wasmfilterv3.Wasm{}
		if err := config.GetTypedConfig().UnmarshalTo(m); err != nil {
			t.Fatal(err)
		}
		return m.GetConfig().GetVmConfig().GetCode().GetLocal()
	}
	held := func(sha256 string) []byte {
		if sha256 != "abc" {
			t.Errorf("%q is asked for", sha256)
		}
		return []byte("content")
	}
	if got := codeOf(Vary(filter, 1, held)); string(got.GetInlineBytes()) != "content" {
		t.Errorf("got %v", got)
	}
	none := func(string) []byte { return nil }
	if got := codeOf(Vary(filter, 1, none)); got.GetFilename() != Reference("abc") {
		t.Errorf("got %v", got)
	}
	if Referenced(filter) != "abc" || Referenced(Vary(filter, 1, held)) != "" ||
		Referenced(&corev3.TypedExtensionConfig{}) != "" {
		t.Error("a variant has changed what it was made of, or refers to a module that it has")
	}
}
