package server

import (
	"log/slog"
	"time"

	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// AllTokens puts the whole answer into one chunk, as the value of [Options.TokensPerChunk].
const AllTokens = -1

// The defaults of [Options].
const (
	DefaultModel       = "gpt-oss-120b"
	DefaultMaxModelLen = 131072
	DefaultKeep        = 1000
)

// The front ends of vLLM. They differ in what they refuse, and in the form of their streams.
const (
	PythonFrontEnd = "python"
	RustFrontEnd   = "rust"
)

// Options are the settings of a [Server]. The zero Options is a fast server of [DefaultModel].
type Options struct {
	// Models are the served names. As in vLLM, all of them are one model, and answers carry the first name.
	Models []string
	// MaxModelLen is the context length in tokens. 0 is [DefaultMaxModelLen].
	MaxModelLen int
	// APIKey, if set, is required as a bearer token on the paths under /v1.
	APIKey string

	// Kind is the kind of server, one of [sim.Kinds]. Empty is [sim.VLLM].
	Kind string
	// FrontEnd is [PythonFrontEnd] or [RustFrontEnd], for [sim.VLLM]. Empty is Python's.
	FrontEnd string
	// IncrementalStreaming sends only new tokens in each event of [sim.SGLang], as it does with
	// --incremental-streaming-output. Otherwise an event repeats all earlier ones.
	IncrementalStreaming bool

	// HoldAfter makes streams wait after so many tokens, until [Server.Release]. 0 does not.
	HoldAfter int
	// TokensPerSecond paces the answer, until [Server.Release]. 0 is as fast as possible.
	TokensPerSecond float64
	// TimeToFirstToken is the wait before the first token. The headers of a stream are sent before it, as vLLM does.
	TimeToFirstToken time.Duration
	// TokensPerChunk is how many ids one event holds. 0 is 1.
	TokensPerChunk int
	// MaxRunning is how many requests generate at once. The others wait. 0 is no limit, and in an engine with
	// CacheBlocks vLLM's.
	MaxRunning int
	// KVCacheTokens is the capacity of the cache, in tokens. 0 is eight contexts, and for [sim.LlamaCPP] one.
	KVCacheTokens int
	// BlockSize is the size of the cache's blocks, in tokens. 0 is vLLM's, and for [sim.LlamaCPP], which compares token by
	// token, 1.
	BlockSize int

	// CacheBlocks makes the server compute its requests in batches, as vLLM's engine does, with a cache of so many blocks
	// for all of them: see package batch. Their time is then the time of the batch's steps, and TokensPerSecond and
	// TimeToFirstToken do not count. 0 does not. It is not for servers with a Role.
	CacheBlocks int
	// A step of the engine takes StepTime, and in addition the time of its tokens: PrefillRate is how many tokens of
	// prompts that are not in the cache it computes a second, and DecodeRate how many tokens of all answers. 0 takes no
	// time.
	StepTime                time.Duration
	PrefillRate, DecodeRate float64

	// CutBytes flushes a stream in pieces of so many bytes, whatever its events. 0 flushes whole events.
	CutBytes int
	// CutAt flushes a stream at these offsets and at its end, in rising order. It takes precedence over CutBytes.
	CutAt []int
	// CutPause is the wait after each piece, for readers that would otherwise see two pieces as one.
	CutPause time.Duration

	// PromptTokensDetails reports cached_tokens in usage, as vLLM does with --enable-prompt-tokens-details, and
	// SGLang's /v1/completions with --enable-cache-report.
	PromptTokensDetails bool
	// ReasoningConfig supports thinking_token_budget, as vLLM does with --reasoning-config, and max_thinking_tokens, as
	// SGLang does with --enable-strict-thinking. Without it such a request is answered 400.
	ReasoningConfig bool
	// AnyPrompt also answers prompts that are not well-formed Harmony, instead of 400.
	AnyPrompt bool
	// TextSpecials reads the spellings of special tokens in a text prompt as those tokens, as a real vLLM does with
	// this vocabulary. Without it text is only text. Servers of the kind [sim.Text] always read them.
	TextSpecials bool
	// PrintSpecials spells special tokens in the answers of [sim.Text] and [sim.Ollama], and holds back only text with
	// which a stop string begins, as llama.cpp does. Without it they are hidden, as vLLM does by default
	// (skip_special_tokens).
	PrintSpecials bool

	// OtherVocabulary makes /tokenize answer with the ids of another vocabulary, as a server with another model does. In
	// it each byte is a token. Completions do not change.
	OtherVocabulary bool

	// The options of [sim.Chat]. ChatForm is where the reasoning of an answer is, one of [openai.ChatForms]. Empty is the
	// first.
	ChatForm string
	// ChatMarker is the marker of the form [openai.ChatMarker]. Empty is [openai.DefaultMarker].
	ChatMarker string
	// APIPath stands in place of /v1 in the server's paths, for a hosted API such as /openai/v1. Empty is /v1.
	APIPath string
	// OpenAIOnly refuses members that OpenAI's API does not have, and conversations that it refuses: results without their
	// calls, calls without results, names with other characters.
	OpenAIOnly bool
	// ForgetReasoning makes the template of the kind chat leave out the reasoning of all turns before the last user's
	// message, as Qwen's and gpt-oss's templates do.
	ForgetReasoning bool
	// NoDeveloper is a chat template without the role developer.
	NoDeveloper bool
	// TextOnly is a model that takes no images, sound and files.
	TextOnly bool
	// ChatWhole answers requests for a stream with one object.
	ChatWhole bool
	// NoUsage sends no usage.
	NoUsage bool
	// OneCall ends an answer after its first call, as gpt-oss itself does. Without it a script may have several calls.
	OneCall bool

	// Role is [RolePrefill] or [RoleDecode], for kinds of vLLM and SGLang. Empty does all the work.
	Role string
	// TransferListen is where a server of [RolePrefill] hands over what it has read: the side channel of vLLM's connector,
	// and SGLang's --disaggregation-bootstrap-port. Empty is a free port on loopback.
	TransferListen string
	// TransferTimeout is how long a server waits for the other one, or keeps what it has read. 0 is
	// [DefaultTransferTimeout].
	TransferTimeout time.Duration

	// Fault applies to every completion, unless a script line has its own.
	Fault Fault
	// AllowHeaders lets the request header x-sim-fault name a fault for its request. It takes precedence over the others.
	AllowHeaders bool
	// Script is used before the built-in model.
	Script *Script

	// Keep is how many of the last requests [Server.Requests] returns. 0 is DefaultKeep. A negative number keeps none.
	Keep int
	// Log gets one line for each request, without text of any message. If it is nil, nothing is logged.
	Log *slog.Logger
}

func (o Options) withDefaults(kind Protocol) Options {
	if len(o.Models) == 0 {
		o.Models = []string{DefaultModel}
	}
	if o.MaxModelLen <= 0 {
		o.MaxModelLen = DefaultMaxModelLen
	}
	kind.Defaults(&o)
	if o.TokensPerChunk == 0 {
		o.TokensPerChunk = 1
	}
	if o.BlockSize <= 0 {
		o.BlockSize = batch.DefaultBlockSize
	}
	if o.CacheBlocks > 0 {
		o.KVCacheTokens = (o.CacheBlocks - 1) * o.BlockSize
		o.MaxModelLen = min(o.MaxModelLen, o.KVCacheTokens) // a request must fit, as vLLM with --max-model-len auto
	}
	if o.KVCacheTokens <= 0 {
		o.KVCacheTokens = 8 * o.MaxModelLen
	}
	if o.TransferListen == "" {
		o.TransferListen = "127.0.0.1:0"
	}
	if o.TransferTimeout <= 0 {
		o.TransferTimeout = DefaultTransferTimeout
	}
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
