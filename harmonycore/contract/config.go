package contract

import "strings"

// Schema is the version of the filter's JSON. A reader refuses any other version.
const Schema = 1

// Config is the whole configuration of one filter instance.
type Config struct {
	Schema int
	// Mode is [ModeFull] or [ModeReduced]: whether the proxy lets the filter hold headers.
	Mode string
	// Passthrough reports whether requests for other models are sent to another server. Without it they are answered 404
	// model_not_found.
	Passthrough bool
	// BodyLimit is the largest request body accepted on the translated paths, in bytes.
	BodyLimit int
	// StallTimeoutMS is how long a server may be silent before its request is given up, in milliseconds. 0 waits for ever.
	StallTimeoutMS int
	// MemoryLimit is how much of its heap a VM may have in use before it refuses new requests, in bytes.
	MemoryLimit int
	// PrefixMemory is how much memory a VM may take for the beginnings of requests, in bytes. 0 is none.
	PrefixMemory int
	// CacheReasons is how much memory a VM may take to say why servers' caches were missed, in bytes. 0 is none.
	CacheReasons int
	// ReasoningRatioAlert is the share of reasoning in an answer's tokens, from 0 to 1, above which the answer is counted.
	ReasoningRatioAlert float64
	// Seal determines how reasoning is sealed. The keys are not in the configuration, since the proxy shows the
	// configuration to its administrators: see [SealKeysVariable].
	Seal Seal
	// ResponsesService takes the requests that the filter does not handle itself.
	ResponsesService ResponsesService
	// Tap determines where the filter's view of tapped requests goes.
	Tap Tap
	// Clients determines how clients are told apart.
	Clients Clients
	// Tracing reports whether the proxy makes spans. The filter then describes requests for them.
	Tracing bool
	Settings
	Models []Model
}

// Settings are the settings outside the models that an operator's file and the filter's JSON share.
type Settings struct {
	// HostedTools is "ignore" or "refuse": what happens to hosted tools that no service runs.
	HostedTools string `yaml:"hosted_tools"`
	// AccessLogClientKey adds an id of the client's key to the access log: a hash of its bearer token or api-key, never
	// the key.
	AccessLogClientKey bool `yaml:"access_log_client_key"`
}

// Seal determines how the reasoning is sealed that clients of the Responses API carry from one request to the next.
type Seal struct {
	// LifetimeS is how long a sealed text can be opened, in seconds.
	LifetimeS int
	// TenantHeader is the name, in lower case, of the header whose value separates tenants: one tenant cannot open
	// another's reasoning. Empty: none.
	TenantHeader string
}

// ResponsesService is the server for requests of the Responses API that need more than one answer of a model
// (docs/responses-service.md). With the zero value there is none.
type ResponsesService struct {
	// Pool is the value of [PoolHeader] that routes to it. No model may have the same.
	Pool string
	// Stores reports whether the service keeps responses and conversations. HostedTools reports whether it runs tools, or
	// has them run.
	Stores, HostedTools bool
	// WebSocket reports whether the service serves the API's WebSocket mode.
	WebSocket bool
	// Messages reports whether the service answers requests of Anthropic's Messages API whose tools a server runs.
	Messages bool
}

// DefaultConfig returns a configuration of the current schema with all defaults and no model.
func DefaultConfig() *Config {
	c := &Config{Schema: Schema}
	SetDefaults(c.Fields())
	return c
}

// Fields returns the settings between the schema and the models, in the order of the filter's JSON.
func (c *Config) Fields() []Field {
	service := block("responses_service", c.ResponsesService.Fields())
	service.Optional = true
	tap := block("tap", c.Tap.Fields())
	tap.Optional = true
	clients := block("clients", c.Clients.Fields())
	clients.Optional = true
	fields := []Field{
		word("mode", &c.Mode, ModeFull, ModeFull, ModeReduced),
		flag("passthrough", &c.Passthrough, false),
		number("body_limit", &c.BodyLimit, DefaultBodyLimit, 1, MaxBodyLimit),
		number("stall_timeout_ms", &c.StallTimeoutMS, DefaultStallTimeoutMS, 0, 1<<30),
		number("memory_limit", &c.MemoryLimit, DefaultMemoryLimit, 1, MaxMemoryLimit),
		number("prefix_memory", &c.PrefixMemory, DefaultPrefixMemory, 0, MaxPrefixMemory),
		number("cache_reasons", &c.CacheReasons, 0, 0, MaxCacheReasons),
		fraction("reasoning_ratio_alert", &c.ReasoningRatioAlert, DefaultReasoningAlert),
		block("seal", c.Seal.Fields()),
		service, tap, clients,
		flag("tracing", &c.Tracing, false),
	}
	return append(fields, c.Settings.Fields()...)
}

// Fields returns the settings of the block.
func (s *Settings) Fields() []Field {
	return []Field{
		word("hosted_tools", &s.HostedTools, HostedToolsIgnore, HostedToolsIgnore, HostedToolsRefuse),
		flag("access_log_client_key", &s.AccessLogClientKey, false),
	}
}

// Fields returns the settings of the block.
func (s *Seal) Fields() []Field {
	tenant := text("tenant_header", &s.TenantHeader, "")
	tenant.Valid, tenant.Must = isLower, "must be in lower case"
	return []Field{number("lifetime_s", &s.LifetimeS, DefaultSealLifetimeS, 1, MaxSealLifetimeS), tenant}
}

func isLower(s string) bool { return s == strings.ToLower(s) }

// Fields returns the settings of the block. A service without further settings takes everything.
func (s *ResponsesService) Fields() []Field {
	return []Field{
		text("pool", &s.Pool, "").required(),
		flag("stores", &s.Stores, true),
		flag("hosted_tools", &s.HostedTools, true),
		flag("websocket", &s.WebSocket, false),
		flag("messages", &s.Messages, false),
	}
}
