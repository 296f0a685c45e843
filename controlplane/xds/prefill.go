package xds

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	overridev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// decodePools returns the names of the pools with models for which a pool's servers read prompts.
func (b *builder) decodePools(p *config.ResolvedPool) []string {
	var all []string
	for _, name := range p.PrefillFor {
		if decode := b.resolved.Pool(name); decode != nil && len(decode.Models) > 0 {
			all = append(all, name)
		}
	}
	return all
}

// isPinned reports whether the filter chooses the server of each call to a pool.
func (b *builder) isPinned(p *config.ResolvedPool) bool {
	kind := p.ServerKind()
	return kind != nil && kind.Prefill == contract.PrefillBootstrap && len(b.decodePools(p)) > 0
}

// rendersForOthers reports whether a pool's servers render conversations for the models of others.
func (b *builder) rendersForOthers(p *config.ResolvedPool) bool {
	return slices.ContainsFunc(p.RenderFor, func(name string) bool {
		other := b.resolved.Pool(name)
		return other != nil && len(other.Models) > 0
	})
}

// prefillClusters returns the names of the clusters of servers that read prompts, or render them, and have no route.
func (b *builder) prefillClusters() []string {
	var all []string
	for _, p := range b.usedPools() {
		if len(b.decodePools(p)) > 0 || len(p.Models) == 0 && b.rendersForOthers(p) {
			all = append(all, poolPrefix+p.Name)
		}
	}
	return all
}

// pinned returns the policy of a pool whose server the filter has chosen. If that server is not in the cluster any
// more, the call must fail: the server that writes the answer waits for the chosen one, and another would wait for
// ever.
func (b *builder) pinned() *overridev3.OverrideHost {
	return &overridev3.OverrideHost{
		OverrideHostSources: []*overridev3.OverrideHost_OverrideHostSource{{Header: contract.DestinationHeader}},
		FallbackPolicy:      &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{b.noServer()}},
	}
}

// filterJSON returns the filter's configuration, with the present servers of the pools whose servers it chooses, and
// with the servers' contexts.
func (b *builder) filterJSON() []byte {
	return b.resolved.FilterJSONWith(func(pool string) []string {
		p := b.resolved.Pool(pool)
		if p == nil {
			return nil // cannot happen: the configuration is resolved
		}
		var all []string
		for _, s := range b.serversOf(p) {
			switch {
			case s.NotReady:
			case s.Address.IsValid():
				all = append(all, s.Address.String())
			case s.Endpoint.IsIP():
				all = append(all, net.JoinHostPort(s.Endpoint.Host, strconv.Itoa(int(s.Endpoint.Port))))
			case b.options.Servers == nil:
				b.fail(fmt.Errorf("the pool %s reads prompts for %s, and the gateway must know the addresses of its servers: %s "+
					"is a name; write addresses, or run harmony controlplane", p.Name, p.PrefillFor[0], s.Endpoint))
			}
		}
		return all
	}, b.clients(), b.options.Contexts, b.options.Structures)
}
