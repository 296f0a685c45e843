package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Error names the setting that is wrong and what to do about it.
type Error struct {
	// File and Line say where the setting stands. File is empty when it came from elsewhere, Line 0 when unknown.
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

// The bounds of body_limit; the upper one is the filter's own.
const (
	minBodyLimit = 1 << 10
	maxBodyLimit = contract.MaxBodyLimit
)

const (
	maxStallTimeout = 24 * time.Hour
	maxConcurrency  = 1024
	maxNameLength   = 256
)

// Validate reports the first thing wrong with c, as an *Error. A configuration that it accepts is complete.
func (c *Config) Validate() error {
	if e := c.check(); e != nil {
		return e
	}
	if len(c.Models) == 0 {
		return &Error{Field: "models", Reason: "no model is configured; name at least one, with its servers"}
	}
	for i := range c.Models {
		if m := &c.Models[i]; m.Pool == "" && len(m.Servers) == 0 {
			return &Error{Field: fmt.Sprintf("models[%d].servers", i), Reason: "no server is given for " + m.Name + "; write for example vllm=http://127.0.0.1:8000, or name a pool"}
		}
	}
	// The reader's own word is the last.
	if _, err := filterconfig.Parse(filterconfig.AppendJSON(nil, c.Filter())); err != nil {
		return &Error{Reason: err.Error()}
	}
	return nil
}

// check looks at what is there and says nothing of what is not: flags may still fill a file's gaps.
func (c *Config) check() *Error {
	if e := c.checkSecrets(); e != nil {
		return e
	}
	if e := c.checkListeners(); e != nil {
		return e
	}
	if _, err := ParseAdmin(c.Admin); err != nil {
		return &Error{Field: "admin", Reason: err.Error()}
	}
	if c.Mode != contract.ModeFull && c.Mode != contract.ModeReduced {
		return &Error{Field: "mode", Reason: fmt.Sprintf("%q is not known; write full or reduced", c.Mode)}
	}
	if c.Mode == contract.ModeReduced && len(c.Models) > 1 {
		return &Error{Field: "mode", Reason: fmt.Sprintf("reduced serves one model, and %d are configured; run one Envoy for each, or write full", len(c.Models))}
	}
	if c.BodyLimit < minBodyLimit || c.BodyLimit > maxBodyLimit {
		return &Error{Field: "body_limit", Reason: fmt.Sprintf("%s is out of range; use 1KiB to 64MiB", &c.BodyLimit)}
	}
	if c.MemoryLimit > contract.MaxMemoryLimit {
		return &Error{Field: "memory_limit", Reason: fmt.Sprintf("%s is out of range; use at most 448MiB", &c.MemoryLimit)}
	}
	if least := contract.LeastMemoryLimit(int(c.BodyLimit)); int(c.MemoryLimit) < least {
		// Rounded up, for people to write.
		return &Error{Field: "memory_limit", Reason: fmt.Sprintf("%s is too little for a request of %s, which body_limit allows; use at least %dMiB, or a smaller body_limit",
			&c.MemoryLimit, &c.BodyLimit, (least+1<<20-1)>>20)}
	}
	if d := time.Duration(c.Seal.Lifetime); d != 0 && d < time.Second || d > contract.MaxSealLifetimeS*time.Second {
		return &Error{Field: "seal.lifetime", Reason: d.String() + " is out of range; write for how long sealed reasoning opens, such as 720h"}
	}
	if h := c.Seal.TenantHeader; h != "" && !httpguts.ValidHeaderFieldName(h) {
		return &Error{Field: "seal.tenant_header", Reason: fmt.Sprintf("%q is not the name of a header", h)}
	} else if strings.Contains(h, "_") {
		return &Error{Field: "seal.tenant_header", Reason: fmt.Sprintf("%q has an underscore, and requests with such headers are refused; use dashes", h)}
	}
	if d := time.Duration(c.StallTimeout); d > maxStallTimeout {
		return &Error{Field: "stall_timeout", Reason: d.String() + " is too long; use at most 24h, or 0s to wait for ever"}
	} else if d > 0 && d < time.Second {
		return &Error{Field: "stall_timeout", Reason: d.String() + " would give every request up; use at least 1s, or 0s to wait for ever"}
	}
	if r := c.ReasoningRatioAlert; !(r >= 0 && r <= 1) {
		return &Error{Field: "reasoning_ratio_alert", Reason: fmt.Sprintf("%g is out of range; use 0 to 1, of which 1 never counts", r)}
	}
	if e := c.checkEdge(); e != nil {
		return e
	}
	if c.Envoy.Concurrency < 0 || c.Envoy.Concurrency > maxConcurrency {
		return &Error{Field: "envoy.concurrency", Reason: fmt.Sprintf("%d is out of range; use 1 to %d, or 0 for one per CPU", c.Envoy.Concurrency, maxConcurrency)}
	}
	owners := map[Endpoint]string{}
	if e := c.checkPools(owners); e != nil {
		return e
	}
	for i := range c.Models {
		if e := c.checkModel(i, owners); e != nil {
			return e
		}
	}
	if e := c.checkService(owners); e != nil {
		return e
	}
	return c.checkPassthrough(owners)
}

func (c *Config) checkPassthrough(owners map[Endpoint]string) *Error {
	if c.Passthrough != "" {
		if e := checkUntranslated("passthrough", c.Passthrough, "use another server, or leave passthrough out", owners); e != nil {
			return e
		}
	}
	for i, p := range c.PassthroughPaths {
		if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "?#* ") {
			return &Error{Field: fmt.Sprintf("passthrough_paths[%d]", i), Reason: fmt.Sprintf("%q is not a path; write /path for one, or /path/ for everything below it", p)}
		}
	}
	return nil
}

// Untranslated reports whether a server gets requests as they come, as passthrough or as the responses service. It must be
// none of the models' servers.
func (c *Config) Untranslated(server Endpoint) bool {
	server.TLS = false
	for _, url := range []string{c.Passthrough, c.ResponsesService.URL} {
		if url == "" {
			continue // the usual case, and asked for every server at every change of one
		}
		if e, err := ParseURL(url); err == nil {
			e.TLS = false
			if e == server {
				return true
			}
		}
	}
	return false
}

// checkUntranslated looks at the URL of a server that gets requests as they came, which must be none of the models' servers,
// whose owners are given; instead is what to do about it.
func checkUntranslated(field, url, instead string, owners map[Endpoint]string) *Error {
	endpoint, err := ParseURL(url)
	if err != nil {
		return &Error{Field: field, Reason: err.Error()}
	}
	endpoint.TLS = false
	if model, ok := owners[endpoint]; ok {
		return &Error{Field: field, Reason: url + " is also a server of " + model + ": untranslated requests would reach a Harmony model; " + instead}
	}
	return nil
}

func (c *Config) checkModel(i int, owners map[Endpoint]string) *Error {
	m := &c.Models[i]
	fail := func(field, format string, args ...any) *Error {
		return &Error{Field: fmt.Sprintf("models[%d].%s", i, field), Reason: fmt.Sprintf(format, args...)}
	}
	if m.Name == "" {
		return fail("name", "the model has no name; write the one that clients ask for")
	}
	if !printable(m.Name) || len(m.Name) > maxNameLength {
		return fail("name", "%q cannot travel in a header; use at most %d printable ASCII characters and no spaces", m.Name, maxNameLength)
	}
	for j := range i {
		if c.Models[j].Name == m.Name {
			return fail("name", "%s is there twice; list all its servers in one entry", m.Name)
		}
	}
	if field, reason := wrong(m.ModelSettings.Fields()); field != "" {
		return fail(field, "%s", reason)
	}
	return c.checkServers(m, fail, owners)
}

// checkServers looks at where the model's servers are; owners gets those that it names itself.
func (c *Config) checkServers(m *Model, fail func(field, format string, args ...any) *Error, owners map[Endpoint]string) *Error {
	if m.Dialect != "" && !slices.Contains(contract.ServerKinds(), m.Dialect) {
		return fail("dialect", "%q is not known; write %s", m.Dialect, strings.Join(contract.ServerKinds(), ", "))
	}
	if m.Pool != "" {
		pool := FindPool(c.Pools, m.Pool)
		switch {
		case pool == nil:
			return fail("pool", "there is no pool called %s; add it to pools", m.Pool)
		case len(m.Servers) > 0:
			return fail("servers", "stand beside a pool, which has servers of its own; leave one of them out")
		case m.ForwardAuthorization && pool.Authorization != "":
			return fail("forward_authorization", "the servers of %s get an authorization of their own, and there is room for one; leave one of them out", m.Pool)
		}
	}
	var first Server
	for j, text := range m.Servers {
		field := fmt.Sprintf("servers[%d]", j)
		s, err := ParseServer(text)
		if err != nil {
			return fail(field, "%v", err)
		}
		if j == 0 {
			first = s
		}
		if m.Dialect != "" && s.Kind != m.Dialect {
			return fail(field, "%s is a %s, and the model's dialect is %s", text, s.Kind, m.Dialect)
		}
		if s.Kind != first.Kind {
			return fail(field, "%s is a %s among %s servers; give a model servers of one kind", text, s.Kind, first.Kind)
		}
		if s.Endpoint.TLS != first.Endpoint.TLS {
			return fail(field, "%s mixes http and https in one pool; use one of them for all servers of a model", text)
		}
		plain := s.Endpoint
		plain.TLS = false
		if owners[plain] == m.Name {
			return fail(field, "%s is there twice; remove one", text)
		}
		owners[plain] = m.Name
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
