package main

import (
	"math"
	"math/rand/v2"

	"github.com/harmonyedge/harmonyedge/harmonycore/affinity"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// policy chooses the server of a request.
type policy interface {
	choose(a *ask, all []*server) int
}

// roundRobin chooses one after the other.
type roundRobin struct{ next int }

func (p *roundRobin) choose(_ *ask, all []*server) int {
	p.next++
	return p.next % len(all)
}

// leastRequest chooses the server with the fewest requests, of equal ones any, as Envoy does with FULL_SCAN.
type leastRequest struct{ random *rand.Rand }

func (p *leastRequest) choose(_ *ask, all []*server) int {
	best, equal := 0, 0
	for i, s := range all {
		switch {
		case s.active < all[best].active:
			best, equal = i, 1
		case s.active == all[best].active:
			if equal++; p.random.IntN(equal) == 0 {
				best = i
			}
		}
	}
	return best
}

// hashed chooses by a key, with a bound on the load of a server in per cent of the mean. A bound of 0 is none.
type hashed struct {
	key   func(a *ask) affinity.Hash
	bound int
}

// bySession is the key of a conversation.
func bySession(a *ask) affinity.Hash {
	return affinity.AppendText(affinity.Seed(model), a.conversation)
}

// byPrefix is the key of the first blocks of a prompt. If it is within reports that nothing after the first message of
// the user counts.
func byPrefix(blocks int, within bool) func(a *ask) affinity.Hash {
	user := userRole()
	return func(a *ask) affinity.Hash {
		if within {
			return affinity.Prefix(affinity.Seed(model), a.prompt, user, batch.DefaultBlockSize, blocks)
		}
		return affinity.AppendIDs(affinity.Seed(model), a.prompt[:min(blocks*batch.DefaultBlockSize, len(a.prompt))])
	}
}

// split is the key of the first blocks, and one of n numbers that all of a conversation's prompts have.
func split(blocks, n int) func(a *ask) affinity.Hash {
	first, whole := byPrefix(blocks, true), byPrefix(1<<16, true)
	return func(a *ask) affinity.Hash {
		return affinity.AppendIDs(first(a), []uint32{uint32(uint64(whole(a)) % uint64(n))})
	}
}

func (p *hashed) choose(a *ask, all []*server) int {
	key := p.key(a)
	first := rendezvous(key, len(all))
	if p.bound == 0 {
		return first
	}
	return p.bounded(key, first, all)
}

// rendezvous chooses the server whose hash with the key is the largest. Maglev's table has the same effect: keys are
// spread evenly, and few move when a server comes or goes.
func rendezvous(key affinity.Hash, servers int) int {
	best, most := 0, affinity.Hash(0)
	for i := range servers {
		if h := affinity.AppendIDs(key, []uint32{uint32(i)}); h > most {
			best, most = i, h
		}
	}
	return best
}

// bounded does what Envoy's BoundedLoadHashingLoadBalancer does (thread_aware_lb_impl.cc): a server with more requests
// than its slots is passed over for the first of the others that has not, in an order that depends on the key.
func (p *hashed) bounded(key affinity.Hash, first int, all []*server) int {
	total := 0
	for _, s := range all {
		total += s.active
	}
	slots := ((total+1)*p.bound + 99) / 100
	slots = max((slots+len(all)-1)/len(all), 1)
	if all[first].active <= slots {
		return first
	}
	best := first
	for _, at := range rand.New(rand.NewPCG(uint64(key), 0)).Perm(len(all)) {
		if at == first {
			continue
		}
		if all[at].active <= slots {
			return at
		}
		if all[at].active < all[best].active {
			best = at
		}
	}
	return best
}

// perfect knows each server's cache and load as they are, and weighs them: it stands for the best that a picker can do
// with what is known when a request comes. weight is how many cached tokens a request in flight outweighs.
type perfect struct{ weight int }

func (p perfect) choose(a *ask, all []*server) int {
	best, most := 0, math.MinInt
	for i, s := range all {
		if score := s.engine.Lookup(a.hashes, len(a.prompt)) - p.weight*s.active; score > most {
			best, most = i, score
		}
	}
	return best
}

// userRole is the id of the user's role in a header.
func userRole() uint32 {
	ids := o200k.Tokenizer().AppendEncode(nil, "user")
	if len(ids) != 1 {
		panic("the role of the user is one token")
	}
	return ids[0]
}
