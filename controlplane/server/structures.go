package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// structures are the values of structured_outputs in force that differ from the operator's, by model: servers do not
// hold answers to structural tags. A value never changes: a new one replaces it.
type structures map[string]string

// usesTags reports whether requests for a model may have structural tags by the operator's configuration.
func usesTags(m *config.Model) bool {
	return cmp.Or(m.StructuredOutputs, contract.StructuralTags) == contract.StructuralTags && !m.Observes()
}

// holdsTags reports whether servers of a pool are to hold answers to structural tags.
func holdsTags(c *config.Resolved, p *config.ResolvedPool) bool {
	return slices.ContainsFunc(answeredBy(c, p), usesTags)
}

// Structures returns structured_outputs of the models for which it differs from the operator's, because a server that
// may answer for them does not hold answers to structural tags. before is the last result. It stays in force for a
// model while no server has been asked. states come from a [pools.Watcher].
func Structures(c *config.Resolved, states map[string]pools.PoolState, before map[string]string) map[string]string {
	all, known := map[string]string{}, map[string]bool{}
	for i := range c.Pools {
		p := &c.Pools[i]
		if !p.Asks() {
			continue
		}
		lost, held := tagsOf(states[p.Name].Servers)
		for _, m := range answeredBy(c, p) {
			if !usesTags(m) {
				continue
			}
			known[m.Name] = known[m.Name] || held > 0 || lost != nil
			if value := lostValue(p); lost != nil && value != "" && all[m.Name] != contract.RefuseStructure {
				all[m.Name] = value
			}
		}
	}
	for i := range c.Config.Models {
		m := &c.Config.Models[i]
		p := c.Pool(m.PoolName())
		if value := before[m.Name]; value != "" && !known[m.Name] && usesTags(m) && p != nil && p.Asks() {
			if value = lostValue(p); value != "" {
				all[m.Name] = value
			}
		}
	}
	return all
}

// lostValue returns what structured_outputs is for the models of a pool with a server that does not hold answers to
// tags, or "" if it stays.
func lostValue(p *config.ResolvedPool) string {
	switch p.Probe.OnLostTags {
	case config.LostTagsIgnore:
		return ""
	case config.LostTagsRefuse:
		return contract.RefuseStructure
	}
	return contract.NoStructure
}

// tagsOf returns the first of some servers that does not hold answers to tags, or nil, and how many are known to do.
func tagsOf(servers []pools.Server) (lost *pools.Server, held int) {
	for i := range servers {
		s := &servers[i]
		if isDraining(s) {
			continue
		}
		if s.Tags.Lost() && lost == nil {
			lost = s
		}
		if s.Tags == pools.TagsHeld {
			held++
		}
	}
	return lost, held
}

// updateStructures looks at what the servers do with tags, and reports whether what Envoys get has changed.
func (s *Server) updateStructures(c *configuration) (changed bool) {
	next := structures(Structures(c.Resolved, s.pools.Servers(), s.structures))
	if maps.Equal(next, s.structures) {
		return false
	}
	for i := range c.Config.Models {
		m := &c.Config.Models[i]
		before, now := s.structures[m.Name], next[m.Name]
		switch {
		case before == now:
		case now == "":
			s.log.Info("structured_outputs of a model is again what the configuration says", "model", m.Name)
		default:
			s.log.Warn("structured_outputs of a model has changed, because a server does not hold answers to structural tags",
				"model", m.Name, "structured_outputs", now, "see", pools.RoutersPage)
		}
	}
	s.mu.Lock()
	s.structures = next
	s.mu.Unlock()
	return true
}

// inForce returns the values in force of a pool's models that differ from the operator's.
func (s structures) inForce(p *config.ResolvedPool) map[string]string {
	var all map[string]string
	for _, m := range p.Models {
		if value := s[m.Name]; value != "" {
			if all == nil {
				all = map[string]string{}
			}
			all[m.Name] = value
		}
	}
	return all
}

// tagWarnings returns the warnings about a pool's servers that do not hold answers to structural tags: one for each
// way.
func tagWarnings(c *config.Resolved, p *config.ResolvedPool, fit []pools.Server) []string {
	if !p.Asks() || !holdsTags(c, p) {
		return nil
	}
	var all []string
	for _, way := range lostWays {
		count, first := 0, (*pools.Server)(nil)
		for i := range fit {
			if fit[i].Tags != way.tags {
				continue
			}
			if count++; first == nil {
				first = &fit[i]
			}
		}
		if first != nil {
			all = append(all, fmt.Sprintf("%d of %d servers %s structural tags, such as %s: %s; %s: see %s", count, len(fit),
				way.verb, first.Endpoint, consequences[p.Probe.OnLostTags], way.advice, pools.RoutersPage))
		}
	}
	return all
}

// lostWays are the ways not to hold answers to tags, in the order of warnings and metrics.
var lostWays = []struct {
	tags         pools.Tags
	verb, advice string
}{
	{pools.TagsDropped, "pass over", "a router or an old program may drop them"},
	{pools.TagsRefused, "refuse", "vLLM needs the backend xgrammar for them"},
}

// consequences say what a server without tags means for clients, by [config.PoolProbe.OnLostTags].
var consequences = map[string]string{
	"": degraded, config.LostTagsDegrade: degraded,
	config.LostTagsRefuse: "forced calls and JSON formats are refused",
	config.LostTagsIgnore: "forced calls and JSON formats are not kept to",
}

const degraded = "forced calls and JSON formats are only asked for in the prompt"
