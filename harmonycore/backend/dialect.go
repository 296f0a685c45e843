package backend

// Request is one completion to ask of a server.
type Request struct {
	// Model is the name that the server knows the model by.
	Model string
	// Prompt is the rendered conversation, in token ids.
	Prompt []uint32
	// MaxTokens is the maximum number of tokens to generate. It is always sent: the defaults of servers are tiny.
	MaxTokens int
	// Choices is the number of completions to generate; 0 means one.
	Choices int
	// Logprobs asks for the logprob of each token, and for those of the TopLogprobs likeliest tokens in its place.
	Logprobs    bool
	TopLogprobs int
	// StopTokens end the generation.
	StopTokens []uint32
	Sampling   Sampling
	// ThinkingBudget is the maximum number of reasoning tokens, which the server enforces. Nil is not sent.
	ThinkingBudget *int
	// StructuralTag constrains the answer; a [Tag] writes it. Empty means no constraint.
	StructuralTag []byte
}

// Sampling holds JSON numbers as the client spelled them. An empty field is not sent, so the server's default applies.
type Sampling struct {
	Temperature, TopP, PresencePenalty, FrequencyPenalty, Seed string
	LogitBias                                                  []Bias
	// Extras are the engines' own parameters. They are sent unchanged.
	Extras []Member
}

// Bias is a token and the JSON number that is added to its logit.
type Bias struct {
	Token uint32
	Value string
}

// Member is a member of a JSON object. JSON is its value, as JSON text.
type Member struct{ Name, JSON string }

// Finish is the reason why a server stopped generating.
type Finish uint8

// The values of [Finish]. The zero value means that generation has not ended.
const (
	Running Finish = iota
	// Stopped means that the model generated a stop token.
	Stopped
	// Length means that [Request.MaxTokens] or the end of the context was reached.
	Length
	// Aborted is any other end, such as an abort by the server.
	Aborted
)

// Regular reports whether the answer ended by itself, at a stop token or at its length limit.
func (f Finish) Regular() bool { return f == Stopped || f == Length }

// Usage is the server's own count, in tokens.
type Usage struct {
	Prompt, Cached, Completion int
	// HasCached reports whether the server sent Cached. Many servers send it only if a flag of theirs is set.
	HasCached bool
}

// Event is the content of one event of a server's stream. It concerns one choice, the whole request, or both. The next
// event reuses its slices.
type Event struct {
	// Index is the index of the choice that Tokens, Likely and Finish belong to.
	Index  int
	Tokens []uint32
	// Logprobs holds one logprob for each of Tokens, if [Request.Logprobs] asked for them.
	Logprobs []TokenLogprob
	Finish   Finish
	Usage    Usage
	// HasUsage reports whether the server sent Usage.
	HasUsage bool
	// Done reports whether this is the last event of the stream.
	Done bool
	// Error is the server's error if it sent one instead of a result, else nil.
	Error *Error
}

func (e *Event) reset() {
	*e = Event{Tokens: e.Tokens[:0], Logprobs: e.Logprobs[:0]}
}

// TokenLogprob is the logprob of one token. Its numbers are JSON numbers as the server spelled them. They lie in the
// event's memory.
type TokenLogprob struct {
	Logprob []byte
	// Top holds the likeliest tokens in this place, in any order. The token itself may be among them.
	Top []Alternative
}

// Alternative is a token that the model could have generated instead, and its logprob.
type Alternative struct {
	ID      uint32
	Logprob []byte
}

// Error is a server's error. A field that the server did not send is empty.
type Error struct {
	// Status is an HTTP status, or 0 if the error came without one.
	Status  int
	Message string
	Type    string
	Code    string
	Param   string
}

// Cause is the reason for a server's error, where the gateway has an error message of its own for it.
type Cause uint8

// The values of [Cause]. The zero value is every other reason.
const (
	OtherCause Cause = iota
	// ContextExceeded means that the prompt, alone or with the answer, does not fit into the model's context.
	ContextExceeded
	// ChoicesRefused means that the server does not generate this number of choices in one request.
	ChoicesRefused
)

// Dialect is one kind of inference server.
type Dialect interface {
	// Kind returns the dialect's name in configurations, errors and logs.
	Kind() string
	// Path returns the HTTP path to which completion requests are sent.
	Path() string
	// AppendRequest appends the body of a request for a streamed completion.
	AppendRequest(dst []byte, r *Request) []byte
	// ReadEvent reads the data of one server-sent event into e. It reports whether it understood the data.
	ReadEvent(data []byte, e *Event) bool
	// Cause classifies an error that the server sent.
	Cause(e *Error) Cause
}

// Named returns the dialect of a kind of server, by the name that configurations use. It reports whether there is one.
func Named(kind string) (Dialect, bool) {
	if d := (vllm{}); kind == d.Kind() {
		return d, true
	}
	return nil, false
}
