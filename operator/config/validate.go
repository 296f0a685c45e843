package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Error is an error in a setting. Its text advises what to do.
type Error struct {
	// File and Line are the place of the setting. File is empty if the setting is not from a file. Line is 0 if it is not
	// known.
	File string
	Line int
	// Field is the setting's path, such as models[0].servers[1]. Empty: the file as a whole.
	Field  string
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// The bounds of body_limit. The upper one is the filter's own.
const (
	minBodyLimit = 1 << 10
	maxBodyLimit = contract.MaxBodyLimit
)

const (
	maxStallTimeout = 24 * time.Hour
	maxConcurrency  = 1024
)

// Validate returns the first error in c, as an [*Error]. A configuration that it accepts is complete.
func (c *Config) Validate() error {
	_, err := c.Resolve()
	return err
}

// check checks the settings that are present. It does not report absent ones, since flags may still add them.
func (c *Config) check() (*Resolved, *Error) {
	if e := c.checkSecrets(); e != nil {
		return nil, e
	}
	if e := c.checkListeners(); e != nil {
		return nil, e
	}
	if _, err := ParseAdmin(c.Admin); err != nil {
		return nil, &Error{Field: "admin", Reason: err.Error()}
	}
	if c.Mode != contract.ModeFull && c.Mode != contract.ModeReduced {
		return nil, &Error{Field: "mode", Reason: fmt.Sprintf("%q is not known; write full or reduced", c.Mode)}
	}
	if c.Mode == contract.ModeReduced && len(c.Models) > 1 {
		return nil, &Error{Field: "mode", Reason: fmt.Sprintf("reduced serves one model, and %d are configured; run one "+
			"Envoy for each, or write full", len(c.Models))}
	}
	if c.BodyLimit < minBodyLimit || c.BodyLimit > maxBodyLimit {
		return nil, &Error{Field: "body_limit", Reason: fmt.Sprintf("%s is out of range; use 1KiB to 64MiB", &c.BodyLimit)}
	}
	if c.MemoryLimit > contract.MaxMemoryLimit {
		return nil, &Error{Field: "memory_limit",
			Reason: fmt.Sprintf("%s is out of range; use at most 448MiB", &c.MemoryLimit)}
	}
	if lowest := contract.MinMemoryLimit(int(c.BodyLimit)); int(c.MemoryLimit) < lowest {
		// The number is rounded up, because people copy it.
		return nil, &Error{Field: "memory_limit", Reason: fmt.Sprintf("%s is too little for a request of %s, which "+
			"body_limit allows; use at least %dMiB, or a smaller body_limit",
			&c.MemoryLimit, &c.BodyLimit, (lowest+1<<20-1)>>20)}
	}
	if d := time.Duration(c.Seal.Lifetime); d != 0 && d < time.Second || d > contract.MaxSealLifetimeS*time.Second {
		return nil, &Error{Field: "seal.lifetime",
			Reason: d.String() + " is out of range; write how long sealed reasoning can be opened, such as 720h"}
	}
	if h := c.Seal.TenantHeader; h != "" && !httpguts.ValidHeaderFieldName(h) {
		return nil, &Error{Field: "seal.tenant_header", Reason: fmt.Sprintf("%q is not the name of a header", h)}
	} else if strings.Contains(h, "_") {
		return nil, &Error{Field: "seal.tenant_header",
			Reason: fmt.Sprintf("%q has an underscore, and requests with such headers are refused; use dashes", h)}
	}
	if d := time.Duration(c.StallTimeout); d > maxStallTimeout {
		return nil, &Error{Field: "stall_timeout",
			Reason: d.String() + " is too long; use at most 24h, or 0s to wait for ever"}
	} else if d > 0 && d < time.Second {
		return nil, &Error{Field: "stall_timeout",
			Reason: d.String() + " would end every request; use at least 1s, or 0s to wait for ever"}
	}
	if r := c.ReasoningRatioAlert; !(r >= 0 && r <= 1) {
		return nil, &Error{Field: "reasoning_ratio_alert",
			Reason: fmt.Sprintf("%g is out of range; use 0 to 1; 1 counts no answer", r)}
	}
	if e := c.checkEdge(); e != nil {
		return nil, e
	}
	if c.Envoy.Concurrency < 0 || c.Envoy.Concurrency > maxConcurrency {
		return nil, &Error{Field: "envoy.concurrency",
			Reason: fmt.Sprintf("%d is out of range; use 1 to %d, or 0 for one per CPU", c.Envoy.Concurrency, maxConcurrency)}
	}
	r := &Resolved{Config: c, owners: map[Endpoint]string{}}
	if e := c.checkPools(r); e != nil {
		return nil, e
	}
	if e := c.checkModels(r); e != nil {
		return nil, e
	}
	if e := c.checkPickers(r); e != nil {
		return nil, e
	}
	if e := c.checkService(r); e != nil {
		return nil, e
	}
	if e := c.checkClients(); e != nil {
		return nil, e
	}
	if e := c.checkLimits(r); e != nil {
		return nil, e
	}
	if e := c.checkTap(r); e != nil {
		return nil, e
	}
	if e := c.checkTracing(r); e != nil {
		return nil, e
	}
	return r, c.checkPassthrough(r)
}

func (c *Config) checkPassthrough(r *Resolved) *Error {
	if c.Passthrough != "" {
		var e *Error
		r.Passthrough, e = r.untranslated("passthrough", c.Passthrough, "use another server, or leave passthrough out")
		if e != nil {
			return e
		}
	}
	for i, p := range c.PassthroughPaths {
		if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "?#* ") {
			return &Error{Field: fmt.Sprintf("passthrough_paths[%d]", i),
				Reason: fmt.Sprintf("%q is not a path; write /path for one, or /path/ for everything below it", p)}
		}
	}
	return nil
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

func (c *Config) checkModels(r *Resolved) *Error {
	for i := range c.Models {
		if e := c.checkModel(i); e != nil {
			return e
		}
	}
	if e := c.checkNames(); e != nil {
		return e
	}
	for i := range c.Models {
		if e := c.checkServers(i, r); e != nil {
			return e
		}
		m := &c.Models[i]
		if m.Pool == "" && len(m.Servers) == 0 {
			continue // flags may still add servers of any kind
		}
		if path, reason := m.fit(c.ServerKind(m)); path != "" {
			return failModel(i)(path, "%s", reason)
		}
		if e := c.checkTranslate(i); e != nil {
			return e
		}
		if e := c.checkPrefillUse(i, r); e != nil {
			return e
		}
	}
	return nil
}

// failModel returns a function that makes the errors of a model.
func failModel(i int) func(field, format string, args ...any) *Error {
	return func(field, format string, args ...any) *Error {
		return &Error{Field: fmt.Sprintf("models[%d].%s", i, field), Reason: fmt.Sprintf(format, args...)}
	}
}

func (c *Config) checkModel(i int) *Error {
	m, fail := &c.Models[i], failModel(i)
	if m.Name == "" {
		return fail("name", "the model has no name; write the one that clients ask for")
	}
	if !printable(m.Name) || len(m.Name) > contract.MaxNameLength {
		return fail("name", "%q is not a valid header value; use at most %d printable ASCII characters and no spaces", m.Name,
			contract.MaxNameLength)
	}
	if field, reason := outOfRange(m.ModelSettings.Fields()); field != "" {
		return fail(field, "%s", reason)
	}
	if path, reason := m.checkObjects(); path != "" {
		return fail(path, "%s", reason)
	}
	return nil
}

// checkNames checks that a name that a client may use stands for one model.
func (c *Config) checkNames() *Error {
	named := make([]contract.Named, 0, len(c.Models))
	for i := range c.Models {
		m := &c.Models[i]
		named = append(named, contract.Named{Name: m.Name, Aliases: m.Aliases})
		if j := slices.Index(m.Aliases, "*"); j >= 0 && c.Passthrough != "" {
			return failModel(i)(fmt.Sprintf("aliases[%d]", j),
				"* stands for every name, and none would be left for passthrough; "+
					"write a longer one, or leave passthrough out")
		}
	}
	e := contract.CheckNames(named)
	if e == nil {
		return nil
	}
	field := "name"
	if e.Alias >= 0 {
		field = fmt.Sprintf("aliases[%d]", e.Alias)
	}
	return failModel(e.Model)(field, "%s", e.Reason)
}

// checkServers checks the places of the model's servers, and adds the servers to r that the model names itself.
func (c *Config) checkServers(i int, r *Resolved) *Error {
	m, fail := &c.Models[i], failModel(i)
	if m.Pool != "" {
		pool := findPool(c.Pools, m.Pool)
		switch {
		case pool == nil:
			return fail("pool", "there is no pool called %s; add it to pools", m.Pool)
		case len(m.Servers) > 0:
			return fail("servers", "cannot be used with pool, which has its own servers; leave one of them out")
		case m.ForwardAuthorization && pool.Authorization != "":
			return fail("forward_authorization", "the pool %s has an authorization for its servers, and a request carries "+
				"only one; leave one of them out", m.Pool)
		}
	}
	short := ResolvedPool{Pool: shortPool(m), APIPath: contract.DefaultAPIPath, Short: true}
	first := ""
	for j, text := range m.Servers {
		field := fmt.Sprintf("servers[%d]", j)
		s, err := ParseServer(text)
		if err != nil {
			return fail(field, "%v", err)
		}
		if j == 0 {
			first, short.Kind, short.TLS, short.APIPath = s.Kind, s.Kind, s.Endpoint.TLS, s.APIPath
		}
		if kind := contract.KindNamed(s.Kind); kind != nil && !acceptsPrompts(kind, m.AcceptTextPrompts) {
			return fail(field, "%s", textPromptsReason(kind)+"accept_text_prompts: true in a pool with this server, or start "+
				"harmony up with --accept-text-prompts")
		}
		if s.Kind != first {
			return fail(field, "%s is a %s among %s servers; give a model servers of one kind", text, s.Kind, first)
		}
		if s.APIPath != short.APIPath {
			return fail(field, "%s", otherPath(text, s.APIPath, short.APIPath))
		}
		if r.Misfit(&short, s.Endpoint) == OtherScheme {
			return fail(field, "%s mixes http and https in one pool; use one of them for all servers of a model", text)
		}
		place := s.Endpoint.withoutScheme()
		if r.owners[place] == m.Name {
			return fail(field, "%s is listed twice; remove one", text)
		}
		r.owners[place] = m.Name
		short.Endpoints, short.Servers = append(short.Endpoints, s.Endpoint), append(short.Servers, s.Endpoint.String())
	}
	if len(short.Endpoints) > 0 {
		r.Pools = append(r.Pools, short)
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
