package server

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestARestartKeepsAServicesServers checks that the servers of a Service stay until it has been listed, each once.
func TestARestartKeepsAServicesServers(t *testing.T) {
	first, second := netip.MustParseAddrPort("10.0.0.1:8000"), netip.MustParseAddrPort("10.0.0.2:8001")
	m := remembered{addresses: map[string][]netip.AddrPort{"vllm.models.svc": {first, second},
		"other.models.svc": {netip.MustParseAddrPort("10.0.0.3:8000")}}}
	p := &config.ResolvedPool{}
	own := pools.Server{Endpoint: config.Endpoint{Host: "10.0.0.1", Port: 8000}, Address: first}
	all := m.servers(p, pools.PoolState{Servers: []pools.Server{own}, Unlisted: []string{"vllm.models.svc"}})
	if len(all) != 2 || all[0].Endpoint != own.Endpoint || all[1].Endpoint.String() != "http://vllm.models.svc:8001" ||
		all[1].Address != second || all[1].State != pools.Unknown || !strings.Contains(all[1].Reason, "before the restart") {
		t.Errorf("got %+v", all)
	}
	if all := m.servers(p, pools.PoolState{Servers: []pools.Server{own}}); len(all) != 1 {
		t.Errorf("a Service that has been listed has servers from before: %+v", all)
	}
}
