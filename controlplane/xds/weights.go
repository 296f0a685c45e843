package xds

import (
	"net/netip"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Weigh returns the endpoints of before with other weights, and changes nothing else. Only the endpoints of pools that
// changed reports, and of pools whose spares they are, are made again. weight returns the weight of a server of a
// pool, as [Server] has it.
func Weigh(c *config.Resolved, before []types.Resource, changed func(pool string) bool,
	weight func(pool string, address netip.AddrPort) uint32) []types.Resource {
	after := slices.Clone(before)
	places := make(map[string]int, len(after))
	for i, r := range after {
		places[r.(*endpointv3.ClusterLoadAssignment).GetClusterName()] = i
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		if !changed(p.Name) && !slices.ContainsFunc(p.Spares, changed) {
			continue
		}
		at, ok := places[poolPrefix+p.Name]
		if !ok {
			continue // no model uses it
		}
		a := proto.CloneOf(after[at].(*endpointv3.ClusterLoadAssignment))
		for _, locality := range a.GetEndpoints() {
			pool := p.Name
			if n := int(locality.GetPriority()); n > 0 && n <= len(p.Spares) {
				pool = p.Spares[n-1]
			}
			for _, e := range locality.GetLbEndpoints() {
				e.LoadBalancingWeight = nil
				if w := weight(pool, addressOf(e)); w > 0 && e.GetHealthStatus() != corev3.HealthStatus_UNHEALTHY {
					e.LoadBalancingWeight = wrapperspb.UInt32(w)
				}
			}
		}
		after[at] = a
	}
	return after
}

// addressOf returns the address of an endpoint, or the zero value if it has a name.
func addressOf(e *endpointv3.LbEndpoint) netip.AddrPort {
	socket := e.GetEndpoint().GetAddress().GetSocketAddress()
	ip, err := netip.ParseAddr(socket.GetAddress())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, uint16(socket.GetPortValue()))
}
