package xds

import (
	"strings"
	"testing"

	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestSingleUse: a connection to a server that closes it when it is used again has one request. Others have any number.
func TestSingleUse(t *testing.T) {
	for server, want := range map[string]uint32{
		contract.LlamaCPP + "=http://127.0.0.1:9": 1, contract.VLLM + "=http://127.0.0.1:9": 0,
		contract.Chat + "=http://127.0.0.1:9": 1, contract.Chat + "=https://api.example.com/v1": 0,
	} {
		c := example()
		c.Models[0].Servers = []string{server}
		if strings.HasPrefix(server, contract.Chat) {
			c.Models[0] = config.DefaultModel(c.Models[0].Name, server)
		}
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
					t.Errorf("%s: %d requests in a connection, want %d", server, got, want)
				}
			}
		}
		if !found {
			t.Errorf("%s: no cluster", server)
		}
	}
}
