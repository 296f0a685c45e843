package config

import (
	"cmp"
	"fmt"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// checkRender checks that the conversations of a pool's requests can be rendered, and notes for which pools others
// render.
func (r *Resolved) checkRender(i int) *Error {
	p := &r.Pools[i]
	fail := func(format string, args ...any) *Error {
		return &Error{Field: fmt.Sprintf("pools[%d].render", i), Reason: fmt.Sprintf(format, args...)}
	}
	if p.wrong {
		return nil
	}
	renders := p.ServerKind().Renders
	switch {
	case p.Render == "" && renders && p.Policy == PolicyPicker:
		return fail("is missing: the policy %s knows clients' requests only; name a pool of other servers that render",
			p.Policy)
	case p.Render == "":
		return nil
	case !renders:
		return fail("is for servers of the kind %s, and these are of the kind %s; leave it out", contract.VLLMRender, p.Kind)
	case p.Render == p.Name:
		return fail("is this pool itself, which renders without it; leave it out")
	}
	other := r.Pool(p.Render)
	switch {
	case other == nil:
		return fail("there is no pool called %s; add it to pools", p.Render)
	case other.wrong:
		return nil
	case !other.ServerKind().Renders:
		return fail("%s has servers of the kind %s, which do not render; name a pool of the kind %s", other.Name, other.Kind,
			contract.VLLMRender)
	case other.Policy == PolicyPicker:
		return fail("%s has the policy %s, which knows clients' requests only; name another pool", other.Name, other.Policy)
	}
	other.RenderFor = append(other.RenderFor, p.Name)
	return nil
}

// checkRenderUse checks that the conversations of a model can be rendered.
func (c *Config) checkRenderUse(i int, problems *problems) {
	m, fail := &c.Models[i], problems.under(modelPath(i))
	kind := c.ServerKind(m)
	if !kind.Renders {
		return
	}
	at := "pool"
	if len(m.Servers) > 0 {
		at = "servers"
	}
	if reason := contract.CannotRender(&m.ModelSettings, kind, c.Mode); reason != "" {
		fail(at, "the kind %s %s", kind.Name, reason)
	}
	if m.ForwardAuthorization {
		fail("forward_authorization", "cannot be used with servers of the kind %s, which are asked to render by the gateway "+
			"itself; leave it out, and give the pool an authorization", kind.Name)
	}
}

// filterRender returns what renders a model's conversations.
func (c *Config) filterRender(m *Model) contract.Render {
	if !c.ServerKind(m).Renders {
		return contract.Render{}
	}
	pool := m.PoolName()
	if p := findPool(c.Pools, m.Pool); p != nil {
		pool = cmp.Or(p.Render, p.Name)
	}
	return contract.Render{Cluster: contract.PoolCluster(pool), Pool: pool}
}

// rendersItself reports whether the filter calls a pool's servers to render conversations.
func (c *Config) rendersItself(p *Pool) bool {
	if kind := p.ServerKind(); kind != nil && kind.Renders && p.Render == "" {
		return true
	}
	for i := range c.Pools {
		if c.Pools[i].Render != "" && c.Pools[i].Render == p.Name {
			return true
		}
	}
	return false
}
