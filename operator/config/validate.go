package config

import (
	"fmt"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Validate returns what is wrong with c: an [*Error], or [Errors]. A configuration that it accepts is complete.
func (c *Config) Validate() error {
	_, err := c.Resolve()
	return err
}

// check checks the settings that are present. It does not report absent ones, since flags may still add them.
func (c *Config) check() (*Resolved, *problems) {
	r, p := &Resolved{Config: c, owners: map[Endpoint]string{}}, &problems{}
	walk("", c.Fields(), func(path string, f *Field) {
		p.refuse(path, f)
		if f.Form == FormToken || f.Form == FormCertificate {
			c.checkSecretOf(path, f, p)
		}
	})
	c.checkSecrets(p)
	c.checkListeners(p)
	c.checkMode(p)
	c.checkMemory(p)
	c.checkPools(r, p)
	c.checkModels(r, p)
	c.checkPickers(r, p)
	c.checkService(r, p)
	c.checkKeysOfClients(p)
	c.checkLimits(r, p)
	c.checkClasses(p)
	c.checkTap(r, p)
	c.checkTracing(r, p)
	c.checkPassthrough(r, p)
	return r, p
}

func (c *Config) checkMode(p *problems) {
	if c.Mode == contract.ModeReduced && len(c.Models) > 1 {
		p.add("mode", "reduced serves one model, and %d are configured; run one Envoy for each, or write full",
			len(c.Models))
	}
}

// checkMemory checks that a request of the largest size fits.
func (c *Config) checkMemory(p *problems) {
	if lowest := contract.MinMemoryLimit(int(c.BodyLimit)); int(c.MemoryLimit) < lowest && !p.set["body_limit"] {
		// The number is rounded up, because people copy it.
		p.add("memory_limit", "%s is too little for a request of %s, which body_limit allows; use at least %dMiB, or a "+
			"smaller body_limit", &c.MemoryLimit, &c.BodyLimit, (lowest+1<<20-1)>>20)
	}
}

func (c *Config) checkPassthrough(r *Resolved, p *problems) {
	if c.Passthrough != "" {
		var e *Error
		r.Passthrough, e = r.untranslated("passthrough", c.Passthrough, "use another server, or leave passthrough out")
		p.put(e)
	}
}

// untranslated parses the URL of a server that gets requests unchanged. It returns an error if the server is also a
// model's. advice is the end of that error.
func (r *Resolved) untranslated(field, url, advice string) (Endpoint, *Error) {
	e, err := ParseURL(url)
	if err != nil {
		return e, &Error{Field: field, Reason: err.Error()}
	}
	if owner, ok := r.owners[e.withoutScheme()]; ok {
		return e, &Error{
			Field:  field,
			Reason: url + " is also a server of " + owner + ": untranslated requests would reach a Harmony model; " + advice,
		}
	}
	return e, nil
}

func (c *Config) checkModels(r *Resolved, p *problems) {
	for i := range c.Models {
		path, reason := c.Models[i].checkObjects()
		if path != "" {
			p.add(modelPath(i)+path, "%s", reason)
		}
		if reason := c.Models[i].checkResponseTemplate(); reason != "" {
			p.add(modelPath(i)+"response_template", "%s", reason)
		}
	}
	c.checkNames(p)
	for i := range c.Models {
		m := &c.Models[i]
		c.checkServers(i, r, p)
		if m.Pool == "" && len(m.Servers) == 0 || contract.KindNamed(c.kind(m)) == nil {
			continue // flags may still add servers of any kind; and an unknown kind is refused already
		}
		if path, reason := m.fit(c.ServerKind(m)); path != "" {
			p.add(modelPath(i)+path, "%s", reason)
		}
		c.checkTranslate(i, p)
		c.checkPrefillUse(i, r, p)
		c.checkRenderUse(i, p)
		c.checkRoute(i, r, p)
		c.checkOverflow(i, p)
	}
}

// modelPath returns the path of a model's settings.
func modelPath(i int) string { return fmt.Sprintf("models[%d].", i) }

// checkNames checks that a name that a client may use stands for one model.
func (c *Config) checkNames(p *problems) {
	named := make([]contract.Named, 0, len(c.Models))
	for i := range c.Models {
		m := &c.Models[i]
		named = append(named, contract.Named{Name: m.Name, Aliases: m.Aliases})
		if j := slices.Index(m.Aliases, "*"); j >= 0 && c.Passthrough != "" {
			p.add(fmt.Sprintf("%saliases[%d]", modelPath(i), j), "* stands for every name, and none would be left for "+
				"passthrough; write a longer one, or leave passthrough out")
		}
	}
	e := contract.CheckNames(named)
	if e == nil {
		return
	}
	field := "name"
	if e.Alias >= 0 {
		field = fmt.Sprintf("aliases[%d]", e.Alias)
	}
	p.add(modelPath(e.Model)+field, "%s", e.Reason)
}

// checkServers checks the places of the model's servers, and adds the servers to r that the model names itself.
func (c *Config) checkServers(i int, r *Resolved, p *problems) {
	m, fail := &c.Models[i], p.under(modelPath(i))
	if m.Pool != "" {
		pool := findPool(c.Pools, m.Pool)
		switch {
		case pool == nil:
			fail("pool", "there is no pool called %s; add it to pools", m.Pool)
		case len(m.Servers) > 0:
			fail("servers", "cannot be used with pool, which has its own servers; leave one of them out")
		case m.ForwardAuthorization && pool.Authorization != "":
			fail("forward_authorization", "the pool %s has an authorization for its servers, and a request carries "+
				"only one; leave one of them out", m.Pool)
		}
	}
	short := ResolvedPool{Pool: shortPool(m), APIPath: contract.DefaultAPIPath, Short: true}
	for j, text := range m.Servers {
		s, err := ParseServer(text)
		if err != nil {
			fail(fmt.Sprintf("servers[%d]", j), "%v", err)
			continue
		}
		if short.Kind == "" {
			short.Kind, short.TLS, short.APIPath = s.Kind, s.Endpoint.TLS, s.APIPath
		}
		if reason := r.refuseServer(m, &short, text, &s); reason != "" {
			fail(fmt.Sprintf("servers[%d]", j), "%s", reason)
			continue
		}
		r.owners[s.Endpoint.withoutScheme()] = m.Name
		short.Endpoints, short.Servers = append(short.Endpoints, s.Endpoint), append(short.Servers, s.Endpoint.String())
	}
	if len(short.Endpoints) > 0 {
		r.Pools = append(r.Pools, short)
	}
}

// refuseServer returns why a model cannot have a server beside the ones that it names before it, or "".
func (r *Resolved) refuseServer(m *Model, short *ResolvedPool, text string, s *Server) string {
	kind := contract.KindNamed(s.Kind)
	switch {
	case kind != nil && !acceptsPrompts(kind, m.AcceptTextPrompts):
		return textPromptsReason(kind) + "accept_text_prompts: true in a pool with this server, or start harmony up with " +
			"--accept-text-prompts"
	case s.Kind != short.Kind:
		return fmt.Sprintf("%s is a %s among %s servers; give a model servers of one kind", text, s.Kind, short.Kind)
	case s.APIPath != short.APIPath:
		return otherPath(text, s.APIPath, short.APIPath)
	case r.Misfit(short, s.Endpoint) == OtherScheme:
		return text + " mixes http and https in one pool; use one of them for all servers of a model"
	case r.owners[s.Endpoint.withoutScheme()] == m.Name:
		return text + " is listed twice; remove one"
	}
	return ""
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
