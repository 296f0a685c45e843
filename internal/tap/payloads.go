package tap

// The header and the path with which frames are sent: POST [Path] with the key in [KeyHeader] and the VM's number, in
// hexadecimal digits, in [VMHeader]. The body is frames.
const (
	// KeyHeader is also the header of a client that wants its request tapped. Its value is the key.
	KeyHeader = "x-harmony-tap"
	VMHeader  = "x-harmony-tap-vm"
	Path      = "/tap"
	// MediaType is the type of a body of frames.
	MediaType = "application/vnd.harmony-edge.tap"
)

// RequestHead is the payload of a [Request] frame. No header of the client is in it but its request id.
type RequestHead struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	RequestID string `json:"request_id,omitempty"`
}

// SentHead is the payload of a [Sent] frame.
type SentHead struct {
	Path string `json:"path,omitempty"`
	Pool string `json:"pool,omitempty"`
	// API is the client's: "chat", "responses" or "messages". Model is the configured model.
	API   string `json:"api,omitempty"`
	Model string `json:"model,omitempty"`
	// Server is the kind of the servers, and Speaks what their model writes (contract.ModelSettings.Speaks).
	Server string `json:"server,omitempty"`
	Speaks string `json:"speaks,omitempty"`
	// Translated reports whether the gateway reads the answer.
	Translated bool `json:"translated"`
}

// ResponseHead is the payload of a [Head] or [AnswerHead] frame.
type ResponseHead struct {
	Status      int    `json:"status"`
	ContentType string `json:"content_type,omitempty"`
	// Local reports whether a proxy or the gateway made the response, without a server.
	Local bool `json:"local,omitempty"`
}

// Around is what a proxy knows of a request beside the gateway.
type Around struct {
	// Upstream is the address of the server that was asked last.
	Upstream string `json:"upstream,omitempty"`
	// Class is the request's class in the queue of a pool, and QueuedMS how many milliseconds it has waited there. A
	// request that was in no queue has no class.
	Class    string `json:"class,omitempty"`
	QueuedMS int64  `json:"queued_ms,omitempty"`
}

// EndReport is the payload of an [End] frame: the fields of the access log, and what the sender had no room for.
type EndReport struct {
	API    string `json:"api,omitempty"`
	Model  string `json:"model,omitempty"`
	Server string `json:"server,omitempty"`
	Pool   string `json:"pool,omitempty"`
	Policy string `json:"policy,omitempty"`
	// Route is the pool that was chosen among several of the model's, and why. Client is the client's name.
	Route  string `json:"route,omitempty"`
	Client string `json:"client,omitempty"`
	Around
	Status          int    `json:"status,omitempty"`
	Finish          string `json:"finish,omitempty"`
	Cut             string `json:"cut,omitempty"`
	EarlyEnd        string `json:"early_end,omitempty"`
	PromptTokens    int    `json:"prompt_tokens,omitempty"`
	CachedTokens    int    `json:"cached_tokens,omitempty"`
	ReasoningTokens int    `json:"reasoning_tokens,omitempty"`
	PreambleTokens  int    `json:"preamble_tokens,omitempty"`
	FinalTokens     int    `json:"final_tokens,omitempty"`
	ToolCallTokens  int    `json:"tool_call_tokens,omitempty"`
	// CompletionTokens counts all that the server generated, control tokens included.
	CompletionTokens int `json:"completion_tokens,omitempty"`
	// FirstTokenMS is the time from the whole request to the first token, in milliseconds, or -1 if none came.
	FirstTokenMS int64             `json:"first_token_ms"`
	Recoveries   map[string]uint64 `json:"recoveries,omitempty"`
	// LostFrames is how many frames of the request were lost: the sender had no room for them, or the recorder did not
	// take them.
	LostFrames int `json:"lost_frames,omitempty"`
}
