package xds

import (
	"net/netip"
	"strings"
	"testing"

	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/wrapperspb"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// divided resolves a configuration whose pool of writers has a pool of readers.
func divided(t *testing.T, kind string) *config.Resolved {
	t.Helper()
	c, err := config.Parse("h.yaml", []byte("pools:\n"+
		"- {name: readers, kind: "+kind+", capacity: 4, servers: ['http://10.0.0.1:30000', 'http://readers.internal:30000']}\n"+
		"- {name: writers, kind: "+kind+", servers: ['http://10.0.0.9:30000'], prefill: {pool: readers}}\n"+
		"- {name: idle, kind: "+kind+", servers: ['http://10.0.0.8:30000']}\n"+
		"models: [{name: m, pool: writers}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// presentServers are the servers of divided as a control plane knows them.
func presentServers(c *config.Resolved) map[string][]Server {
	at := func(pool string, i int, address string, notReady bool) Server {
		return Server{Endpoint: c.Pool(pool).Endpoints[i], Address: netip.MustParseAddrPort(address), NotReady: notReady}
	}
	return map[string][]Server{
		"readers": {at("readers", 0, "10.0.0.1:30000", false), at("readers", 1, "10.0.0.2:30000", true),
			at("readers", 1, "[fd00::2]:30000", false)},
		"writers": {at("writers", 0, "10.0.0.9:30000", false)},
	}
}

// TestPrefill checks that the cluster of the readers exists without a route, and that the filter gets the addresses of
// the servers that it chooses itself, now and when they change.
func TestPrefill(t *testing.T) {
	for kind, pinned := range map[string]bool{contract.VLLM: false, contract.SGLang: true} {
		c := divided(t, kind)
		o := Options{ModulePath: "/filter.wasm", Servers: presentServers(c)}
		r, err := Build(c, o)
		if err != nil {
			t.Fatal(err)
		}
		readers := r.Cluster(contract.PoolCluster("readers"))
		if readers == nil || r.Cluster(contract.PoolCluster("idle")) != nil {
			t.Fatalf("%s: the clusters are %v", kind, r.Clusters)
		}
		text := prototext.Format(readers)
		for _, part := range []string{"override_host", contract.DestinationHeader, "header_mutation", "upstream_codec"} {
			if strings.Contains(text, part) != pinned {
				t.Errorf("%s: the cluster has %s: %t\n%s", kind, part, !pinned, text)
			}
		}
		if limit := r.Runtime.GetFields()["circuit_breakers.harmony-pool-readers.default.max_requests"]; limit.
			GetNumberValue() != 8 {
			t.Errorf("%s: the readers' limit is %v", kind, limit)
		}
		const servers = `"servers":["10.0.0.1:30000","[fd00::2]:30000"]`
		all, err := r.Discovered()
		if err != nil {
			t.Fatal(err)
		}
		filter := all[resource.ExtensionConfigType][0].(*corev3.TypedExtensionConfig)
		if got := filterSettings(t, filter); strings.Contains(got, servers) != pinned {
			t.Errorf("%s: the filter gets %s", kind, got)
		}
		changed, err := Endpoints(c, o)
		if err != nil || pinned && len(changed[resource.ExtensionConfigType]) != len(all[resource.ExtensionConfigType]) ||
			!pinned && changed[resource.ExtensionConfigType] != nil {
			t.Fatalf("%s: a change of servers changes %v, %v", kind, changed, err)
		}
		if pinned {
			again := changed[resource.ExtensionConfigType][0].(*corev3.TypedExtensionConfig)
			if got, want := filterSettings(t, again), filterSettings(t, filter); got != want {
				t.Errorf("%s: the filter gets\n%s\nand with a change of servers\n%s", kind, want, got)
			}
		}
	}
}

func filterSettings(t *testing.T, c *corev3.TypedExtensionConfig) string {
	t.Helper()
	filter, settings := &wasmfilterv3.Wasm{}, &wrapperspb.StringValue{}
	if err := c.GetTypedConfig().UnmarshalTo(filter); err != nil {
		t.Fatal(err)
	}
	if err := filter.GetConfig().GetConfiguration().UnmarshalTo(settings); err != nil {
		t.Fatal(err)
	}
	return settings.GetValue()
}

// TestPrefillNeedsAddresses checks that names need somebody who looks them up where the filter chooses the server.
func TestPrefillNeedsAddresses(t *testing.T) {
	const want = "the gateway must know the addresses of its servers: http://readers.internal:30000 is a name"
	if _, err := Build(divided(t, contract.SGLang), Options{ModulePath: "/f"}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if _, err := Build(divided(t, contract.VLLM), Options{ModulePath: "/f"}); err != nil {
		t.Error(err)
	}
}

// TestPrefillHasNoRoute checks that a route to readers is refused.
func TestPrefillHasNoRoute(t *testing.T) {
	r, err := Build(divided(t, contract.VLLM), Options{ModulePath: "/f"})
	if err != nil {
		t.Fatal(err)
	}
	r.Prefill = []string{contract.PoolCluster("writers")}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "which is not for clients") {
		t.Errorf("got %v", err)
	}
}
