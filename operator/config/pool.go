package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The policies for the choice of a pool's server.
const (
	PolicyLeastRequest = contract.PolicyLeastRequest
	PolicyRoundRobin   = contract.PolicyRoundRobin
	PolicySession      = contract.PolicySession
	PolicyPrefix       = contract.PolicyPrefix
	PolicyPicker       = contract.PolicyPicker
)

// DefaultHealthInterval is the default of [Health.Interval].
const DefaultHealthInterval = 5 * time.Second

// Pool is a set of identical inference servers, for one model or several.
type Pool struct {
	// Name is the pool's name for models, and its cluster's name in Envoy.
	Name string `yaml:"name"`
	// Kind is the kind of the pool's servers: the API that they have. Empty: vllm.
	Kind string `yaml:"kind"`
	// AcceptTextPrompts allows servers of a kind that takes prompts as text. They read every spelling of a control token
	// in a prompt as that token.
	AcceptTextPrompts bool `yaml:"accept_text_prompts"`
	// Servers are URLs with an address or a name, such as http://10.0.0.7:8000. A name means all addresses that DNS
	// returns for it.
	Servers []string `yaml:"servers"`
	// ServersFile is a file with a list of more servers. It is read again whenever it changes.
	ServersFile string `yaml:"servers_file"`
	// Service is a Service of Kubernetes, whose ready endpoints are more servers.
	Service PoolService `yaml:"service"`
	// InferencePool is an InferencePool of Kubernetes, whose ready pods are more servers.
	InferencePool InferencePool `yaml:"inference_pool"`
	// Drain are URLs of servers that get no new requests. Each is written as in Servers, or with the server's address.
	Drain []string `yaml:"drain"`
	// Policy is "least_request", "round_robin", "session", "prefix" or "picker". Empty: least_request.
	Policy   string   `yaml:"policy"`
	Session  Session  `yaml:"session"`
	Affinity Affinity `yaml:"affinity"`
	Picker   Picker   `yaml:"picker"`
	// Capacity is how many requests one server works on at once (vLLM: --max-num-seqs). Each Envoy answers requests beyond
	// the capacity of all servers together with 429 at once. 0 leaves queues to the servers.
	Capacity int `yaml:"capacity"`
	// Queue lets requests beyond the capacity wait.
	Queue Queue `yaml:"queue"`
	// Spares are the names of pools whose servers take requests when this pool's are not enough, in their order.
	Spares []string `yaml:"spares"`
	// RetryBusy reports whether a request is asked at another server, and then at a spare, if a server answers it 429.
	RetryBusy bool `yaml:"retry_busy"`
	// Tries is how many attempts a request has in the pool, and then in each spare. 0 is the default.
	Tries  int    `yaml:"tries"`
	Health Health `yaml:"health"`
	// RetryUntil is how far an answer may have come before a request stays with its server: "first_token", or "headers".
	// Empty: first_token.
	RetryUntil string `yaml:"retry_until"`
	// SlowStart is the time in which a new server's share of the requests grows to its full size. 0 is at once.
	SlowStart Duration `yaml:"slow_start"`
	Load      PoolLoad `yaml:"load"`
	// Authorization is the name of the secret that the servers require as a bearer token. Empty: none.
	Authorization string    `yaml:"authorization"`
	Probe         PoolProbe `yaml:"probe"`
	// Prefill is the pool whose servers read the prompts of this pool's requests.
	Prefill Prefill `yaml:"prefill"`
	// Render is the name of the pool whose servers render the conversations of this pool's requests. Empty: this pool's
	// own.
	Render string `yaml:"render"`
}

// DefaultTries is the default of [Pool.Tries]. The first two attempts may reach the same dead server, because only its
// ejection makes Envoy choose another one. The ejection goes through Envoy's main thread, and the waits before retries
// are random and may be short. The other attempts are for that time.
const DefaultTries = 5

// Session determines which requests form a session, which stays with one server: set either a cookie or a header. With
// the policy prefix there may be a header, which then comes before what prompts have in common.
type Session struct {
	// Cookie is the name of a cookie that the gateway sets.
	Cookie string `yaml:"cookie"`
	// Header is the name of a header that clients set to the name of their session.
	Header string `yaml:"header"`
}

// Health determines how each Envoy checks the health of the servers.
type Health struct {
	// Path is requested from each server. A server that answers 200 is healthy. "none" turns checks off. Empty: the path
	// of the servers' kind, or "none" if the kind has none.
	Path string `yaml:"path"`
	// Interval is the time between two checks. 0 is the default.
	Interval Duration `yaml:"interval"`
	// Off reports whether the operator has turned the checks off.
	Off bool `yaml:"-"`
}

// DefaultLoadInterval is the default of [PoolLoad.Interval] where the load is needed.
const DefaultLoadInterval = 2 * time.Second

// PoolLoad determines how the control plane follows the load that the servers tell in their metrics.
type PoolLoad struct {
	// Weights reports whether a server that has more to do than the others of the pool gets fewer of the requests.
	Weights bool `yaml:"weights"`
	// Interval is the time between two questions to a server. 0: 2s if something needs the load; else no server is asked.
	Interval Duration `yaml:"interval"`
}

// The values of [PoolProbe.Ask].
const (
	ProbeStart = "start"
	ProbeNever = "never"
)

// The values of [PoolProbe.OnLostTags].
const (
	LostTagsDegrade = "degrade"
	LostTagsRefuse  = "refuse"
	LostTagsIgnore  = "ignore"
)

// PoolProbe determines what the control plane asks the servers by short completions, and what follows from the answers.
type PoolProbe struct {
	// Ask is "start" or "never": when each server is asked whether it takes and returns token ids, and holds an answer to
	// a structural tag. Empty: start, which is after each of its starts.
	Ask string `yaml:"ask"`
	// OnLostTags is "degrade", "refuse" or "ignore": what becomes of the pool's models while a server does not hold
	// answers to structural tags: they are as with [contract.NoStructure] or [contract.RefuseStructure], or stay as they
	// are. Empty: degrade.
	OnLostTags string `yaml:"on_lost_tags"`
}

// Asks reports whether the pool's servers are asked by completions. Where one pool reads prompts for another, a server
// does a part of the work only.
func (p *ResolvedPool) Asks() bool {
	kind := p.ServerKind()
	return kind != nil && kind.StructuralTags && p.Probe.Ask != ProbeNever && p.Prefill.Pool == "" && len(p.PrefillFor) == 0
}

// LoadInterval returns the time between two questions to a server for its load, or 0 if it is not asked.
func (p *Pool) LoadInterval() time.Duration {
	if p.Load.Interval == 0 && p.Load.Weights {
		return DefaultLoadInterval
	}
	return time.Duration(p.Load.Interval)
}

// Hashes reports whether a hash of the request chooses the server. Envoy has no slow start for that.
func (p *Pool) Hashes() bool {
	return p.Policy == PolicyPrefix || p.Policy == PolicySession && p.Session.Header != ""
}

// NoHealthChecks is the [Health.Path] that turns health checks off.
const NoHealthChecks = "none"

// PerServer returns how many requests one server works on at once, or 0 for no limit.
func (p *Pool) PerServer() int { return p.Capacity }

// Checked reports whether Envoy checks the health of the servers.
func (h *Health) Checked() bool { return h.Path != NoHealthChecks }

// ServerKind returns the facts about the kind of the pool's servers, or nil if there is no such kind.
func (p *Pool) ServerKind() *contract.Kind { return contract.KindNamed(cmp.Or(p.Kind, contract.VLLM)) }

// acceptsPrompts reports whether a pool may have servers of a kind. accepted is its AcceptTextPrompts.
func acceptsPrompts(kind *contract.Kind, accepted bool) bool { return accepted || !kind.TextPrompts }

// textPromptsReason begins an error that ends with how to accept prompts as text.
func textPromptsReason(kind *contract.Kind) string {
	return kind.Name + " servers take prompts as text, where the spelling of a control token is that token " +
		"(docs/servers.md); if that is acceptable, write "
}

// withDefaults returns the pool with defaults for its absent settings. kind is the kind of its servers.
func (p Pool) withDefaults(kind *contract.Kind) Pool {
	p.Kind = kind.Name
	fillZeros(p.fields())
	if p.byAffinity() {
		p.Affinity = p.Affinity.withDefaults()
	}
	if p.Policy == PolicyPicker {
		p.Picker = p.Picker.withDefaults()
	}
	p.Queue = p.Queue.withDefaults()
	p.Health.Off = p.Health.Path == NoHealthChecks
	if p.Health.Path == "" {
		p.Health.Path = cmp.Or(kind.Health, NoHealthChecks)
	}
	fillZeros(p.Health.fields())
	fillZeros(p.Probe.fields())
	return p
}

// shortPool returns the pool of a model that names its servers itself. It has no health checks: the short form must
// work for any server.
func shortPool(m *Model) Pool {
	return Pool{Name: m.Name, Policy: PolicyLeastRequest, Health: Health{Path: NoHealthChecks}}
}

// findPool returns the pool with this name, or nil.
func findPool(pools []Pool, name string) *Pool {
	if i := slices.IndexFunc(pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
		return &pools[i]
	}
	return nil
}

// PoolName returns the name of the pool of the model's servers.
func (m *Model) PoolName() string {
	if m.Pool != "" {
		return m.Pool
	}
	return m.Name
}

// checkPools checks the pools and adds them to r.
func (c *Config) checkPools(r *Resolved, p *problems) {
	for i := range c.Pools {
		c.checkPool(i, r, p)
	}
	for i := range c.Pools {
		r.checkSpares(i, p)
		p.put(r.checkPrefill(i))
		p.put(r.checkRender(i))
	}
}

// checkPool checks one pool, and adds it to r.
func (c *Config) checkPool(i int, r *Resolved, problems *problems) {
	p, at := &c.Pools[i], fmt.Sprintf("pools[%d]", i)
	fail := problems.under(at)
	if findPool(c.Pools[:i], p.Name) != nil {
		fail(".name", "%s is listed twice; list all its servers in one entry", p.Name)
	}
	if slices.ContainsFunc(c.Models, func(m Model) bool { return m.Pool == "" && m.Name == p.Name && len(m.Servers) > 0 }) {
		fail(".name", "%s is also a model with servers of its own; give the pool another name, or move the model's "+
			"servers into it", p.Name)
	}
	c.checkPolicy(p, fail)
	kind := p.ServerKind()
	if kind == nil {
		r.Pools = append(r.Pools, ResolvedPool{Pool: *p, wrong: true})
		return
	}
	if !acceptsPrompts(kind, p.AcceptTextPrompts) {
		fail(".accept_text_prompts", "%s", textPromptsReason(kind)+"accept_text_prompts: true")
	}
	if p.Load.Weights && p.Kind == contract.Ollama {
		fail(".load.weights", "%s servers do not tell their load; leave it out", p.Kind)
	}
	if p.RetryBusy && len(p.Servers) == 1 && !p.hasOthers(1) {
		fail(".retry_busy", "is for a pool with other servers to ask; name spares, or leave it out")
	}
	r.addPool(p, kind, fail)
}

// addPool adds a pool with its servers to r.
func (r *Resolved) addPool(p *Pool, kind *contract.Kind, fail failure) {
	resolved, owner := ResolvedPool{Pool: p.withDefaults(kind)}, "the pool "+p.Name
	if len(p.Servers) == 0 && p.ServersFile == "" && p.Service == (PoolService{}) && p.InferencePool == (InferencePool{}) {
		fail(".servers", "no server is given for the pool %s; write for example http://127.0.0.1:8000, a servers_file, a "+
			"service or an inference_pool", p.Name)
		resolved.wrong = true
	}
	for j, text := range p.Servers {
		e, apiPath, err := parseServerURL(kind, text)
		if err == nil && len(resolved.Endpoints) == 0 {
			resolved.TLS, resolved.APIPath = e.TLS, apiPath
		}
		reason := ""
		switch {
		case err != nil:
			reason = err.Error()
		case apiPath != resolved.APIPath:
			reason = otherPath(text, apiPath, resolved.APIPath)
		case r.Misfit(&resolved, e) == OtherScheme:
			reason = text + " mixes http and https in one pool; use one of them for all its servers"
		case r.owners[e.withoutScheme()] == owner:
			reason = text + " is listed twice"
		}
		if reason != "" {
			fail(fmt.Sprintf(".servers[%d]", j), "%s", reason)
			resolved.wrong = true
			continue
		}
		resolved.Endpoints = append(resolved.Endpoints, e)
		r.owners[e.withoutScheme()] = owner
	}
	resolved.APIPath = cmp.Or(resolved.APIPath, contract.DefaultAPIPath)
	resolved.takeDrain(fail)
	if field, reason := p.Service.check(resolved.TLS, len(resolved.Endpoints) > 0); reason != "" {
		fail(".service"+field, "%s", reason)
	}
	resolved.TLS = resolved.TLS || p.Service.Scheme == SchemeHTTPS
	if field, reason := p.InferencePool.check(resolved.TLS); reason != "" {
		fail(".inference_pool"+field, "%s", reason)
	}
	r.Pools = append(r.Pools, resolved)
}

// checkPolicy checks that what the policy of a pool goes by is there, and nothing else is.
func (c *Config) checkPolicy(p *Pool, fail failure) {
	for _, check := range []func() (field, reason string){
		func() (string, string) { return p.Picker.check(p.Policy, c.Mode) },
		func() (string, string) { return p.Session.check(p.Policy) },
		func() (string, string) { return p.Affinity.check(p) },
		func() (string, string) { return p.Queue.check(p, c.Mode, c.Clients.Classes) },
	} {
		if field, reason := check(); reason != "" {
			fail(field, "%s", reason)
		}
	}
	if c.Mode == contract.ModeReduced && p.Policy == PolicyPrefix && p.Session.Header == "" {
		fail(".policy", "in mode reduced a server is chosen before a request's body is read; name a session.header, or "+
			"write mode: full")
	}
}

// otherPath returns the error for a server whose API has another path than those before it.
func otherPath(url, path, before string) string {
	return url + " has the path " + path + ", and the servers before it have " + before + "; give each path a pool of its " +
		"own, because a request is written for one"
}

func (r *Resolved) checkSpares(i int, problems *problems) {
	p := &r.Pools[i]
	for j, name := range p.Spares {
		fail := func(reason string) { problems.add(fmt.Sprintf("pools[%d].spares[%d]", i, j), "%s", reason) }
		spare := r.Pool(name)
		switch {
		case spare == nil:
			fail("there is no pool called " + name + "; add it to pools")
		case name == p.Name:
			fail("a pool cannot be its own spare")
		case slices.Contains(p.Spares[:j], name):
			fail(name + " is listed twice")
		case spare.wrong || p.wrong: // the two cannot be compared
		case spare.Kind != p.Kind:
			fail(name + " has servers of the kind " + spare.Kind + ", and " + p.Name + " of the kind " + p.Kind +
				"; name a pool of the same kind, because a request is written for one kind")
		case spare.APIPath != p.APIPath:
			fail(name + " has servers with the path " + spare.APIPath + ", and those of " + p.Name + " have " +
				p.APIPath + "; name a pool with the same path, because a request is written for one")
		case spare.TLS != p.TLS:
			fail(name + " mixes http and https with " + p.Name + "; use one of them for both")
		case spare.Authorization != p.Authorization:
			fail(name + " has another authorization than " + p.Name + "; give both the same, because a request keeps " +
				"its authorization when it moves to a spare")
		}
	}
}

func (s *Session) check(policy string) (field, reason string) {
	switch {
	case policy == PolicyPrefix && s.Cookie != "":
		return ".session.cookie", "is for the policy session; write a header, or leave it out"
	case policy != PolicySession && policy != PolicyPrefix && *s != (Session{}):
		return ".session", "is for the policies session and prefix; write policy: session, or leave it out"
	case policy == PolicySession && (s.Cookie == "") == (s.Header == ""):
		return ".session", "write either cookie or header, which identifies a session"
	}
	return "", ""
}
