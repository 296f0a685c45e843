package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// API is the client's side of a translation.
type API uint8

// The APIs that are spoken.
const (
	ChatAPI API = iota + 1
	ResponsesAPI
)

// Env is what a translation must be told of the moment.
type Env struct {
	// Now is the time in Unix seconds.
	Now int64
	// Date is the system message's.
	Date harmony.Optional
	// ID is unique to the request: letters and digits, from which all ids of its answer are made.
	ID string
	// Sealing is what reasoning is sealed with.
	Sealing Sealing
}

// Number is a JSON number as the client spelled it; the empty Number is an absent one.
type Number = openai.Number

// Sampling is how the client wants tokens to be drawn.
type Sampling = openai.Sampling

// Request is a client's request in Harmony's terms.
type Request struct {
	API          API
	Model        string
	Stream       bool
	Conversation harmony.Conversation
	Sampling     Sampling
	// Turns are the messages of the Conversation with which it can go on behind its head, oldest first, where what stands
	// between may be left out of a prompt that is too long; otherwise there are none.
	Turns []int
	// Stop are the sequences before which the final text ends.
	Stop []string
	// MaxReasoning limits the reasoning, in tokens; nil is no limit.
	MaxReasoning *int
	// Constraint is what the answer has to be.
	Constraint Constraint
	// UnknownItems is how many items of the input were passed over.
	UnknownItems int
	// DroppedParts is how many parts of the messages stand there as notes.
	DroppedParts int
	// Choices is how many answers are wanted, one or more.
	Choices int
	// Logprobs asks how likely the answer's tokens were, and which TopLogprobs others were most likely in their place.
	Logprobs    bool
	TopLogprobs int
	// HideReasoning says that the client wants the answer without the reasoning.
	HideReasoning bool

	answers contract.Answers
	// reasoning are the fields that carry the reasoning of Chat answers.
	reasoning    openai.ReasoningFields
	tools        toolset
	env          Env
	includeUsage bool
	oneCall      bool
	tierAsked    bool
	sealed       bool
	effort       harmony.Effort
	echo         openai.ResponsesEcho
	// transcript is set where the answer is channel events, or a response with the messages of its input.
	transcript *harmony.Transcript
	messages   bool
}

// Effort is the reasoning effort that the model is asked for.
func (r *Request) Effort() harmony.Effort { return r.effort }

// Usage is what the server counted. The answer itself knows how much of it was reasoning.
type Usage struct {
	PromptTokens, CachedTokens, CompletionTokens int
	// CachedKnown is false when the server does not tell CachedTokens.
	CachedKnown bool
}

// Finish says why the model stopped.
type Finish uint8

// The reasons to stop.
const (
	Stop Finish = iota + 1
	// Length is the limit on tokens.
	Length
)

// Choice is one of the answers to a request: the Sink of one parser.
type Choice interface {
	harmony.Sink
	// End is the regular end of the choice; the parser's own end, which closes an open message as cut, comes before it.
	End(f Finish)
	// Logprob is how likely a token was. It is called right before the Content that has the token, and only where the
	// request asks for logprobs. A Choice does not keep l.
	Logprob(l *openai.Logprob)
}

// Answer turns one request's parsed messages into its client's bytes, between Begin and Finish or Fail, of which the
// first ends it: what comes later is passed over.
type Answer interface {
	// Choices are as many as were asked for, in the order of their index.
	Choices() []Choice
	// Begin is called once, before the first token.
	Begin()
	// Finish is the regular end, behind that of every choice, at now in Unix seconds.
	Finish(u Usage, now int64)
	// Fail ends an answer that cannot be finished: in a stream as its last event, of a whole answer as the error body
	// alone.
	Fail(e *openai.Error)
	// Take appends to dst what is ready for the client, and forgets it. A whole answer has nothing ready before its end.
	Take(dst []byte) []byte
	ContentType() string
	// Full reports whether the answer holds more than any answer may.
	Full() bool
	// Tally is what was counted of the model's messages so far.
	Tally() Tally
}

// NewAnswer makes the answer to r.
func (r *Request) NewAnswer() Answer {
	switch {
	case r.API == ResponsesAPI:
		return newResponsesAnswer(r)
	case r.transcript != nil:
		return newChannelStream(r)
	case r.Stream:
		return newChatStream(r)
	default:
		return newChatWhole(r)
	}
}

const (
	typeStream = "text/event-stream"
	typeJSON   = "application/json"
)

// outbox is what an answer has ready for its client.
type outbox struct{ out []byte }

// keptBuffer is the largest buffer kept for a stream's next event, in bytes: only its first and last are large.
const keptBuffer = 64 << 10

// Take implements Answer.
func (o *outbox) Take(dst []byte) []byte {
	dst = append(dst, o.out...)
	o.out = o.out[:0]
	if cap(o.out) > keptBuffer {
		o.out = nil
	}
	return dst
}
