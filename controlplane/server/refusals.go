package server

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// refusals are why a server may refuse all requests, in the order of warnings and metrics.
var refusals = []pools.Refusal{pools.RefusesKey, pools.LacksPath, pools.RefusesIDs}

// warningsOf returns the warnings about a pool's servers, fit.
func warningsOf(c *config.Resolved, p *config.ResolvedPool, fit []pools.Server) []string {
	drain := drainWarnings(p, fit)
	fit = slices.DeleteFunc(slices.Clone(fit), func(s pools.Server) bool { return isDraining(&s) })
	return slices.Concat(refusalWarnings(fit), tagWarnings(c, p, fit), contextWarnings(c, p, fit), drain)
}

// refusalWarnings returns the warnings about servers that refuse all requests: one for each cause.
func refusalWarnings(fit []pools.Server) []string {
	var all []string
	for _, why := range refusals {
		count, first := 0, (*pools.Server)(nil)
		for i := range fit {
			if fit[i].Refusal != why {
				continue
			}
			if count++; first == nil {
				first = &fit[i]
			}
		}
		if first != nil {
			all = append(all, refusalWarning(count, len(fit), first))
		}
	}
	return all
}

func refusalWarning(count, of int, first *pools.Server) string {
	servers := "1 of 1 server refuses"
	if of > 1 {
		servers = fmt.Sprintf("%d of %d servers refuse", count, of)
	}
	return fmt.Sprintf("%s all requests: %s %s", servers, first.Endpoint, first.Reason)
}

// keepRefusing lets the servers that refuse all requests of a pool go on getting them if neither the pool nor its
// spares have a better one. A refused request costs a server nothing, and clients get an error that names the cause,
// instead of one that no server can be reached.
func (c *configuration) keepRefusing(all map[string][]xds.Server, states map[string]pools.PoolState) {
	better := map[string]bool{}
	for name, servers := range all {
		for i := range servers {
			better[name] = better[name] || !servers[i].NotReady
		}
	}
	for i := range c.Pools {
		p := &c.Pools[i]
		served := better[p.Name]
		for _, spare := range p.Spares {
			served = served || better[spare]
		}
		if served {
			continue
		}
		refuses := map[string]bool{}
		for _, s := range states[p.Name].Servers {
			refuses[s.Address.String()] = s.Refusal != "" && !isDraining(&s)
		}
		for j := range all[p.Name] {
			one := &all[p.Name][j]
			one.NotReady = one.NotReady && !refuses[one.Address.String()]
		}
	}
}

// TakenOut returns the servers of a pool that get no requests, as host:port. A name is among them if all of its
// addresses are. It is for a program without a control plane.
func TakenOut(p *config.ResolvedPool, state pools.PoolState) map[string]bool {
	out := map[string]bool{}
	for i := range state.Servers {
		s := &state.Servers[i]
		at := net.JoinHostPort(s.Endpoint.Host, strconv.Itoa(int(s.Endpoint.Port)))
		before, seen := out[at]
		out[at] = getsNothing(p, s) && (before || !seen)
	}
	return out
}
