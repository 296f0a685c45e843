package contract

import "strings"

// The internal headers carry the filter's decisions to the proxy's routes. Only a route that requires [PoolHeader]
// leads to a model's server (RATIONALE.md#77). So no internal header is accepted from a client: the proxy and the
// filter both remove them.
const (
	// InternalHeaderPrefix begins the name of every internal header.
	InternalHeaderPrefix = "x-harmony-internal-"
	// PoolHeader carries the pool for which a request was translated, or the [UntranslatedRoute] to it.
	PoolHeader = InternalHeaderPrefix + "pool"
	// AffinityHeader carries what requests have in common that should reach the same server, as 16 hexadecimal digits.
	AffinityHeader = InternalHeaderPrefix + "affinity"
	// BlocksHeader carries the hashes of the prompt's blocks of ids for a picker, each as 16 hexadecimal digits, in the
	// prompt's order and with commas between them.
	BlocksHeader = InternalHeaderPrefix + "blocks"
	// ClientHeader carries the name of the client whose key the request had.
	ClientHeader = InternalHeaderPrefix + "client"
	// ModelHeader carries the name of the request's model in the configuration.
	ModelHeader = InternalHeaderPrefix + "model"
	// ReservationHeader carries the name of the request's reservation of tokens, and ReserveHeader how many it reserves.
	ReservationHeader = InternalHeaderPrefix + "reservation"
	ReserveHeader     = InternalHeaderPrefix + "reserve"
	// CostHeader carries what a request costs a server, for a queue: how many tokens the prompt has, how many may be
	// answered, how many bytes the client's body has, and the client's name, with spaces between them. The name is empty
	// where clients are not told apart.
	CostHeader = InternalHeaderPrefix + "cost"
	// DestinationHeader carries the addresses of the servers that a picker has chosen, the first one first, as host:port
	// with commas between them. Its name comes from the Inference Extension's endpoint picker protocol.
	DestinationHeader = "x-gateway-destination-endpoint"
)

// InternalHeaders returns the names of all internal headers. Servers do not get them.
func InternalHeaders() []string {
	return []string{PoolHeader, AffinityHeader, BlocksHeader, ClientHeader, ModelHeader, ReservationHeader, ReserveHeader,
		CostHeader, DestinationHeader}
}

// IsInternalHeader reports whether a header, in lower case, is one that only the filter and the proxy may set.
func IsInternalHeader(name string) bool {
	return strings.HasPrefix(name, InternalHeaderPrefix) || name == DestinationHeader
}

// The details of the proxy's replies to requests that a queue has refused: QueueFull begins them if there was no room
// for the request, or not in time, and QueueUnserved is for a pool that had no server for too long.
const (
	QueueFull     = "harmony_queue_full"
	QueueShare    = QueueFull + "_client"
	QueueLate     = QueueFull + "_deadline"
	QueueUnserved = "harmony_queue_no_server"
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

// StoreHeader is [ClearStore] in the answer at [ServiceReadyPath] of a responses service whose store is not encrypted.
const (
	StoreHeader = "x-harmony-store"
	ClearStore  = "clear"
)

// RelayHeader is the header of a request of the responses service's own whose answer another server may have to finish
// (package internal/handover). Only one that is sealed with the gateway's keys counts.
const RelayHeader = "x-harmony-relay"

// RouteHeader is a header of answers of models with a route: the pool to which the request was sent, and why.
const RouteHeader = "x-harmony-route"

// PickerNamespace is the namespace of a stream's metadata in which a picker says how many milliseconds the request has
// waited in the pool's queue, and in which class.
const (
	PickerNamespace = "harmony.picker"
	QueuedKey       = "queued_ms"
	ClassKey        = "class"
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
	MessagesPath      = APIPrefix + "messages"
	CountTokensPath   = MessagesPath + "/count_tokens"
	TokenizePath      = "/tokenize"
	// RenderPath is where a vLLM renders a conversation.
	RenderPath = ChatPath + "/render"
	// ServiceReadyPath is where the responses service answers whether its store does. No route leads there.
	ServiceReadyPath  = "/ready"
	DetokenizePath    = "/detokenize"
	TokenizerInfoPath = "/tokenizer_info"
)

// The paths on which other kinds of inference servers take prompts.
const (
	GeneratePath          = "/generate"
	CompletionPath        = "/completion"
	InferenceGeneratePath = "/inference/v1/generate"
)

// OllamaChatPath is where Ollama takes a conversation in its own form.
const OllamaChatPath = "/api/chat"
