package config

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// DefaultMaxLoad is the default of [Affinity.MaxLoad].
const DefaultMaxLoad = 125

// Affinity determines which requests go to the same server, where the policy goes by that.
type Affinity struct {
	// Blocks is how many blocks of a prompt's beginning count. 0 is the default.
	Blocks int `yaml:"blocks"`
	// BlockSize is how many tokens a block has, as in the servers' caches (vLLM: --block-size). 0 is the default.
	BlockSize int `yaml:"block_size"`
	// MaxLoad is how many requests a server may have at once, in percent of the average of the pool's servers, before
	// others take its requests. 0 is the default.
	MaxLoad int `yaml:"max_load"`
}

// check checks the block of a pool.
func (a *Affinity) check(p *Pool) (field, reason string) {
	switch {
	case p.Policy != PolicyPrefix && p.Policy != PolicyPicker && *a != (Affinity{}):
		return ".affinity", "is for the policies prefix and picker; write policy: prefix, or leave it out"
	case !p.byAffinity() && (a.Blocks != 0 || a.MaxLoad != 0):
		return ".affinity", "has settings for the policy prefix; leave all but block_size out"
	}
	return "", ""
}

// withDefaults returns the block with defaults for its absent settings.
func (a Affinity) withDefaults() Affinity {
	fillZeros(a.fields())
	return a
}

// routing returns what the filter tells Envoy about the model's requests. It says all that counts, so that a filter of
// another version makes the same of it.
func (c *Config) routing(m *Model) contract.Routing {
	p, holds := findPool(c.Pools, m.Pool), c.holdsAnswers(m)
	if p == nil || !p.byAffinity() && !p.Asked() {
		return contract.Routing{Destination: p != nil && p.PickedInFront(), UntilFirstToken: holds}
	}
	a := p.Affinity.withDefaults()
	r := contract.Routing{BlockSize: a.BlockSize, Destination: p.PickedInFront(), UntilFirstToken: holds}
	if p.byAffinity() {
		r.Affinity, r.SessionHeader, r.Blocks = true, strings.ToLower(p.Session.Header), a.Blocks
	}
	if p.Asked() {
		r.BlockHashes = p.Picker.withDefaults().Blocks
		r.QueueMS = int(p.Queue.longest(c.Clients.Classes).Milliseconds())
	}
	return r
}
