package server

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/internal/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// Unreachable is the state of a server that no Envoy reaches or, if no Envoy has reported on it, that does not answer
// the control plane (RATIONALE.md#59). It is derived here, because the [pools.Watcher] has no reports of Envoys, and is
// only shown: each Envoy by itself stops sending requests to a server that it does not reach.
const Unreachable pools.State = "unreachable"

// Draining is the state of a server that gets no new requests because the operator has said so, whatever else it is.
const Draining pools.State = "draining"

// condition is the state of a server, derived from all reports on it.
type condition struct {
	state  pools.State
	reason string
	since  time.Time
	envoys reach.Count
}

// conditionOf returns the condition of a server from the control plane's own view of it, s, and from the Envoys'
// reports, r. The Envoys decide: a server that one of them reaches is not unreachable, even if it does not answer the
// control plane. A server that Envoys have checked and none reaches is unreachable, even if it answers the control
// plane.
func conditionOf(s *pools.Server, r reach.Count) condition {
	c := condition{state: s.State, reason: s.Reason, since: s.Since, envoys: r}
	silent := !s.Silent.IsZero()
	switch {
	case isDraining(s):
		c.state, c.reason, c.since = Draining, "", s.Draining
	case s.State == pools.NotReady:
	case r.Reach > 0:
		var notes []string
		if r.Fail > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d Envoys do not reach it", r.Fail, r.Reach+r.Fail))
		}
		if silent {
			notes = append(notes, "reached by Envoys, but not by the control plane: "+s.Reason)
		} else if s.Reason != "" {
			notes = append(notes, s.Reason)
		}
		c.reason = strings.Join(notes, "; ")
	case r.Fail > 0:
		c.state = Unreachable
		c.reason = "no Envoy reaches it"
		if silent {
			c.reason += "; " + s.Reason
		} else if s.Reason == "" {
			c.reason += "; the control plane does"
		}
	case silent:
		c.state = Unreachable
	}
	return c
}

// usable reports whether the server may answer requests. A server whose state is unknown may.
func (c *condition) usable() bool { return c.state == pools.Ready || c.state == pools.Unknown }

// conditions are the conditions of all servers and pools at the last update.
type conditions struct {
	servers map[serverKey]condition
	down    map[string]time.Time // by pool, since when it has no usable server
	// warnings are those about servers' contexts, by pool.
	warnings map[string][]string
}

type serverKey struct {
	pool    string
	address netip.AddrPort
}

// updateConditions derives the condition of every server, sends Envoys the servers to check, and logs what has changed.
func (s *Server) updateConditions() {
	c := s.current
	if c == nil {
		return
	}
	states, reports := s.pools.Servers(), s.reach.Reports()
	before := s.conditions
	now := conditions{servers: map[serverKey]condition{}, down: map[string]time.Time{},
		warnings: map[string][]string{}}
	groups := make([]reach.Group, 0, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		fit, problem := c.serversOf(p, states[p.Name])
		groups = append(groups, groupOf(p, fit))
		if now.warnings[p.Name] = contextWarnings(c.Resolved, p, fit); len(now.warnings[p.Name]) == 0 {
			delete(now.warnings, p.Name)
		}
		s.logContextWarnings(p.Name, before.warnings[p.Name], now.warnings[p.Name])
		usable := 0
		var reasons []string
		for j := range fit {
			one := &fit[j]
			found := conditionOf(one, reports[reach.Key{Group: p.Name, Address: one.Address}])
			key := serverKey{p.Name, one.Address}
			found.since = since(&found, before.servers[key], one)
			now.servers[key] = found
			if found.usable() {
				usable++
			} else {
				reasons = append(reasons, one.Endpoint.String()+": "+string(found.state)+", "+found.reason)
			}
		}
		if usable == 0 && c.needed(p) && !atZero(p, len(fit), problem) {
			now.down[p.Name] = time.Now()
			if first, ok := before.down[p.Name]; ok {
				now.down[p.Name] = first
			} else {
				s.log.Warn("a pool is down: no server is reachable and ready", "pool", p.Name, "servers", len(fit), "spares",
					p.Spares, "because", summary(reasons))
			}
		} else if first, ok := before.down[p.Name]; ok {
			s.log.Warn("a pool is up again", "pool", p.Name, "well", usable, "servers", len(fit), "after",
				time.Since(first).Round(time.Millisecond))
		}
	}
	s.logServers(before, now)
	s.warmAgain(c, before, now)
	s.mu.Lock()
	s.conditions = now
	s.mu.Unlock()
	s.reach.Set(groups)
}

// since returns when a condition got its state.
func since(found *condition, before condition, s *pools.Server) time.Time {
	switch {
	case found.state == Draining:
		return s.Draining
	case before.state == found.state:
		return before.since
	case found.state == s.State && before.state == "":
		return s.Since
	case found.state == Unreachable && before.state == "" && !s.Silent.IsZero():
		return s.Silent
	}
	return time.Now()
}

// logServers logs servers that have become unreachable or are reached again. The pools' watcher logs changes of
// readiness.
func (s *Server) logServers(before, now conditions) {
	for key, c := range now.servers {
		was := before.servers[key].state
		switch {
		case c.state == Unreachable && was != Unreachable:
			s.log.Info("a server cannot be reached", "pool", key.pool, "address", key.address, "reason", c.reason)
		case c.state != Unreachable && was == Unreachable:
			s.log.Info("a server is reached again", "pool", key.pool, "address", key.address, "state", c.state)
		}
	}
}

// groupOf returns what Envoys check of a pool: the path of its health check or, without one, a connection. It is a
// connection for https too, because HDS checks have no TLS here (RATIONALE.md#59).
func groupOf(p *config.ResolvedPool, servers []pools.Server) reach.Group {
	g := reach.Group{Name: p.Name, Interval: time.Duration(p.Health.Interval)}
	if p.Health.Checked() && !p.TLS {
		g.Path = p.Health.Path
	}
	for i := range servers {
		g.Servers = append(g.Servers, reach.Server{Address: servers[i].Address, Host: servers[i].Endpoint.Authority()})
	}
	return g
}

// atZero reports whether a pool has no servers because its scaler has taken the last one, and requests wait for the
// next: that is how it is meant to be, and it is not down. A pool whose servers cannot be told, for the reason in
// problem, is.
func atZero(p *config.ResolvedPool, servers int, problem string) bool {
	return servers == 0 && problem == "" && p.Queue.On() && p.Queue.Hold > 0
}

// needed reports whether requests may go to the pool's servers: the pool has models, or is the spare of a pool with
// models.
func (c *configuration) needed(p *config.ResolvedPool) bool { return len(modelsOf(c.Resolved, p)) > 0 }

const maxListedReasons = 4

// summary returns the first maxListedReasons of the reasons, and how many more there are.
func summary(all []string) string {
	if len(all) == 0 {
		return "it has no servers"
	}
	text := strings.Join(all[:min(len(all), maxListedReasons)], "; ")
	if more := len(all) - maxListedReasons; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
