package contract

// The internal headers carry what the filter decided to the proxy's routes. A Harmony server is reachable only by a
// route that wants [PoolHeader] (RATIONALE.md#77), so no such header is taken from a client: the proxy and the filter
// both remove them.
const (
	// InternalHeaderPrefix begins the name of every internal header.
	InternalHeaderPrefix = "x-harmony-internal-"
	// PoolHeader carries the pool that a request was translated for.
	PoolHeader = InternalHeaderPrefix + "pool"
)

// The headers that clients may send.
const (
	// StrictHeader, set to 1, makes the answer end at the first thing that the reference implementation would refuse.
	StrictHeader = "x-harmony-strict"
	// EventsHeader chooses the form of a stream of Chat Completions: [EventsChunks] or [EventsChannels].
	EventsHeader = "x-harmony-events"
)

// The paths of the API. Those of [APIPrefix] that stand here are the gateway's own in every configuration.
const (
	APIPrefix         = "/v1/"
	ChatPath          = APIPrefix + "chat/completions"
	ResponsesPath     = APIPrefix + "responses"
	InputTokensPath   = ResponsesPath + "/input_tokens"
	CompletionsPath   = APIPrefix + "completions"
	ModelsPath        = APIPrefix + "models"
	ConversationsPath = APIPrefix + "conversations"
	TokenizePath      = "/tokenize"
	DetokenizePath    = "/detokenize"
)

// The paths at which inference servers of other kinds take prompts.
const (
	GeneratePath          = "/generate"
	CompletionPath        = "/completion"
	InferenceGeneratePath = "/inference/v1/generate"
)

// VLLM is the kind of server that speaks vLLM's API in token ids.
const VLLM = "vllm"

// ServerKinds returns the kinds of inference servers that the filter speaks to.
func ServerKinds() []string { return []string{VLLM} }
