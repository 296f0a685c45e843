package config

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The values of [Pool.RetryUntil].
const (
	RetryUntilFirstToken = "first_token"
	RetryUntilHeaders    = "headers"
)

// HasOthers reports whether the pool has, or may have, more than one server. Servers that come and go do not change
// that.
func (p *ResolvedPool) HasOthers() bool { return p.hasOthers(len(p.Endpoints)) }

// HoldsAnswers reports whether a proxy holds an answer of the pool's servers until its first token, so that another
// server can be asked if the answer fails before it.
func (r *Resolved) HoldsAnswers(p *ResolvedPool) bool {
	return r.Config.holds(&p.Pool, len(p.Endpoints))
}

func (p *Pool) hasOthers(servers int) bool {
	return servers > 1 || p.ServersFile != "" || p.Service.Name != "" || p.InferencePool.Name != "" || len(p.Spares) > 0
}

// holds is HoldsAnswers of a pool that lists so many servers. A prompt that a server of another pool has read is for
// one server of this one. Servers that read prompts are called by the filter itself, and a filter that ran within that
// call would be in the same VM (RATIONALE.md#210).
func (c *Config) holds(p *Pool, servers int) bool {
	reads := slices.ContainsFunc(c.Pools, func(o Pool) bool { return o.Prefill.Pool != "" && o.Prefill.Pool == p.Name })
	// Such a cluster has its own filters only if it adds a credential. A picker's is not called.
	if p.Authorization != "" && c.rendersItself(p) {
		return false
	}
	return p.hasOthers(servers) && p.RetryUntil != RetryUntilHeaders && p.Prefill.Pool == "" && !reads &&
		c.Mode == contract.ModeFull && !c.HeadersOnly
}

// holdsAnswers is HoldsAnswers of the model's pool.
func (c *Config) holdsAnswers(m *Model) bool {
	if p := findPool(c.Pools, m.Pool); p != nil {
		return c.holds(p, len(p.Servers))
	}
	return c.holds(&Pool{}, len(m.Servers))
}
