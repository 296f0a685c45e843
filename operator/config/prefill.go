package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Prefill divides the work on a request: servers of another pool read its prompt, and this pool's servers write the
// answer. Both pools must be set up for it (docs/prefill.md).
type Prefill struct {
	// Pool is the name of the pool whose servers read prompts. Empty: this pool's servers read them too.
	Pool string `yaml:"pool"`
	// BootstrapPort is SGLang's --disaggregation-bootstrap-port of those servers. 0 is SGLang's default, 8998.
	BootstrapPort int `yaml:"bootstrap_port"`
	// MinTokens is how many tokens a prompt must have to go to that pool. This pool's servers read shorter ones, which
	// vLLM's can.
	MinTokens int `yaml:"min_tokens"`
	// OnFailure is "decode" or "refuse": what happens to a request whose prompt that pool fails to read. This pool's
	// servers read it, which vLLM's can, or the client gets an error. Empty: decode for vLLM, refuse for SGLang.
	OnFailure string `yaml:"on_failure"`
}

// The roles of pools in the status of the control plane.
const (
	RolePrefill = "prefill"
	RoleDecode  = "decode"
)

// Role returns [RolePrefill] or [RoleDecode], or "" for a pool whose servers do all the work.
func (p *ResolvedPool) Role() string {
	switch {
	case len(p.PrefillFor) > 0:
		return RolePrefill
	case p.Prefill.Pool != "":
		return RoleDecode
	}
	return ""
}

// checkPrefill checks that the prefill servers of a pool can work with its own, and notes for which pools they do.
func (r *Resolved) checkPrefill(i int) *Error {
	p := &r.Pools[i]
	fail := func(field, format string, args ...any) *Error {
		return &Error{Field: fmt.Sprintf("pools[%d].prefill%s", i, field), Reason: fmt.Sprintf(format, args...)}
	}
	if p.Prefill.Pool == "" {
		if p.Prefill != (Prefill{}) {
			return fail(".pool", "is missing; name the pool whose servers read prompts")
		}
		return nil
	}
	if p.wrong {
		return nil
	}
	kind := p.ServerKind()
	if reason := contract.CannotPrefill(&contract.ModelSettings{Translate: contract.TranslateAll}, kind,
		r.Config.Mode); reason != "" {
		return fail("", "%s", reason)
	}
	if field, reason := p.checkPrefillSettings(kind); reason != "" {
		return fail(field, "%s", reason)
	}
	other := r.Pool(p.Prefill.Pool)
	if other == nil {
		return fail(".pool", "there is no pool called %s; add it to pools", p.Prefill.Pool)
	}
	if other.wrong {
		return nil
	}
	if reason := p.cannotUse(other); reason != "" {
		return fail(".pool", "%s", reason)
	}
	for j := range r.Pools {
		for _, spare := range r.Pools[j].Spares {
			if spare == p.Name || spare == other.Name {
				return fail(".pool", "%s is a spare of %s, whose requests would not be divided; leave one of them out", spare,
					r.Pools[j].Name)
			}
		}
	}
	other.PrefillFor = append(other.PrefillFor, p.Name)
	return nil
}

// checkPrefillSettings checks the settings of the block against the kind of the servers.
func (p *ResolvedPool) checkPrefillSettings(kind *contract.Kind) (field, reason string) {
	set := &p.Prefill
	bootstrap := kind.Prefill == contract.PrefillBootstrap
	const alone = " servers that write answers cannot read prompts themselves (--disaggregation-mode decode); leave it out"
	switch {
	case set.BootstrapPort != 0 && !bootstrap:
		return ".bootstrap_port", "is for SGLang; servers of the kind " + kind.Name + " tell each other where they are; " +
			"leave it out"
	case set.MinTokens != 0 && bootstrap:
		return ".min_tokens", "is for vLLM: " + kind.Name + alone
	case set.OnFailure == contract.PrefillDecode && bootstrap:
		return ".on_failure", "decode is for vLLM: " + kind.Name + alone
	case len(p.Spares) > 0:
		return ".pool", "cannot be used with spares, whose servers would not know of the prefill; leave one of them out"
	}
	return "", ""
}

// cannotUse returns the reason why the servers of another pool cannot read prompts for this one, or "".
func (p *ResolvedPool) cannotUse(other *ResolvedPool) string {
	switch {
	case other.Name == p.Name:
		return "a pool cannot read its own prompts; leave prefill out, or name a pool of other servers"
	case other.Kind != p.Kind:
		return other.Name + " has servers of the kind " + other.Kind + ", and " + p.Name + " of the kind " + p.Kind +
			"; name a pool of the same kind, because they hand their work over"
	case other.Prefill.Pool != "":
		return other.Name + " has a prefill of its own, and a prompt is read once; leave one of them out"
	case len(other.Spares) > 0:
		return other.Name + " has spares, whose servers would not be set up for it; leave spares out"
	case other.Policy != PolicyLeastRequest && other.Policy != PolicyRoundRobin:
		return other.Name + " has the policy " + other.Policy + ", which knows clients' requests only; write " +
			"least_request or round_robin"
	}
	for _, e := range other.Endpoints {
		for _, mine := range p.Endpoints {
			if e.withoutScheme() == mine.withoutScheme() {
				return e.String() + " is in both pools; a server either reads prompts or writes answers"
			}
		}
	}
	return ""
}

// checkPrefillUse checks that a model can use its pool if that has a part of the work only.
func (c *Config) checkPrefillUse(i int, r *Resolved, problems *problems) {
	c.checkPrefillOf(&c.Models[i], "", r, problems.under(modelPath(i)))
}

// checkPrefillOf is checkPrefillUse for a model as it is for one of its pools. at is the path of the pool's setting in
// the model's.
func (c *Config) checkPrefillOf(m *Model, at string, r *Resolved, fail failure) {
	pool := r.Pool(m.PoolName())
	if pool == nil {
		return
	}
	if len(pool.PrefillFor) > 0 {
		fail(at+"pool", "%s reads prompts for %s only; name that pool", pool.Name, strings.Join(pool.PrefillFor, ", "))
	}
	if pool.Prefill.Pool == "" {
		return
	}
	if reason := contract.CannotPrefill(&m.ModelSettings, pool.ServerKind(), c.Mode); reason != "" {
		fail(at+"pool", "the prefill of %s %s", pool.Name, reason)
	}
	if m.ForwardAuthorization {
		fail("forward_authorization", "cannot be used with the prefill of %s, whose requests are the gateway's own; "+
			"leave it out, and give both pools an authorization", pool.Name)
	}
}

// filterPrefill returns the prefill of a model's pool for the filter.
func (c *Config) filterPrefill(m *Model) contract.Prefill {
	p := findPool(c.Pools, m.Pool)
	if p == nil || p.Prefill.Pool == "" {
		return contract.Prefill{}
	}
	out := contract.Prefill{
		Cluster: contract.PoolCluster(p.Prefill.Pool), Pool: p.Prefill.Pool, MinTokens: p.Prefill.MinTokens,
		BootstrapPort: cmp.Or(p.Prefill.BootstrapPort, contract.DefaultBootstrapPort),
		OnFailure:     cmp.Or(p.Prefill.OnFailure, contract.PrefillDecode),
	}
	if c.ServerKind(m).Prefill == contract.PrefillBootstrap {
		out.OnFailure = contract.PrefillRefuse
	}
	return out
}

// FilterJSONWith is [Resolved.FilterJSON] with the present addresses of the prefill servers that the filter chooses
// itself, with clients, with contexts, and with structures. addresses returns the addresses of a pool as host:port.
// clients adds the clients of the keys file. It is nil if there is none. contexts has the contexts in tokens, by
// model, that count instead of the default, and structures the values of structured_outputs. If nothing is added, the
// result is FilterJSON.
func (r *Resolved) FilterJSONWith(addresses func(pool string) []string, clients func(*contract.Clients),
	contexts map[string]int, structures map[string]string) []byte {
	var f *contract.Config
	if clients != nil {
		f = r.Config.Filter()
		clients(&f.Clients)
		if !r.Config.routesByClass() {
			f.Clients.Classes = nil // an older filter does not know them
		}
	}
	own := func() *contract.Config {
		if f == nil {
			f = r.Config.Filter()
		}
		return f
	}
	for i := range r.Config.Models {
		m := &r.Config.Models[i]
		if n := contexts[m.Name]; n > 0 && n < m.ContextLength && !m.ContextSet {
			own().Models[i].ContextLength = n
		}
		if value := structures[m.Name]; value != "" {
			own().Models[i].StructuredOutputs = value
		}
		if r.ChoosesPrefill(m) {
			prefill := &own().Models[i].Prefill
			prefill.Servers = addresses(prefill.Pool)
		}
		for j := range m.Rules {
			one := m.branch(&m.Rules[j])
			if n := contexts[one.Place()]; one.Branch && n > 0 && n < one.ContextLength && !one.ContextSet {
				own().Models[i].Route[j].ContextLength = n
			}
			if r.ChoosesPrefill(one) {
				prefill := &own().Models[i].Route[j].Prefill
				prefill.Servers = addresses(prefill.Pool)
			}
		}
	}
	if f == nil {
		return r.FilterJSON
	}
	return appendFilterJSON(f)
}

// ChoosesPrefill reports whether the filter chooses the prefill server of each request for a model.
func (r *Resolved) ChoosesPrefill(m *Model) bool {
	p := r.Pool(m.PoolName())
	return p != nil && p.Prefill.Pool != "" && p.ServerKind().Prefill == contract.PrefillBootstrap
}
