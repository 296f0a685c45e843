package server

import (
	"maps"
	"net/netip"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// weightInterval is the shortest time between two pushes of weights, of all pools together.
const weightInterval = 5 * time.Second

// weights are the weights of servers, as Envoys get them. A value never changes: a new one replaces it.
type weights struct {
	servers map[serverKey]load.Weight
	// pools are those whose servers have weights.
	pools map[string]bool
}

// of returns the weight of a server, or 0 if its pool has none. A server that has come just now has the middle's.
func (w *weights) of(pool string, address netip.AddrPort) uint32 {
	if one, ok := w.servers[serverKey{pool, address}]; ok {
		return one.Value
	}
	if w.pools[pool] {
		return load.Middle
	}
	return 0
}

// weighing derives the weights of servers from their loads, and from how long they have been there.
type weighing struct {
	weigher load.Weigher[serverKey]
	// usable are the servers that got requests at the last time, by pool. It has only pools where new ones begin slowly.
	usable map[string]map[netip.AddrPort]bool
	// since is when servers came that do not get their full share yet.
	since map[serverKey]time.Time
}

// warms reports whether new servers of a pool get a growing weight. Of other policies Envoy itself starts them slowly.
func warms(p *config.ResolvedPool) bool { return p.Hashes() && p.SlowStart > 0 }

// weigh derives the weights of all servers anew, and returns the pools in which one has changed. by is [load.ByLoad], or
// [load.ByEarlierLoad] for a change of servers alone.
func (s *Server) weigh(c *configuration, states map[string]pools.PoolState, by load.Basis) map[string]bool {
	w, now := &s.weighing, time.Now()
	next := weights{servers: map[serverKey]load.Weight{}, pools: map[string]bool{}}
	usable := map[string]map[netip.AddrPort]bool{}
	since := map[serverKey]time.Time{}
	for i := range c.Pools {
		p := &c.Pools[i]
		if !p.Load.Weights && !warms(p) {
			continue
		}
		all := c.weighed(p, states[p.Name])
		warming := false
		if warms(p) {
			usable[p.Name] = map[netip.AddrPort]bool{}
			for j := range all {
				key := all[j].Key
				usable[p.Name][key.address] = true
				began, ok := w.since[key]
				if before, known := w.usable[p.Name]; known && !before[key.address] {
					began, ok = now, true
				}
				if !ok {
					continue
				}
				if all[j].Share = load.Share(now.Sub(began), time.Duration(p.SlowStart)); all[j].Share < 1 {
					since[key], warming = began, true
				}
			}
		}
		if !p.Load.Weights && !warming {
			continue
		}
		next.pools[p.Name] = true
		basis := by
		if !p.Load.Weights {
			basis = load.ByShare
		}
		for j, one := range w.weigher.Weigh(now, all, basis) {
			next.servers[all[j].Key] = one
		}
	}
	w.weigher.Forget(func(k serverKey) bool { _, ok := next.servers[k]; return ok })
	w.usable, w.since = usable, since
	changed := changedPools(&s.weights, &next)
	s.mu.Lock()
	s.weights = next
	s.mu.Unlock()
	return changed
}

// weighed returns the servers of a pool that get requests.
func (c *configuration) weighed(p *config.ResolvedPool, state pools.PoolState) []load.Server[serverKey] {
	fit, _ := c.serversOf(p, state)
	all := make([]load.Server[serverKey], 0, len(fit))
	for i := range fit {
		if !getsNothing(p, &fit[i]) {
			all = append(all, load.Server[serverKey]{Key: serverKey{p.Name, fit[i].Address}, Load: fit[i].Load, Share: 1})
		}
	}
	return all
}

// getsNothing reports whether Envoys are told to send a server no requests.
func getsNothing(p *config.ResolvedPool, s *pools.Server) bool {
	return isDraining(s) || s.State == pools.NotReady && (p.Health.Checked() || s.Refusal != "")
}

// changedPools returns the pools in which servers have other weights than before, or have them no longer.
func changedPools(before, after *weights) map[string]bool {
	changed := map[string]bool{}
	for k, one := range after.servers {
		if before.servers[k].Value != one.Value {
			changed[k.pool] = true
		}
	}
	for name := range before.pools {
		if !after.pools[name] {
			changed[name] = true
		}
	}
	return changed
}

// warmAgain notes that servers have come back that Envoys did not reach. They may have been started again, with cold
// caches. A server that only the control plane did not reach has gone on.
func (s *Server) warmAgain(c *configuration, before, now conditions) {
	for key, found := range now.servers {
		was := before.servers[key]
		if was.state != Unreachable || was.envoys.Fail == 0 || !found.usable() {
			continue
		}
		if p := c.Pool(key.pool); p != nil && warms(p) {
			s.weighing.since[key] = time.Now()
		}
	}
}

// pushWeights sends Envoys the present weights, if they have changed. That is no change for anybody else: it is not in
// the status, and is not saved.
func (s *Server) pushWeights() {
	c := s.current
	if c == nil {
		return
	}
	changed := s.weigh(c, s.pools.Servers(), load.ByLoad)
	if len(changed) == 0 {
		return
	}
	all := maps.Clone(s.latest)
	all[resource.EndpointType] = xds.Weigh(c.Resolved, all[resource.EndpointType],
		func(pool string) bool { return changed[pool] }, s.weights.of)
	if _, err := s.ads.Set(all); err != nil {
		s.log.Error("the servers' weights are not sent to Envoys", "error", err) // cannot happen
		return
	}
	s.mu.Lock()
	s.latest = all
	s.mu.Unlock()
	s.metrics.weightPushes.Inc()
}
