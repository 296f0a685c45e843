package server

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// contextHold is how long a context stays in force after the last server with it has gone. A server that is started
// again comes back before that, so that its absence changes nothing.
const contextHold = 10 * time.Minute

// contexts are the smallest contexts of models' servers, by [config.Model.Place], as Envoys get them. They count for
// models whose context the operator has not set. A value never changes: a new one replaces it.
type contexts map[string]heldContext

// heldContext is the smallest context of a model's servers.
type heldContext struct {
	tokens int
	seen   time.Time // when a server with this context was last there
}

// tokens returns the contexts without their times.
func (c contexts) tokens() map[string]int {
	all := make(map[string]int, len(c))
	for name, one := range c {
		all[name] = one.tokens
	}
	return all
}

// update returns the contexts after a look at the servers, smallest. A smaller context counts at once. A larger one
// counts when the smaller one has not been seen for hold. A context that no server tells stays.
func (c contexts) update(smallest map[string]int, now time.Time, hold time.Duration) contexts {
	next := make(contexts, len(c))
	for name, before := range c {
		next[name] = before
	}
	for name, tokens := range smallest {
		before, known := c[name]
		if !known || tokens <= before.tokens || now.Sub(before.seen) >= hold {
			next[name] = heldContext{tokens: tokens, seen: now}
		}
	}
	return next
}

// SmallestContexts returns the smallest context of the servers of each [config.Model.Place] whose context the operator
// has not set. Models without a server that tells one are missing. states come from a [pools.Watcher].
func SmallestContexts(c *config.Resolved, states map[string]pools.PoolState) map[string]int {
	all := map[string]int{}
	for i := range c.Pools {
		p := &c.Pools[i]
		tokens := smallestContext(p, states[p.Name].Servers)
		if tokens == 0 {
			continue
		}
		for _, m := range answeredBy(c, p) {
			if m.ContextSet || !c.Config.LimitsContext(m) {
				continue
			}
			// At most the default: the listeners' buffers are sized for it, and a change of them drains the listeners.
			least := min(tokens, m.ContextLength)
			if before, ok := all[m.Place()]; ok {
				least = min(least, before)
			}
			all[m.Place()] = least
		}
	}
	return all
}

// smallestContext returns the smallest context of servers that get requests, or 0 if none tells one.
func smallestContext(p *config.ResolvedPool, servers []pools.Server) int {
	tokens := 0
	for i := range servers {
		s := &servers[i]
		if s.Context > 0 && !getsNothing(p, s) && (tokens == 0 || s.Context < tokens) {
			tokens = s.Context
		}
	}
	return tokens
}

// answeredBy returns the models to which servers of a pool may write answers: its own, and the models of the pools
// whose spare it is.
func answeredBy(c *config.Resolved, p *config.ResolvedPool) []*config.Model {
	all := slices.Clone(p.Models)
	for i := range c.Pools {
		if slices.Contains(c.Pools[i].Spares, p.Name) {
			all = append(all, c.Pools[i].Models...)
		}
	}
	return all
}

// contextsNow returns the contexts that the servers have now.
func (s *Server) contextsNow(c *configuration) contexts {
	hold := cmp.Or(s.options.ContextHold, contextHold)
	return s.contexts.update(SmallestContexts(c.Resolved, s.pools.Servers()), time.Now(), hold)
}

// updateContexts looks at the servers' contexts, and reports whether what Envoys get has changed.
func (s *Server) updateContexts(c *configuration) (changed bool) {
	next := s.contextsNow(c)
	for _, m := range c.Config.Places() {
		if m.ContextSet || !c.Config.LimitsContext(m) {
			continue
		}
		before, now := s.contexts.of(m), next.of(m)
		if before == now {
			continue
		}
		changed = true
		s.log.Info("a model's context is now the smallest of its servers'", "model", m.Name, "pool", m.PoolName(),
			"context", now, "before", before)
	}
	s.mu.Lock()
	s.contexts = next
	s.mu.Unlock()
	return changed
}

// of returns the context that a model has by its servers, in tokens.
func (c contexts) of(m *config.Model) int {
	if one, ok := c[m.Place()]; ok {
		return min(one.tokens, m.ContextLength)
	}
	return m.ContextLength
}

// limitsOf returns the contexts in force of a pool's models, where servers make them smaller than the default.
func (c contexts) limitsOf(all *config.Config, p *config.ResolvedPool) map[string]int {
	limited := map[string]int{}
	for _, m := range p.Models {
		if n := c.of(m); !m.ContextSet && all.LimitsContext(m) && n < m.ContextLength {
			limited[m.Name] = n
		}
	}
	if len(limited) == 0 {
		return nil
	}
	return limited
}

// tooShort are the servers of a pool whose context is smaller than what the operator has set for a model.
type tooShort struct {
	model *config.Model
	count int
	// least is the one with the smallest context. It is nil if there are none.
	least *pools.Server
}

// tooShortOf returns the servers with too small a context for each model that a pool's servers may serve. fit are the
// pool's servers.
func tooShortOf(c *config.Resolved, p *config.ResolvedPool, fit []pools.Server) []tooShort {
	var all []tooShort
	for _, m := range answeredBy(c, p) {
		if !c.Config.LimitsContext(m) {
			continue
		}
		one := tooShort{model: m}
		for j := range fit {
			s := &fit[j]
			if !m.ContextSet || s.Context <= 0 || s.Context >= m.ContextLength || getsNothing(p, s) {
				continue
			}
			if one.count++; one.least == nil || s.Context < one.least.Context {
				one.least = s
			}
		}
		all = append(all, one)
	}
	return all
}

// contextWarnings returns the warnings about servers of a pool whose context is too small: one for each model.
func contextWarnings(c *config.Resolved, p *config.ResolvedPool, fit []pools.Server) []string {
	var all []string
	for _, one := range tooShortOf(c, p, fit) {
		if one.least != nil {
			all = append(all, contextWarning(one.model, one.count, one.least))
		}
	}
	return all
}

// shortContexts returns how many servers of a pool have too small a context, by model.
func shortContexts(c *config.Resolved, p *config.ResolvedPool, fit []pools.Server) map[string]int {
	all := map[string]int{}
	for _, one := range tooShortOf(c, p, fit) {
		all[one.model.Name] = one.count
	}
	return all
}

func contextWarning(m *config.Model, count int, least *pools.Server) string {
	others := ""
	if count > 1 {
		others = fmt.Sprintf(" (and %d more servers have too few)", count-1)
	}
	return fmt.Sprintf("context_length of %s is %d, and %s has a context of %d tokens%s: it refuses requests without "+
		"max_tokens; set context_length to %[4]d or leave it out, or start the server with more", m.Name, m.ContextLength,
		least.Endpoint, least.Context, others)
}

// logContextWarnings logs the warnings that a pool has now and has not had before.
func (s *Server) logContextWarnings(pool string, before, now []string) {
	for _, text := range now {
		if !slices.Contains(before, text) {
			s.log.Warn("a server's context is smaller than the model's", "pool", pool, "problem", text)
		}
	}
	if len(before) > 0 && len(now) == 0 {
		s.log.Info("the servers' contexts fit the models' again", "pool", pool)
	}
}
