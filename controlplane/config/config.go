package config

import (
	"strings"
	"time"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Config is everything an operator may say. Its zero value is not usable: start from Default or Parse.
type Config struct {
	// Listen is where clients connect, as host:port; port 0 takes a free one. It stands for one listener in clear text.
	Listen string `yaml:"listen"`
	// Listeners are the addresses where clients connect, in place of Listen.
	Listeners []Listener `yaml:"listeners"`
	// Admin is where Envoy's own admin interface listens. It has no authentication: keep it on loopback.
	Admin string `yaml:"admin"`
	// Mode is "full", or "reduced" for an Envoy whose listeners cannot let the filter hold headers.
	Mode string `yaml:"mode" jsonschema:"enum=full,enum=reduced"`
	// BodyLimit is the largest request body on the translated paths.
	BodyLimit Size `yaml:"body_limit"`
	// StallTimeout is how long a server may be silent before its request is given up; 0 waits for ever.
	StallTimeout Duration `yaml:"stall_timeout"`
	// RequestTimeout is how long a client may take to send a request. How long its answer takes is another matter.
	RequestTimeout Duration `yaml:"request_timeout"`
	// MemoryLimit is how much memory each of Envoy's workers may have in use in the filter before it answers new
	// requests 503.
	MemoryLimit Size `yaml:"memory_limit"`
	// AccessLog is the file to which Envoy writes a line for each request. Empty: none.
	AccessLog string `yaml:"access_log"`
	// CORSOrigins are the origins, such as https://chat.example.com, whose pages browsers let call the API; "*" is any.
	CORSOrigins []string `yaml:"cors_origins"`
	// ReasoningRatioAlert is the part of an answer's tokens above which its reasoning is counted as too much, 0 to 1.
	ReasoningRatioAlert float64 `yaml:"reasoning_ratio_alert" jsonschema:"minimum=0,maximum=1"`
	Seal                Seal    `yaml:"seal"`
	// ResponsesService takes requests that need a memory, or tools that somebody runs for the client.
	ResponsesService ResponsesService `yaml:"responses_service"`
	// HostedTools is "ignore" or "refuse": what becomes of tools that nobody here runs.
	HostedTools string `yaml:"hosted_tools" jsonschema:"enum=ignore,enum=refuse"`
	// Passthrough is the URL of a server for every model that is not listed here. Empty: they are answered 404.
	Passthrough string `yaml:"passthrough"`
	// PassthroughPaths are the paths that reach Passthrough. One that ends in a slash stands for everything below it.
	PassthroughPaths []string `yaml:"passthrough_paths"`
	// CAFile holds the certificates that https servers are checked against. Empty: the system's.
	CAFile string `yaml:"ca_file"`
	Envoy  Envoy  `yaml:"envoy"`
	// Models are the Harmony models. At least one is needed.
	Models []Model `yaml:"models"`
	// Pools are the inference servers, for models that name a pool.
	Pools []Pool `yaml:"pools"`
	// Secrets say where tokens and certificates are found that pools and listeners name.
	Secrets []Secret `yaml:"secrets"`
}

// Seal says how the reasoning is sealed that Responses clients carry from one request to the next. Its keys come from the
// proxy's environment, as HARMONY_SEAL_KEYS=ID:BASE64,…: the first seals, all open.
type Seal struct {
	// Lifetime is how long sealed reasoning opens; 0 is the default.
	Lifetime Duration `yaml:"lifetime"`
	// TenantHeader is the header whose value tells apart those who must not open each other's. Empty: none.
	TenantHeader string `yaml:"tenant_header"`
}

// Envoy says which Envoy to run and how.
type Envoy struct {
	// Path is the program. Empty: it is looked for.
	Path string `yaml:"path"`
	// Concurrency is the number of worker threads, each with a VM of its own; 0 leaves it to Envoy (one per CPU).
	Concurrency int `yaml:"concurrency" jsonschema:"minimum=0,maximum=1024"`
	// MaxHeap is how much memory Envoy may have in use itself, the filter's VMs aside. As it fills, new requests are refused,
	// and then the largest streams of HTTP/2 are cut.
	MaxHeap Size `yaml:"max_heap"`
	// MaxConnections is how many connections of clients there may be at once; those beyond it are closed.
	MaxConnections int `yaml:"max_connections" jsonschema:"minimum=1,maximum=1000000"`
}

// Model is one Harmony model and the servers that have it loaded.
type Model struct {
	// Name is what clients ask for.
	Name string `yaml:"name"`
	// Pool is the name of the pool of the model's inference servers.
	Pool string `yaml:"pool"`
	// Dialect is what the servers speak. Empty: vllm.
	Dialect string `yaml:"dialect" jsonschema:"enum=vllm"`
	// Servers are the model's inference servers in place of a pool, each as DIALECT=URL, all of one dialect:
	// vllm=http://10.0.0.7:8000.
	Servers []string `yaml:"servers"`
	// ServerModel is the name that the servers know the model by. Empty: Name.
	ServerModel string `yaml:"server_model"`
	// ContextLength is the model's whole context in tokens; 0 is the default.
	ContextLength int `yaml:"context_length"`
	// MaxReasoningTokens limits the reasoning of every answer; 0 is no limit. A client can only ask for less.
	MaxReasoningTokens int `yaml:"max_reasoning_tokens"`
	// ThinkingTokenBudget says that the servers know thinking_token_budget and hold the limit themselves.
	ThinkingTokenBudget bool `yaml:"thinking_token_budget"`
	// DrainTokens is how many tokens more a server may generate for a Chat stream that has ended before it, at a stop
	// sequence or at the limit on reasoning. Behind them the stream is cut, which clients that read on take for an error.
	// Absent: the filter's default.
	DrainTokens *int `yaml:"drain_tokens"`
	// StructuredOutputs is "structural_tag" or "none": how the servers are made to keep to a form of the answer. Empty:
	// structural_tag.
	StructuredOutputs string `yaml:"structured_outputs" jsonschema:"enum=structural_tag,enum=none"`
	// ForwardAuthorization sends clients' authorization header on to the servers, which otherwise do not see it.
	ForwardAuthorization bool `yaml:"forward_authorization"`
	// RawPrompts is "deny" or "allow": whether clients may send prompts of their own making. Empty: deny.
	RawPrompts string `yaml:"raw_prompts" jsonschema:"enum=deny,enum=allow"`
	// ReasoningEfforts says what becomes of the efforts that the API has and gpt-oss has not.
	ReasoningEfforts Efforts `yaml:"reasoning_efforts"`
	// DropCommentaryFromHistory leaves what the assistant once said on the way to a call out of the prompt.
	DropCommentaryFromHistory bool `yaml:"drop_commentary_from_history"`
	// UnsupportedContent is "refuse" or "drop": what becomes of images, files and sound in a request. Empty: refuse.
	UnsupportedContent string `yaml:"unsupported_content" jsonschema:"enum=refuse,enum=drop"`
	// ServerExtras are the servers' own parameters that clients may use. Absent: the default ones; empty: none.
	ServerExtras []string `yaml:"server_extras"`
	Answers      Answers  `yaml:"answers"`
	System       System   `yaml:"system"`
}

// System is what the model's system message says. A field that is absent has the default of gpt-oss; an Identity or
// KnowledgeCutoff that is there and empty is left out of the message.
type System struct {
	Identity        *string `yaml:"identity"`
	KnowledgeCutoff *string `yaml:"knowledge_cutoff"`
	// Date is "utc", "omit" or a day as YYYY-MM-DD.
	Date string `yaml:"date"`
	// Effort is "low", "medium" or "high".
	Effort string `yaml:"effort" jsonschema:"enum=low,enum=medium,enum=high"`
}

// The defaults that are not the filter's own.
const (
	DefaultListen = "127.0.0.1:8080"
	DefaultAdmin  = "127.0.0.1:0"
	// DefaultBodyLimit is in bytes. 131,072 tokens of text are 0.5 to 1.5 MB of JSON; the rest is room for what the model is
	// not shown, such as past reasoning and images. No body of this size holds a worker for longer than 100 ms (make soak). The
	// filter's own default is larger, because filters that are older than this one have it.
	DefaultBodyLimit = 4 << 20
	// DefaultRequestTimeout lets the largest body of the default size come at a megabit a second.
	DefaultRequestTimeout = 2 * time.Minute
	DefaultMaxHeap        = 2 << 30
	DefaultMaxConnections = 10_000
)

// DefaultPassthroughPaths are the paths that reach the passthrough server when nothing else is said: the API. A
// server's /metrics, /flush_cache or /abort_requests is nobody's business outside.
func DefaultPassthroughPaths() []string {
	return []string{contract.APIPrefix, contract.TokenizePath, contract.DetokenizePath}
}

// Default is a configuration with every default in place and no model.
func Default() *Config {
	return &Config{
		Listen: DefaultListen, Admin: DefaultAdmin, Mode: filterconfig.ModeFull,
		BodyLimit:        DefaultBodyLimit,
		MemoryLimit:      filterconfig.DefaultMemoryLimit,
		StallTimeout:     Duration(filterconfig.DefaultStallTimeoutMS * time.Millisecond),
		PassthroughPaths: DefaultPassthroughPaths(),
		RequestTimeout:   Duration(DefaultRequestTimeout),
		Envoy:            Envoy{MaxHeap: DefaultMaxHeap, MaxConnections: DefaultMaxConnections},

		ReasoningRatioAlert: filterconfig.DefaultReasoningAlert,
		HostedTools:         filterconfig.HostedToolsIgnore,
	}
}

// PassesThrough reports whether requests for a path reach the passthrough server when the filter does not claim them.
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

// Filter is the part of c that the filter reads. It wants a configuration that Validate accepts.
func (c *Config) Filter() *filterconfig.Config {
	f := &filterconfig.Config{
		Schema: filterconfig.Schema, Mode: c.Mode, Passthrough: c.Passthrough != "", BodyLimit: int(c.BodyLimit),
		MemoryLimit:    int(c.MemoryLimit),
		StallTimeoutMS: int(time.Duration(c.StallTimeout).Milliseconds()),

		ReasoningRatioAlert: c.ReasoningRatioAlert,
		Seal:                filterconfig.Seal{LifetimeS: filterconfig.DefaultSealLifetimeS, TenantHeader: strings.ToLower(c.Seal.TenantHeader)},
		ResponsesService:    c.ResponsesService.filter(), HostedTools: c.HostedTools,
	}
	if d := time.Duration(c.Seal.Lifetime); d > 0 {
		f.Seal.LifetimeS = int(d.Seconds())
	}
	for i := range c.Models {
		f.Models = append(f.Models, c.Models[i].filter())
	}
	return f
}

func (m *Model) filter() filterconfig.Model {
	f := filterconfig.DefaultModel(m.Name)
	f.Pool = m.Route()
	if m.Dialect != "" {
		f.Server = m.Dialect
	} else if len(m.Servers) > 0 {
		if s, err := ParseServer(m.Servers[0]); err == nil {
			f.Server = s.Kind
		}
	}
	if m.ServerModel != "" {
		f.ServerModel = m.ServerModel
	}
	if m.ContextLength != 0 {
		f.ContextLength = m.ContextLength
	}
	f.MaxReasoningTokens, f.ThinkingTokenBudget = m.MaxReasoningTokens, m.ThinkingTokenBudget
	if m.DrainTokens != nil {
		f.DrainTokens = *m.DrainTokens
	}
	if m.StructuredOutputs != "" {
		f.StructuredOutputs = m.StructuredOutputs
	}
	if m.RawPrompts != "" {
		f.RawPrompts = m.RawPrompts
	}
	m.fillRequests(&f)
	m.Answers.fill(&f.Answers)
	if m.System.Identity != nil {
		f.System.Identity = *m.System.Identity
	}
	if m.System.KnowledgeCutoff != nil {
		f.System.KnowledgeCutoff = *m.System.KnowledgeCutoff
	}
	if m.System.Date != "" {
		f.System.Date = m.System.Date
	}
	if m.System.Effort != "" {
		f.System.Effort = m.System.Effort
	}
	return f
}

// Route is the value of the internal header that leads to the model's servers.
func (m *Model) Route() string { return m.Name }
