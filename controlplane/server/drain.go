package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// settleTime is how long after the beginning of a drain a server may still get requests that an Envoy has sent before.
const settleTime = 5 * time.Second

// isDraining reports whether the operator has said that a server gets no new requests.
func isDraining(s *pools.Server) bool { return !s.Draining.IsZero() }

// explainDrain says how much a server that is drained still has to do. current reports whether all Envoys know that it
// is drained.
func (c *condition) explainDrain(s *pools.Server, current bool, now time.Time) {
	if !isDraining(s) {
		return
	}
	running, waiting := s.Load.Last.Running, s.Load.Last.Waiting
	left := max(running, 0) + max(waiting, 0)
	switch {
	case !current:
		c.reason = "not all Envoys have accepted it yet"
	case !s.Silent.IsZero():
		c.reason = "it does not answer: " + s.Reason
	case !s.Load.Known(now) || s.Load.Problem != "":
		c.reason = "how many requests it still has is not known"
		if s.Load.Problem != "" {
			c.reason += ": " + s.Load.Problem
		}
	case left > 0:
		c.reason = fmt.Sprintf("%d requests left", left)
		if left == 1 {
			c.reason = "1 request left"
		}
	case s.Load.Sampled.Sub(s.Draining) < settleTime:
		c.reason = "no request left so far"
	default:
		c.reason = "no request left: it may be stopped"
	}
}

// drainWarnings names what is to be drained and is no server of the pool.
func drainWarnings(p *config.ResolvedPool, fit []pools.Server) []string {
	var all []string
	for _, e := range p.Drained {
		one := []config.Endpoint{e}
		if !slices.ContainsFunc(fit, func(s pools.Server) bool { return config.IsDrained(one, s.Endpoint, s.Address) }) {
			all = append(all, "drain names "+e.String()+", which is no server of the pool now")
		}
	}
	return all
}
