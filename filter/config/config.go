package config

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// Schema is the version of the configuration written here. A reader refuses any other.
const Schema = 1

// Config is the whole configuration of one filter instance.
type Config struct {
	Schema int
	// Mode is ModeFull or ModeReduced: whether the filter's proxy lets it hold headers.
	Mode string
	// Passthrough says that requests for models not listed here have somewhere to go. Without it they are answered
	// 404 model_not_found.
	Passthrough bool
	// BodyLimit is the largest request body accepted on the translated paths, in bytes.
	BodyLimit int
	// StallTimeoutMS is how long a server may be silent before its request is given up, in milliseconds; 0 is for ever.
	StallTimeoutMS int
	// MemoryLimit is how much of its heap a VM may have in use before it refuses new requests, in bytes.
	MemoryLimit int
	// ReasoningRatioAlert is the part of an answer's tokens above which its reasoning is counted as too much, 0 to 1.
	ReasoningRatioAlert float64
	// Seal says how reasoning is sealed. Its keys are no configuration, which everyone may read who may ask the proxy for
	// it: see SealKeysVariable.
	Seal Seal
	// ResponsesService takes what the filter does not do by itself, and HostedTools is HostedToolsIgnore or HostedToolsRefuse.
	ResponsesService ResponsesService
	HostedTools      string
	Models           []Model
}

// Model is one Harmony model.
type Model struct {
	// Name is what clients ask for.
	Name string
	// Pool is the value of the internal header that routes to the model's servers.
	Pool string
	// Server is the kind of inference server, which decides path and wire format: "vllm".
	Server string
	// ServerModel is the name that the servers know the model by.
	ServerModel string
	// ContextLength is the model's whole context, in tokens.
	ContextLength int
	// MaxReasoningTokens limits the reasoning of every answer, in tokens; 0 is no limit.
	MaxReasoningTokens int
	// ThinkingTokenBudget says that the servers can hold a limit on reasoning themselves.
	ThinkingTokenBudget bool
	// DrainTokens is how many tokens more a server may generate for a stream that has ended before it.
	DrainTokens int
	// StructuredOutputs is StructuralTags or NoStructure: how the servers are made to keep to a form of the answer.
	StructuredOutputs string
	// RawPrompts is "deny" or "allow": whether clients may send prompts of their own making.
	RawPrompts string
	// ReasoningEfforts says what becomes of the efforts that the API has and gpt-oss has not.
	ReasoningEfforts Efforts
	// DropCommentaryFromHistory leaves what the assistant once said on the way to a call out of the prompt.
	DropCommentaryFromHistory bool
	// UnsupportedContent is ContentRefuse or ContentDrop: what becomes of images, files and sound in a request.
	UnsupportedContent string
	// ServerExtras are the servers' own parameters that clients may use, out of KnownExtras.
	ServerExtras []string
	Answers      Answers
	System       System
}

// System is what the system message of a model says.
type System struct {
	// Identity and KnowledgeCutoff are left out of the message when empty.
	Identity        string
	KnowledgeCutoff string
	// Date is DateUTC, DateOmit, or a fixed day as YYYY-MM-DD.
	Date string
	// Effort is "low", "medium" or "high": the reasoning effort of requests that name none.
	Effort string
}

// The settings of Mode. A proxy that is not set to let headers be held makes a filter that tries so hang for good, so
// the mode cannot be found out, and is configured (docs/modes.md). ModeReduced wants exactly one model.
const (
	ModeFull    = "full"
	ModeReduced = "reduced"
)

// The settings of Model.StructuredOutputs: xgrammar's structural tags, which hold from an answer's first token on, or
// nothing, for servers that cannot do that.
const (
	StructuralTags = "structural_tag"
	NoStructure    = "none"
)

// The settings of System.Date that are no day: the UTC day of the host's clock, or no date at all.
const (
	DateUTC  = "utc"
	DateOmit = "omit"
)

// The largest settings, in bytes and in tokens: what a request may take of a VM's memory. Envoy gives a VM 1 GiB; TinyGo
// doubles its heap or fails, so a heap ends between a half and the whole of that, and garbage needs room in it too.
const (
	MaxBodyLimit     = 64 << 20
	MaxContextLength = 4 << 20
	MaxMemoryLimit   = 448 << 20
)

// LeastMemoryLimit is the least memory limit with which a VM can take every request of at most bodyLimit bytes, both in bytes:
// the vocabulary and some streams, the body where it lies, and what reading it may take. A test in filter/gateway holds it
// against the core.
func LeastMemoryLimit(bodyLimit int) int {
	const vocabularyAndStreams, perByte, perToolByte, tools, perValue, values = 24 << 20, 4, 10, 2 << 20, 512, 1 << 17
	return vocabularyAndStreams + perByte*bodyLimit + perToolByte*min(bodyLimit, tools) + perValue*min(bodyLimit, values)
}

// The defaults of gpt-oss and of this project.
const (
	DefaultIdentity        = "You are ChatGPT, a large language model trained by OpenAI."
	DefaultKnowledgeCutoff = "2024-06"
	DefaultEffort          = "medium"
	DefaultContextLength   = 131072
	DefaultDrainTokens     = 4096
	DefaultBodyLimit       = 16 << 20
	DefaultStallTimeoutMS  = 300_000
	DefaultMemoryLimit     = 256 << 20
	DefaultReasoningAlert  = 0.9
)

// defaults is a configuration that says nothing.
func defaults() *Config {
	return &Config{
		Mode: ModeFull, BodyLimit: DefaultBodyLimit, StallTimeoutMS: DefaultStallTimeoutMS, MemoryLimit: DefaultMemoryLimit,
		ReasoningRatioAlert: DefaultReasoningAlert, Seal: Seal{LifetimeS: DefaultSealLifetimeS}, HostedTools: HostedToolsIgnore,
	}
}

// DefaultModel is a model called name with every default in place.
func DefaultModel(name string) Model {
	return Model{
		Name: name, Pool: name, Server: contract.VLLM, ServerModel: name,
		ContextLength: DefaultContextLength, DrainTokens: DefaultDrainTokens, StructuredOutputs: StructuralTags, RawPrompts: "deny", Answers: DefaultAnswers(),
		ReasoningEfforts: DefaultEfforts(), UnsupportedContent: ContentRefuse, ServerExtras: DefaultExtras(),
		System: System{
			Identity: DefaultIdentity, KnowledgeCutoff: DefaultKnowledgeCutoff,
			Date: DateUTC, Effort: DefaultEffort,
		},
	}
}
