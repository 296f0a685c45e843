package pools

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// member is a server in a pool. When the pool's probe changes, a new member replaces it and takes over its state.
type member struct {
	probe   *probe
	removed bool // it is in no pool any more, so an answer has no effect
	// identified is what the server has told about itself since its start. It is nil if the server must be asked.
	identified *identity
	// stranger is the server if it lists other models than the pool's, or nil.
	stranger *identity
	meter    load.Meter
	// asked is how often the server is asked for its load, in nanoseconds.
	asked atomic.Int64
	// unanswered counts the questions for a load since the last one that was answered.
	unanswered atomic.Int32
	// pathAsked is when the server last answered on the path of requests. It is zero if it has not since its start.
	// refusedBecause is what an operator is told of Refusal.
	pathAsked      time.Time
	refusedBecause string
	asking         asking
	Server
}

// refresh updates names and members to the pools, the files and the addresses of names. The caller holds w.mu.
func (w *Watcher) refresh() {
	w.refreshNames()
	var probed, sampled []*member
	for name, p := range w.pools {
		before := p.members
		p.members = w.membersOf(p)
		added, removed := w.compare(before, p.members)
		if added+removed > 0 {
			notify(w.changed)
			w.log.Info("a pool's servers have changed", "pool", name, "servers", len(p.members), "added", added, "removed",
				removed)
		}
		if p.probe.asks() {
			probed = append(probed, p.members...)
		}
		for _, m := range p.members {
			w.drain(p, m)
			if m.loadInterval() > 0 {
				sampled = append(sampled, m)
			}
		}
	}
	w.probes.set(probed)
	w.sampler.setServers(sampled)
	w.samples.set(sampled)
}

// drain begins or ends the draining of a server, as the pool says. The caller holds w.mu.
func (w *Watcher) drain(p *pool, m *member) {
	switch drained := config.IsDrained(p.Drain, m.Endpoint, m.Address); {
	case drained == !m.Draining.IsZero():
		return
	case drained:
		m.Draining = time.Now()
		w.log.Info("a server is drained: it gets no new requests", "pool", p.Name, "server", m.Endpoint.String(), "address",
			m.Address)
	default:
		m.Draining = time.Time{}
		w.log.Info("a server is no longer drained", "pool", p.Name, "server", m.Endpoint.String(), "address", m.Address)
	}
	notify(w.changed)
}

// loadInterval returns how often the server is asked for its load, or 0 if it is not. One that is drained is asked, so
// that the operator sees how much it still has to do.
func (m *member) loadInterval() time.Duration {
	if m.probe.loadInterval == 0 && !m.Draining.IsZero() {
		return config.DefaultLoadInterval
	}
	return m.probe.loadInterval
}

// endpoints returns the pool's servers as the operator wrote them, the file's servers last.
func (w *Watcher) endpoints(p *pool) []config.Endpoint {
	return slices.Concat(p.Servers, w.lists[p.File].valid.endpoints)
}

// located returns the pool's servers, each with an address: those that the operator wrote, and then the servers that
// Kubernetes names.
func (w *Watcher) located(p *pool) iter.Seq2[config.Endpoint, netip.AddrPort] {
	return func(yield func(config.Endpoint, netip.AddrPort) bool) {
		for _, e := range w.endpoints(p) {
			for _, ip := range w.addresses(e.Host) {
				if !yield(e, netip.AddrPortFrom(ip, e.Port)) {
					return
				}
			}
		}
		for e, address := range w.originServers(p) {
			if !yield(e, address) {
				return
			}
		}
	}
}

// membersOf returns the pool's members, sorted by address. If two endpoints have the same address, the first one
// counts.
func (w *Watcher) membersOf(p *pool) []*member {
	old := make(map[netip.AddrPort]*member, len(p.members))
	for _, m := range p.members {
		old[m.Address] = m
	}
	members := make([]*member, 0, len(p.members))
	seen := make(map[netip.AddrPort]bool, len(p.members))
	for e, address := range w.located(p) {
		if seen[address] {
			continue
		}
		seen[address] = true
		m := old[address]
		if m == nil || m.Endpoint != e || m.probe != p.probe {
			m = newMember(e, address, p.probe, m)
		}
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b *member) int { return a.Address.Compare(b.Address) })
	return members
}

// newMember returns a member with the state of the one that it replaces, if that was the same server. So a change of
// the probe alone neither removes a server nor brings it back.
func newMember(e config.Endpoint, address netip.AddrPort, probe *probe, old *member) *member {
	m := &member{probe: probe, Server: Server{Endpoint: e, Address: address, State: Unknown, Since: time.Now(),
		Vocabulary: VocabularyNotAsked, Tags: TagsNotAsked, Load: load.None()}}
	if probe.asks() {
		m.Reason = NotAsked
		if old != nil && old.Endpoint == e && old.probe.asks() {
			m.Server, m.refusedBecause, m.asking.lacksIDs = old.Server, old.refusedBecause, old.asking.lacksIDs
		}
	}
	if old != nil && old.Endpoint == e {
		m.Draining = old.Draining
	}
	m.keepMeter(old)
	return m
}

// compare dismisses the members that are no longer in the pool, and counts the servers that were added and removed.
// Both lists are sorted by address.
func (w *Watcher) compare(before, now []*member) (added, removed int) {
	for _, m := range now {
		for len(before) > 0 && before[0].Address.Compare(m.Address) < 0 {
			before[0].removed = true
			before = before[1:]
			removed++
		}
		if len(before) == 0 || before[0].Address != m.Address {
			added++
			continue
		}
		old := before[0]
		before = before[1:]
		if old == m {
			continue
		}
		old.removed = true
		if old.Endpoint != m.Endpoint {
			added++
			removed++
		} else if old.State != m.State {
			notify(w.changed)
		}
	}
	w.dismiss(before)
	return added, removed + len(before)
}

func (w *Watcher) dismiss(members []*member) {
	for _, m := range members {
		m.removed = true
	}
}

// hosts returns the names in a pool, each once.
func (w *Watcher) hosts(p *pool) []string {
	names := map[string]bool{}
	for _, e := range w.endpoints(p) {
		if !e.IsIP() {
			names[e.Host] = true
		}
	}
	return slices.SortedFunc(maps.Keys(names), cmp.Compare[string])
}
