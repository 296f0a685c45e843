package server

import (
	"net/netip"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestPoolsAlone checks the state of pools of which no Envoy tells anything.
func TestPoolsAlone(t *testing.T) {
	c := config.Default()
	c.Models = []config.Model{config.DefaultModel("up", "vllm=http://10.0.0.1:8000", "vllm=http://10.0.0.2:8000"),
		config.DefaultModel("down", "vllm=http://10.0.0.3:8000")}
	resolved, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	since := time.Unix(1_800_000_000, 0)
	servers := func(all ...pools.Server) pools.PoolState {
		for i := range all {
			all[i].Address = netip.MustParseAddrPort("10.0.0.9:8000")
		}
		return pools.PoolState{Servers: all}
	}
	all := PoolsAlone(resolved, map[string]pools.PoolState{
		"up":   servers(pools.Server{State: pools.Ready}, pools.Server{State: pools.NotReady, Reason: "another model"}),
		"down": servers(pools.Server{State: pools.Unknown, Silent: since, Reason: "connection refused"}),
	}, nil, nil, nil)
	if len(all) != 2 || len(all[0].Servers) != 2 || all[0].Servers[1].Reason != "another model" || !all[0].Down.IsZero() {
		t.Errorf("got %+v", all)
	}
	if s := all[1].Servers[0]; s.State != Unreachable || s.Reason != "connection refused" || !s.Since.Equal(since) ||
		!all[1].Down.Equal(since) {
		t.Errorf("got %+v", all[1])
	}
	if all := PoolsAlone(resolved, nil, nil, nil, nil); len(all) != 2 || all[0].Servers == nil {
		t.Errorf("without a watcher: %+v", all)
	}
}
