package config

import (
	"cmp"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Config is the operator's configuration. Its zero value is not usable: start from [Default] or [Parse].
type Config struct {
	// Listen is where clients connect, as host:port. Port 0 takes a free one. It sets up one listener in clear text.
	Listen string `yaml:"listen"`
	// Listeners are the addresses where clients connect, in place of Listen.
	Listeners []Listener `yaml:"listeners"`
	// Admin is where Envoy's own admin interface listens. It has no authentication: keep it on loopback.
	Admin string `yaml:"admin"`
	// Mode is "full", or "reduced" for an Envoy whose listeners cannot let the filter hold headers.
	Mode string `yaml:"mode"`
	// BodyLimit is the largest request body on the translated paths.
	BodyLimit Size `yaml:"body_limit"`
	// StallTimeout is how long a server may be silent before its request is given up. 0 waits for ever.
	StallTimeout Duration `yaml:"stall_timeout"`
	// RequestTimeout is how long a client may take to send a request. It does not limit the answer.
	RequestTimeout Duration `yaml:"request_timeout"`
	// MemoryLimit is how much memory each of Envoy's workers may have in use in the filter before it answers new
	// requests 503.
	MemoryLimit Size `yaml:"memory_limit"`
	// PrefixMemory is how much of it each worker may use to remember what the beginnings of requests were turned into. 0
	// is none.
	PrefixMemory Size `yaml:"prefix_memory"`
	// CacheReasons is how much of it each worker may use to say why servers' caches were missed. 0 says nothing.
	CacheReasons Size `yaml:"cache_reasons"`
	// AccessLog is the file to which Envoy writes a line for each request. Empty: there is no access log.
	AccessLog string `yaml:"access_log"`
	// CORSOrigins are the origins, such as https://chat.example.com, whose pages may call the API from a browser. "*" is
	// any.
	CORSOrigins []string `yaml:"cors_origins"`
	// Tracing determines where spans go.
	Tracing Tracing `yaml:"tracing"`
	// ReasoningRatioAlert is the share of reasoning in an answer's tokens, from 0 to 1, above which the answer is counted.
	ReasoningRatioAlert float64 `yaml:"reasoning_ratio_alert"`
	Seal                Seal    `yaml:"seal"`
	// ResponsesService takes requests that need stored state, or tools that run on the server's side.
	ResponsesService  ResponsesService `yaml:"responses_service"`
	contract.Settings `yaml:",inline"`
	// Clients determines how clients are told apart.
	Clients Clients `yaml:"clients"`
	// Limits determines who holds clients to their limits.
	Limits Limits `yaml:"limits"`
	// Tap is where requests are recorded that ask for it.
	Tap Tap `yaml:"tap"`
	// Passthrough is the URL of a server for all models that are not listed here. Empty: requests for them are answered
	// 404.
	Passthrough string `yaml:"passthrough"`
	// PassthroughPaths are the paths that reach Passthrough. A path that ends in a slash includes everything below it.
	PassthroughPaths []string `yaml:"passthrough_paths"`
	// CAFile holds the certificates against which https servers are checked. Empty: the system's certificates.
	CAFile string `yaml:"ca_file"`
	Envoy  Envoy  `yaml:"envoy"`
	// Models are the Harmony models. At least one is needed.
	Models []Model `yaml:"models"`
	// Pools are the inference servers, for models that name a pool.
	Pools []Pool `yaml:"pools"`
	// Secrets are the places of the tokens and certificates that pools and listeners name.
	Secrets []Secret `yaml:"secrets"`
	// HeadersOnly reports whether the proxy of this configuration cannot hold answers: every [Pool.RetryUntil] is headers.
	HeadersOnly bool `yaml:"-"`
}

// Seal determines how the reasoning is sealed that Responses clients carry from one request to the next. Its keys come
// from the proxy's environment, as HARMONY_SEAL_KEYS=ID:BASE64,…: the first key seals, and all keys open.
type Seal struct {
	// Lifetime is how long sealed reasoning can be opened. 0 is the default.
	Lifetime Duration `yaml:"lifetime"`
	// TenantHeader is the header whose value separates tenants: one tenant cannot open another's reasoning. Empty: none.
	TenantHeader string `yaml:"tenant_header"`
}

// Envoy determines which Envoy to run, and how.
type Envoy struct {
	// Path is the program. Empty: it is searched for.
	Path string `yaml:"path"`
	// Concurrency is the number of worker threads, each with its own VM. 0 leaves it to Envoy (one per CPU).
	Concurrency int `yaml:"concurrency"`
	// MaxHeap is how much memory Envoy itself may have in use, without the filter's VMs. As it fills, new requests are
	// refused, and then the largest HTTP/2 streams are cut.
	MaxHeap Size `yaml:"max_heap"`
	// MaxConnections is how many connections of clients there may be at once. Further connections are closed.
	MaxConnections int `yaml:"max_connections"`
	// Expect is how many Envoys there should be. 0: any number.
	Expect int `yaml:"expect"`
}

// Model is one Harmony model and the servers that have it loaded.
type Model struct {
	// Name is the name that clients use.
	Name string `yaml:"name"`
	// Pool is the name of the pool of the model's inference servers.
	Pool string `yaml:"pool"`
	// Servers are the model's inference servers, in place of a pool. Each is KIND=URL, such as vllm=http://10.0.0.7:8000,
	// and all are of the same kind.
	Servers []string `yaml:"servers"`
	// AcceptTextPrompts is [Pool.AcceptTextPrompts] for Servers. Only a flag sets it: a file that accepts such prompts
	// says so in a pool.
	AcceptTextPrompts bool `yaml:"-"`
	// ForwardAuthorization sends clients' authorization headers to the servers. Otherwise the servers do not get them.
	ForwardAuthorization bool `yaml:"forward_authorization"`
	// ServerModel is the model's name at its servers. Empty: Name.
	ServerModel string `yaml:"server_model"`
	// ResponseTemplate is a file with the response_template of the model's checkpoint, which says what the text of its
	// answers is, instead of [contract.ModelSettings.Speaks].
	ResponseTemplate string `yaml:"response_template"`
	// Rules send some of the model's requests to further pools, by the length of their prompts and by their clients'
	// classes. The first rule that fits counts. All others go to the model's own pool.
	Rules []Rule `yaml:"route"`
	// Branch reports whether this is the model as it is for a further pool of its rules.
	Branch bool `yaml:"-"`
	// ContextSet reports whether the operator has set the context. Otherwise the smallest of the servers' counts
	// (docs/pools.md#context).
	ContextSet bool `yaml:"-"`
	// KeepAlive is how long a stream of the model may be quiet, before its first token too, until the responses service
	// gives its client a sign of life. 0: it gives none.
	KeepAlive              Duration `yaml:"keep_alive"`
	contract.ModelSettings `yaml:",inline"`
}

// The defaults that differ from the filter's, or that the filter does not have.
const (
	DefaultListen = "127.0.0.1:8080"
	DefaultAdmin  = "127.0.0.1:0"
	// DefaultBodyLimit is in bytes. 131,072 tokens of text are 0.5 to 1.5 MB of JSON. The rest is room for content that
	// the model is not shown, such as past reasoning and images. No body of this size holds a worker for longer than 100
	// ms (make soak). The filter's own default is larger, because older filters have that default.
	DefaultBodyLimit      = 4 << 20
	DefaultMaxHeap        = 2 << 30
	DefaultMaxConnections = 10_000
)

// DefaultPassthroughPaths returns the paths that reach the passthrough server by default: the API's. A server's
// /metrics, /flush_cache and /abort_requests are not for clients.
func DefaultPassthroughPaths() []string {
	return []string{contract.APIPrefix, contract.TokenizePath, contract.DetokenizePath, contract.TokenizerInfoPath}
}

// Default returns a configuration with all defaults and no model.
func Default() *Config {
	c := &Config{}
	setDefaults(c.Fields())
	contract.SetDefaults(c.Settings.Fields())
	return c
}

// PassesThrough reports whether requests for a path reach the passthrough server if the filter does not take them.
func (c *Config) PassesThrough(path string) bool {
	if c.Passthrough == "" {
		return false
	}
	for _, p := range c.PassthroughPaths {
		if p == path || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// Filter returns the part of c that the filter reads. It requires a configuration that [Config.Validate] accepts.
func (c *Config) Filter() *contract.Config {
	f := &contract.Config{
		Schema: contract.Schema, Mode: c.Mode, Passthrough: c.Passthrough != "", BodyLimit: int(c.BodyLimit),
		MemoryLimit:    int(c.MemoryLimit),
		PrefixMemory:   int(c.PrefixMemory),
		CacheReasons:   int(c.CacheReasons),
		StallTimeoutMS: int(time.Duration(c.StallTimeout).Milliseconds()),

		ReasoningRatioAlert: c.ReasoningRatioAlert,
		Seal: contract.Seal{LifetimeS: contract.DefaultSealLifetimeS,
			TenantHeader: strings.ToLower(c.Seal.TenantHeader)},
		ResponsesService: c.ResponsesService.filter(), Tap: c.Tap.filter(), Clients: c.filterClients(),
		Tracing:  c.Tracing.Enabled(),
		Settings: c.Settings,
	}
	if d := time.Duration(c.Seal.Lifetime); d > 0 {
		f.Seal.LifetimeS = int(d.Seconds())
	}
	for i := range c.Models {
		f.Models = append(f.Models, c.filterModel(&c.Models[i]))
	}
	return f
}

func (c *Config) filterModel(m *Model) contract.Model {
	return contract.Model{
		Name: m.Name, Pool: m.Route(), PoolName: m.PoolName(), Policy: c.policy(m), Server: c.kind(m),
		ServerModel: cmp.Or(m.ServerModel, m.Name),
		APIPath:     c.apiPath(m), Routing: c.routing(m), ForwardAuthorization: m.ForwardAuthorization,
		Prefill: c.filterPrefill(m), Render: c.filterRender(m), Route: c.filterRoute(m), ModelSettings: m.ModelSettings,
	}
}

// policy returns the policy of the pool of the model's servers.
func (c *Config) policy(m *Model) string {
	if p := findPool(c.Pools, m.Pool); p != nil {
		return cmp.Or(p.Policy, PolicyLeastRequest)
	}
	return PolicyLeastRequest
}

// apiPath returns the path of the API of the model's servers.
func (c *Config) apiPath(m *Model) string {
	apiPath := ""
	if len(m.Servers) > 0 {
		if s, err := ParseServer(m.Servers[0]); err == nil {
			apiPath = s.APIPath
		}
	} else if p := findPool(c.Pools, m.Pool); p != nil && len(p.Servers) > 0 {
		_, apiPath, _ = parseServerURL(p.ServerKind(), p.Servers[0])
	}
	return cmp.Or(apiPath, contract.DefaultAPIPath)
}

// ServerKind returns the facts about the kind of the model's servers. An unknown kind, which [Config.Validate] refuses,
// has the facts of the default.
func (c *Config) ServerKind(m *Model) *contract.Kind {
	if kind := contract.KindNamed(c.kind(m)); kind != nil {
		return kind
	}
	return contract.KindNamed(contract.VLLM)
}

// kind returns the name of the kind of the model's servers.
func (c *Config) kind(m *Model) string {
	if len(m.Servers) > 0 {
		kind, _, _ := strings.Cut(m.Servers[0], "=")
		return kind
	}
	if p := findPool(c.Pools, m.Pool); p != nil {
		return cmp.Or(p.Kind, contract.VLLM)
	}
	return contract.VLLM
}

// Route returns the value of the internal header that leads to the model's servers.
func (m *Model) Route() string {
	if m.Branch {
		return contract.BranchRoute(m.Name, m.Pool)
	}
	return m.Name
}
