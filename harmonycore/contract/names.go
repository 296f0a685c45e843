package contract

// The internal headers carry the filter's decisions to the proxy's routes. Only a route that requires [PoolHeader]
// leads to a model's server (RATIONALE.md#77). So no internal header is accepted from a client: the proxy and the
// filter both remove them.
const (
	// InternalHeaderPrefix begins the name of every internal header.
	InternalHeaderPrefix = "x-harmony-internal-"
	// PoolHeader carries the pool for which a request was translated, or the [UntranslatedRoute] to it.
	PoolHeader = InternalHeaderPrefix + "pool"
)

// The headers that clients may send.
const (
	// StrictHeader, set to 1, ends the answer at the first error that the reference implementation would report.
	StrictHeader = "x-harmony-strict"
	// EventsHeader chooses the form of a stream of Chat Completions: [EventsChunks] or [EventsChannels].
	EventsHeader = "x-harmony-events"
	// ServiceHeader, set to [ServiceDeclined], keeps a request from the responses service. The service's own requests
	// have it, so they cannot come back. A client that sends it gets what the gateway can do without the service.
	ServiceHeader   = "x-harmony-responses-service"
	ServiceDeclined = "decline"
)

// The paths of the API. Those that begin with [APIPrefix] are the gateway's own in every configuration.
const (
	APIPrefix         = "/v1/"
	ChatPath          = APIPrefix + "chat/completions"
	ResponsesPath     = APIPrefix + "responses"
	InputTokensPath   = ResponsesPath + "/input_tokens"
	CompactPath       = ResponsesPath + "/compact"
	CompletionsPath   = APIPrefix + "completions"
	ModelsPath        = APIPrefix + "models"
	ConversationsPath = APIPrefix + "conversations"
	TokenizePath      = "/tokenize"
	DetokenizePath    = "/detokenize"
)

// The paths on which other kinds of inference servers take prompts.
const (
	GeneratePath          = "/generate"
	CompletionPath        = "/completion"
	InferenceGeneratePath = "/inference/v1/generate"
)
