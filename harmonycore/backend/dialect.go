package backend

// Request is one completion to ask of a server.
type Request struct {
	// Model is the name that the server knows the model by.
	Model string
	// Prompt is the rendered conversation, in token ids.
	Prompt []uint32
	// MaxTokens is the most tokens to generate; it is always sent, because servers' defaults are tiny.
	MaxTokens int
	// Choices is how many completions to generate; 0 is one.
	Choices int
	// Logprobs asks how likely every token was, and which TopLogprobs others were most likely in its place.
	Logprobs    bool
	TopLogprobs int
	// StopTokens end the generation.
	StopTokens []uint32
	Sampling   Sampling
	// ThinkingBudget is how many tokens the model may reason for, as the server itself shall see to; nil is not sent.
	ThinkingBudget *int
	// StructuralTag is what the answer is held to, as a Tag has written it; empty holds it to nothing.
	StructuralTag []byte
}

// Sampling holds JSON numbers as the client spelled them; an empty one is not sent, and the server's default counts.
type Sampling struct {
	Temperature, TopP, PresencePenalty, FrequencyPenalty, Seed string
	LogitBias                                                  []Bias
	// Extras are parameters of the servers' own, sent as they are.
	Extras []Member
}

// Bias is a token and the number that is added to its logit.
type Bias struct {
	Token uint32
	By    string
}

// Member is a member of a JSON object.
type Member struct{ Name, JSON string }

// Finish says why a server stopped generating.
type Finish uint8

// The reasons to stop. The zero Finish is none yet.
const (
	Running Finish = iota
	// Stopped is a stop token.
	Stopped
	// Length is MaxTokens or the end of the context.
	Length
	// Aborted is any other end, such as the server's own abort.
	Aborted
)

// Regular reports whether the answer has come to an end of its own.
func (f Finish) Regular() bool { return f == Stopped || f == Length }

// Usage is the server's own count of tokens.
type Usage struct {
	Prompt, Cached, Completion int
	// HasCached says that the server told Cached; many do so only by a flag of theirs.
	HasCached bool
}

// Event is what one event of a server's stream says: of one choice, of the whole request, or both. Its slices are reused
// by the next one.
type Event struct {
	// Index is the choice's that Tokens and Finish are of.
	Index  int
	Tokens []uint32
	// Likely says how likely each of Tokens was, where that was asked for.
	Likely []Likelihood
	Finish Finish
	Usage  Usage
	// HasUsage says that Usage was sent.
	HasUsage bool
	// Done is the server's last word: nothing comes after it.
	Done bool
	// Error is the server's error, sent instead of a result.
	Error *Error
}

func (e *Event) reset() {
	*e = Event{Tokens: e.Tokens[:0], Likely: e.Likely[:0]}
}

// Likelihood says how likely a token was. Its numbers are JSON's, as the server spelled them, in the memory of the event.
type Likelihood struct {
	Logprob []byte
	// Top are the most likely tokens in its place, in no order; the token itself may be one of them.
	Top []Alternative
}

// Alternative is a token that could have come, and how likely it was.
type Alternative struct {
	ID      uint32
	Logprob []byte
}

// Error is what a server says when it fails. Empty fields were not said.
type Error struct {
	// Status is an HTTP status, 0 where the error came without one.
	Status  int
	Message string
	Type    string
	Code    string
	Param   string
}

// Cause is what a server's error is about, of what the gateway has words of its own for.
type Cause uint8

// The causes. The zero Cause is any other.
const (
	OtherCause Cause = iota
	// ContextExceeded is a prompt that does not fit into the model's context, alone or with the answer.
	ContextExceeded
	// ChoicesRefused is a number of choices that the server does not generate in one request.
	ChoicesRefused
)

// Dialect is one kind of inference server.
type Dialect interface {
	// Kind is the dialect's name in configurations, errors and logs.
	Kind() string
	// Path is where completions are asked for.
	Path() string
	// AppendRequest appends the body that asks for a streamed completion.
	AppendRequest(dst []byte, r *Request) []byte
	// ReadEvent reads the data of one server-sent event into e. False means that it could not be understood.
	ReadEvent(data []byte, e *Event) bool
	// Cause tells what an error of the server's is about.
	Cause(e *Error) Cause
}

// Named returns the dialect of a kind of server, as configurations name it.
func Named(kind string) (Dialect, bool) {
	if d := (vllm{}); kind == d.Kind() {
		return d, true
	}
	return nil, false
}
