package xds

import (
	"testing"

	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestSingleUse: a connection to a server that closes it when it is used again has one request. Others have any number.
func TestSingleUse(t *testing.T) {
	for kind, want := range map[string]uint32{contract.LlamaCPP: 1, contract.VLLM: 0} {
		c := example()
		c.Models[0].Servers = []string{kind + "=http://127.0.0.1:9"}
		resources, err := build(c, testOptions)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, cluster := range resources.Clusters {
			var o upstreamhttpv3.HttpProtocolOptions
			for _, options := range cluster.TypedExtensionProtocolOptions {
				if err := options.UnmarshalTo(&o); err != nil {
					t.Fatal(err)
				}
			}
			if cluster.Name == poolPrefix+c.Models[0].Name {
				found = true
				if got := o.GetCommonHttpProtocolOptions().GetMaxRequestsPerConnection().GetValue(); got != want {
					t.Errorf("%s: %d requests in a connection, want %d", kind, got, want)
				}
			}
		}
		if !found {
			t.Errorf("%s: no cluster", kind)
		}
	}
}
