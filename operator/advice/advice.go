package advice

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// These are the values of settings that choose between two.
const (
	refuse = "refuse"
	allow  = "allow"
)

// Advice is something that is allowed and unwise.
type Advice struct {
	// Setting is the path of the setting, such as pools[0].health.
	Setting string
	// Text says what may happen, and Write is the line to write instead.
	Text, Write string
}

// finder collects advice on a file.
type finder struct {
	*config.Resolved
	c   *config.Config
	all []Advice
	// public reports whether a listener is reached from other machines.
	public bool
}

// Of returns the advice on a configuration, in the order of its settings at the top, its models and its pools.
func Of(r *config.Resolved) []Advice {
	f := &finder{Resolved: r, c: r.Config}
	for i, l := range f.c.AllListeners() {
		a, err := config.ParseListen(l.Address)
		if err != nil || a.Addr().IsLoopback() {
			continue
		}
		f.public = true
		f.listener(i, &l)
	}
	f.top()
	for i := range f.c.Models {
		f.model(fmt.Sprintf("models[%d]", i), &f.c.Models[i])
	}
	for i := range f.c.Pools {
		f.pool(fmt.Sprintf("pools[%d]", i), &f.c.Pools[i])
	}
	f.unused()
	return f.all
}

func (f *finder) add(setting, write, text string, args ...any) {
	f.all = append(f.all, Advice{setting, fmt.Sprintf(text, args...), write})
}

// listener looks at a listener that other machines reach.
func (f *finder) listener(i int, l *config.Listener) {
	setting := "listen"
	if len(f.c.Listeners) > 0 {
		setting = fmt.Sprintf("listeners[%d]", i)
	}
	if f.c.Clients.KeysFile == "" && f.c.Clients.Header == "" {
		f.add(setting, "clients: { keys_file: keys.yaml }",
			"any client that reaches %s may use the models: no key is asked for", l.Address)
	}
	if f.c.Clients.KeysFile != "" && l.TLS == "" {
		f.add(setting, "listeners: [{ address: "+l.Address+", tls: NAME-OF-A-SECRET }]",
			"clients' keys cross the network as plain text at %s", l.Address)
	}
}

// top looks at the settings that are about no model and no pool.
func (f *finder) top() {
	c := f.c
	if c.StallTimeout == 0 {
		f.add("stall_timeout", "stall_timeout: 5m", "a server that has fallen silent keeps its requests for ever")
	}
	if slices.Contains(c.CORSOrigins, "*") && c.Clients.KeysFile == "" {
		f.add("cors_origins", "cors_origins: [https://app.example.com]",
			"any page that a user of this network opens may use the models")
	}
	if c.Tracing.URL != "" && c.Tracing.Share.Millionths() == 0 {
		f.add("tracing.share", "share: 1%", "a collector is named, and no trace is sent to it")
	}
	if slices.Contains(c.PassthroughPaths, "/") && c.Passthrough != "" {
		f.add("passthrough_paths", "passthrough_paths: [/v1/]",
			"every path of %s is reached through the gateway, its metrics and its administration too", c.Passthrough)
	}
	if c.Limits.OnFailure == refuse && c.Limits.URL != "" && len(c.Limits.URLs) == 0 {
		f.add("limits.url", "urls: ["+c.Limits.URL+", http://ANOTHER:PORT]",
			"while this one rate limit service is away, every request is answered 503")
	}
	if s := c.ResponsesService.Store; strings.HasPrefix(s, "/tmp/") || strings.HasPrefix(s, "/dev/shm/") {
		f.add("responses_service.store", "store: /var/lib/harmony/responses.db", "responses are lost with the next boot")
	}
	if c.Settings.AccessLogClientKey && c.AccessLog == "" {
		f.add("access_log_client_key", "access_log: /var/log/harmony.log", "there is no access log for it")
	}
}

// gptossContext is the largest context of a gpt-oss model.
const gptossContext = contract.DefaultContextLength

// leastBytes is how many bytes a token has at least, in long texts: a prompt of ids has about two.
const leastBytes = 2

func (f *finder) model(at string, m *config.Model) {
	kind := f.c.ServerKind(m)
	chat := kind != nil && kind.Conversations
	if m.ContextSet && m.ContextLength > gptossContext && !chat {
		f.add(at+".context_length", fmt.Sprintf("context_length: %d", gptossContext),
			"no gpt-oss model has a context of %d tokens: longer prompts fail at the servers", m.ContextLength)
	}
	if m.MaxReasoningTokens >= m.ContextLength && m.MaxReasoningTokens > 0 {
		f.add(at+".max_reasoning_tokens", fmt.Sprintf("max_reasoning_tokens: %d", m.ContextLength/4),
			"it limits nothing: the context of %d tokens ends before", m.ContextLength)
	}
	if int(f.c.BodyLimit) < leastBytes*m.ContextLength && m.ContextSet {
		f.add("body_limit", "body_limit: 4MiB", "a prompt of the %d tokens of %s does not fit into a request", m.ContextLength,
			m.Name)
	}
	if m.RawPrompts == allow && f.c.Clients.KeysFile == "" && f.public {
		f.add(at+".raw_prompts", "raw_prompts: deny", "any client that reaches the gateway may write the model's system message")
	}
	if m.ForwardAuthorization && !chat {
		for _, s := range m.Servers {
			if one, err := config.ParseServer(s); err == nil {
				f.forwards(at, one.Endpoint)
			}
		}
	}
	if m.ForwardAuthorization {
		for i := range f.Pools {
			if p := &f.Pools[i]; p.Name == m.Pool {
				for _, e := range p.Endpoints {
					f.forwards(at, e)
				}
			}
		}
	}
}

// forwards looks at a server that gets clients' keys.
func (f *finder) forwards(at string, e config.Endpoint) {
	setting := at + ".forward_authorization"
	if a, err := netip.ParseAddr(e.Host); e.TLS || e.Host == "localhost" || err == nil && a.IsLoopback() ||
		slices.ContainsFunc(f.all, func(a Advice) bool { return a.Setting == setting }) {
		return
	}
	f.add(setting, "forward_authorization: false", "clients' keys go to %s as plain text", e)
}

// slowHealth is how long a dead server may get requests before an operator would call it long.
const slowHealth = config.Duration(time.Minute)

func (f *finder) pool(at string, p *config.Pool) {
	n := len(p.Servers)
	off := p.Health.Off || p.Health.Path == config.NoHealthChecks
	found := p.ServersFile != "" || p.Service.Name != "" || p.InferencePool.Name != ""
	if n == 1 && !found && len(p.Spares) == 0 && f.public && f.used(p.Name) {
		f.add(at+".servers", "spares: [ANOTHER-POOL]", "while its one server is away, the pool %s answers 503", p.Name)
	}
	if n > 1 && off {
		f.add(at+".health.path", "health: { path: /health }", "a server that hangs keeps getting requests")
	}
	if !off && p.Health.Interval > slowHealth {
		f.add(at+".health.interval", "interval: 5s", "a server that hangs gets requests for minutes")
	}
	if n > 1 && p.Tries == 1 && len(p.Spares) == 0 {
		f.add(at+".tries", fmt.Sprintf("tries: %d", config.DefaultTries),
			"a request fails with its first server, although another one would answer")
	}
	if n > 0 && len(p.Drain) >= n && !found {
		f.add(at+".drain", "drain: []", "every server of the pool %s is drained, so it serves nothing", p.Name)
	}
	if p.Policy == contract.PolicyPicker && p.Picker.OnFailure == refuse {
		f.add(at+".picker.on_failure", "on_failure: fallback", "while the picker is away, every request is refused")
	}
	for _, s := range p.Spares {
		if i := slices.IndexFunc(f.c.Pools, func(o config.Pool) bool { return o.Name == s }); i >= 0 {
			if o := &f.c.Pools[i]; slices.ContainsFunc(o.Servers, func(u string) bool { return slices.Contains(p.Servers, u) }) {
				f.add(at+".spares", "spares: [ANOTHER-POOL]", "the spare %s has a server of the pool itself", s)
			}
		}
	}
}

// used reports whether a model asks a pool.
func (f *finder) used(pool string) bool {
	for i := range f.Pools {
		if f.Pools[i].Name == pool {
			return len(f.Pools[i].Models) > 0
		}
	}
	return false
}

// unused looks for pools and secrets that nothing names.
func (f *finder) unused() {
	named := map[string]bool{}
	for i := range f.c.Pools {
		p := &f.c.Pools[i]
		for _, s := range append([]string{p.Prefill.Pool, p.Render}, p.Spares...) {
			named[s] = true
		}
	}
	for i := range f.c.Pools {
		if p := &f.c.Pools[i]; !named[p.Name] && !f.used(p.Name) {
			f.add(fmt.Sprintf("pools[%d].name", i), "pool: "+p.Name, "no model and no pool asks %s", p.Name)
		}
	}
	secrets := map[string]bool{}
	for _, l := range f.c.Listeners {
		secrets[l.TLS] = true
	}
	for i := range f.c.Pools {
		secrets[f.c.Pools[i].Authorization], secrets[f.c.Pools[i].Queue.WakeAuthorization] = true, true
	}
	for i := range f.c.Secrets {
		if name := f.c.Secrets[i].Name; !secrets[name] {
			f.add(fmt.Sprintf("secrets[%d].name", i), "authorization: "+name, "nothing uses the secret %s", name)
		}
	}
}
