package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Rule is one rule of [Model.Route]: a pool, and which of the model's requests it gets.
type Rule struct {
	// Pool is the name of the pool. Its servers have the model loaded, and are of the same kind as the model's own.
	Pool string `yaml:"pool"`
	// MaxPrompt is the most tokens that a prompt may have. 0 is no limit besides the context.
	MaxPrompt int `yaml:"max_prompt"`
	// MinAnswer is how many tokens of the context a prompt must leave for the answer. 0 is the default.
	MinAnswer int `yaml:"min_answer"`
	// ContextLength is the context of the pool's servers in tokens. 0: the smallest of the servers' counts, and at most
	// the model's.
	ContextLength int `yaml:"context_length"`
	// Class is the class of clients whose requests the rule is for. Empty: all clients.
	Class string `yaml:"class"`
}

func (r *Rule) fields() []Field {
	const tokens = "is out of range; write a number of tokens from {min} to {max}"
	return []Field{
		{Key: "pool", At: &r.Pool, Required: true, Form: FormName, Check: rulePoolReason,
			Meaning: "a further pool of the model: [choice by length](pools.md#choice-by-length)"},
		{Key: "max_prompt", At: &r.MaxPrompt, Shown: "0, no limit", Range: numbers(0, contract.MaxContextLength),
			Advice: tokens, Meaning: "the most tokens of a prompt that goes there"},
		{Key: "min_answer", At: &r.MinAnswer, Zero: contract.DefaultMinAnswer, Range: numbers(1, contract.MaxContextLength),
			Advice: tokens, Meaning: "tokens that must be left there for the answer, if the client wants as many"},
		{Key: "context_length", At: &r.ContextLength, Shown: "the model's, or [its servers'](pools.md#context)",
			Range: numbers(0, contract.MaxContextLength), Advice: tokens, Meaning: "the context of that pool's servers"},
		{Key: "class", At: &r.Class, Form: FormName, Check: classReason,
			Meaning: "only requests of clients of this class, from `clients.keys_file`, go there"},
	}
}

func rulePoolReason(text string) string {
	if text == "" {
		return "is missing; write the name of one of pools"
	}
	return ""
}

func classReason(text string) string {
	if !contract.ValidClass(text) {
		return fmt.Sprintf("%q is not the name of a class; use letters, digits, - and _", text)
	}
	return ""
}

// routesByClass reports whether a rule of a model is for a class of clients.
func (c *Config) routesByClass() bool {
	return slices.ContainsFunc(c.Models, func(m Model) bool {
		return slices.ContainsFunc(m.Rules, func(r Rule) bool { return r.Class != "" })
	})
}

// knowsClass reports whether clients can have a class. Without a list of classes each name is one.
func (c *Config) knowsClass(name string) bool {
	return len(c.Clients.Classes) == 0 ||
		slices.ContainsFunc(c.Clients.Classes, func(one Class) bool { return one.Name == name })
}

// Branches returns the model as it is for each further pool of its route, each once. They differ in the pool, in its
// context, and in [Model.Route].
func (m *Model) Branches() []*Model {
	var all []*Model
	for i := range m.Rules {
		one := m.branch(&m.Rules[i])
		known := func(b *Model) bool { return b.Pool == one.Pool }
		if one.Branch && !slices.ContainsFunc(all, known) {
			all = append(all, one)
		}
	}
	return all
}

// Places returns the model, and after it its [Model.Branches].
func (m *Model) Places() []*Model { return append([]*Model{m}, m.Branches()...) }

// Places returns the [Model.Places] of all models.
func (c *Config) Places() []*Model {
	var all []*Model
	for i := range c.Models {
		all = append(all, c.Models[i].Places()...)
	}
	return all
}

// branch returns the model as it is for the pool of a rule, which may be its own.
func (m *Model) branch(r *Rule) *Model {
	one := *m
	one.Rules = nil
	if r.Pool != m.PoolName() {
		one.Pool, one.Servers, one.Branch, one.ContextSet = r.Pool, nil, true, false
	}
	if r.ContextLength > 0 {
		one.ContextLength, one.ContextSet = r.ContextLength, true
	}
	return &one
}

// Place is the name by which the context of a model at a pool is known.
func (m *Model) Place() string { return m.Route() }

// filterRoute returns the rules of a model for the filter.
func (c *Config) filterRoute(m *Model) []contract.Branch {
	var all []contract.Branch
	for i := range m.Rules {
		r := &m.Rules[i]
		one := m.branch(r)
		all = append(all, contract.Branch{
			Class: r.Class, MaxPrompt: r.MaxPrompt, MinAnswer: cmp.Or(r.MinAnswer, contract.DefaultMinAnswer),
			ContextLength: r.ContextLength, Pool: one.Route(), PoolName: one.PoolName(), Policy: c.policy(one),
			Routing: c.routing(one), Prefill: c.filterPrefill(one),
		})
	}
	return all
}

// checkRoute checks the rules of a model.
func (c *Config) checkRoute(i int, r *Resolved, problems *problems) {
	m := &c.Models[i]
	if len(m.Rules) == 0 {
		return
	}
	fail := problems.under(modelPath(i))
	if len(m.Rules) > contract.MaxRoute {
		fail("route", "has %d rules, and each request is compared with all of them; use at most %d", len(m.Rules),
			contract.MaxRoute)
		return
	}
	if reason := contract.CannotRoute(c.ServerKind(m), c.Mode); reason != "" {
		fail("route", "%s; leave it out", reason)
		return
	}
	for j := range m.Rules {
		rule, at := &m.Rules[j], fmt.Sprintf("route[%d].", j)
		if field, reason := m.refuseRule(rule, r, c.Clients.KeysFile != ""); reason != "" {
			fail(at+field, "%s", reason)
		}
		if rule.Class != "" && !c.knowsClass(rule.Class) {
			fail(at+"class", "there is no class called %s; add it to clients.classes", rule.Class)
		}
		one := m.branch(rule)
		if pool := r.Pool(rule.Pool); pool != nil && one.Branch && !pool.wrong {
			c.checkPrefillOf(one, at, r, fail)
		}
	}
}

// checkOverflow checks that there is a model for requests that do not fit the context of another.
func (c *Config) checkOverflow(i int, p *problems) {
	m, fail := &c.Models[i], p.under(modelPath(i))
	if m.OverflowModel == "" {
		return
	}
	at := slices.IndexFunc(c.Models, func(other Model) bool { return other.Name == m.OverflowModel })
	if at < 0 {
		fail("overflow_model", "there is no model called %s; add it to models", m.OverflowModel)
		return
	}
	from, to := c.overflowOf(m), c.overflowOf(&c.Models[at])
	if reason := contract.CannotOverflow(&from, &to, c.Mode); reason != "" {
		fail("overflow_model", "%s %s; leave it out, or name another model", m.OverflowModel, reason)
	}
}

func (c *Config) overflowOf(m *Model) contract.Overflow {
	return contract.Overflow{ModelSettings: &m.ModelSettings, Name: m.Name, Kind: c.ServerKind(m),
		Routed: len(m.Rules) > 0}
}

// refuseRule returns the setting of a rule that is wrong, and why, or "". keys reports whether there is a file that may
// have classes.
func (m *Model) refuseRule(rule *Rule, r *Resolved, keys bool) (field, reason string) {
	own, pool := r.Pool(m.PoolName()), r.Pool(rule.Pool)
	room := cmp.Or(rule.ContextLength, m.ContextLength)
	switch {
	case rule.Pool == "":
		return "", "" // it is refused as absent
	case pool == nil || pool.Short && rule.Pool != m.PoolName():
		return "pool", "there is no pool called " + rule.Pool + "; add it to pools"
	case rule.ContextLength > m.ContextLength:
		return "context_length", fmt.Sprintf("%d is more than %d, the model's own; make the pool with the largest "+
			"context the model's pool, and write its context_length", rule.ContextLength, m.ContextLength)
	case rule.MaxPrompt+cmp.Or(rule.MinAnswer, contract.DefaultMinAnswer) > room && rule.MaxPrompt > 0:
		return "max_prompt", fmt.Sprintf("%d leaves less than min_answer of the pool's context, which is %d; use at most %d",
			rule.MaxPrompt, room, max(room-cmp.Or(rule.MinAnswer, contract.DefaultMinAnswer), 0))
	case rule.MinAnswer >= room:
		return "min_answer", fmt.Sprintf("%d leaves nothing for a prompt: the pool's context is %d", rule.MinAnswer, room)
	case rule.MaxPrompt == 0 && rule.MinAnswer == 0 && rule.ContextLength == 0 && rule.Class == "":
		return "pool", "gets every request; write max_prompt, context_length or class beside it, or make it the model's pool"
	case rule.Class != "" && !keys:
		return "class", "is a class of clients, and there is no clients.keys_file that says which clients are in it"
	case rule.ContextLength > 0 && rule.Pool == m.PoolName() && rule.ContextLength != m.ContextLength:
		return "context_length", "is for a further pool; leave it out: the context of the model's own pool is its " +
			"context_length"
	case own == nil || own.wrong || pool.wrong: // the two cannot be compared
	case pool.Kind != own.Kind:
		return "pool", rule.Pool + " has servers of the kind " + pool.Kind + ", and " + own.Name + " of the kind " +
			own.Kind +
			"; name a pool of the same kind, because a request is written for one kind"
	case pool.APIPath != own.APIPath:
		return "pool", rule.Pool + " has servers with the path " + pool.APIPath + ", and those of " + own.Name + " have " +
			own.APIPath + "; name a pool with the same path, because a request is written for one"
	case m.ForwardAuthorization && pool.Authorization != "":
		return "pool", rule.Pool + " has an authorization for its servers, and the model forwards the clients'; leave one " +
			"of them out"
	}
	return "", ""
}
