package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// API is one of the clients' APIs.
type API uint8

// The values of [API]. Chat and Responses are OpenAI's, Messages is Anthropic's.
const (
	ChatAPI API = iota + 1
	ResponsesAPI
	MessagesAPI
)

// Env is what a translation needs to know about the moment of a request.
type Env struct {
	// Now is the time in Unix seconds.
	Now int64
	// Date is the date in the system message.
	Date harmony.Optional
	// ID is unique to the request. It has letters and digits only. All ids of the answer are made from it.
	ID string
	// Sealing holds the keys and bounds of sealed reasoning.
	Sealing Sealing
	// Tokenizer reads the ids with which the model has written its earlier messages. If it is nil, they are not used.
	Tokenizer *tokenizer.Tokenizer
	// Defaults are the operator's, or nil if there are none.
	Defaults *openai.Defaults
	// Overrides are the operator's parameters in place of the client's, or nil if there are none.
	Overrides *openai.Defaults
	// Tools remembers the tools of requests. If it is nil, nothing is remembered. Then a conversation has all that the
	// model is shown of them. Owner is whose tools these are.
	Tools *ToolMemory
	Owner string
	// Marks asks for [Request.Marks]. Past is what came before a body that has only the end of a conversation, or nil.
	Marks bool
	Past  *Past
	// Counting reports whether the tokens of the prompt are only counted. A request to Messages then need not say how long
	// the answer may be.
	Counting bool
}

// Number is a JSON number as the client spelled it. An empty one is absent.
type Number = openai.Number

// Sampling holds the client's sampling parameters.
type Sampling = openai.Sampling

// Request is a client's request in terms of Harmony.
type Request struct {
	API          API
	Model        string
	Stream       bool
	Conversation harmony.Conversation
	Sampling     Sampling
	// Turns are the indices of the messages at which the conversation can continue after its head, the oldest first. The
	// messages in between can be left out of a prompt that is too long. Turns is empty if nothing may be left out
	// (RATIONALE.md#51).
	Turns []int
	// Stop are the stop sequences of the final text.
	Stop []string
	// MaxReasoning is the maximum number of reasoning tokens. Nil means no limit.
	MaxReasoning *int
	// Constraint is what the answer must be.
	Constraint Constraint
	// Counts are what was counted in the conversation and beside it.
	openai.Counts
	// UnenforcedGrammars is the number of grammars of custom tools that no server can enforce.
	UnenforcedGrammars int
	// Choices is the number of answers to generate, at least one.
	Choices int
	// Logprobs asks for the logprob of each token, and of the TopLogprobs likeliest tokens in its place.
	Logprobs    bool
	TopLogprobs int
	// HideReasoning reports whether the client wants the answer without reasoning.
	HideReasoning bool

	// form is what the servers hold the answer to. The zero value is nothing.
	form    Form
	answers contract.Answers
	// reasoning selects the fields of Chat answers that carry reasoning.
	reasoning openai.ReasoningFields
	tools     toolset
	builtIns  builtInTools
	env       Env
	// leading is how many elements the input begins with that declare tools or are instructions. lasting, front and
	// turned are the values of [Request.Lasting] and [Request.Turned]. updates are the elements that change the effort
	// or the form.
	leading       int
	lasting       []openai.Lasting
	front, turned int
	updates       []int
	// unphased reports whether nobody knows, while an answer is written, whether its text leads to a call: the servers
	// take conversations, whose messages have no phase.
	unphased     bool
	includeUsage bool
	oneCall      bool
	// asSampled reports whether calls of the history are as the model writes them.
	asSampled bool
	// wantsSampled reports whether the client asks for the ids with which the model writes its answer, and sampled
	// collects them.
	wantsSampled bool
	sampled      *SampledIDs
	// trail keeps the ids of reasoning that is sealed.
	trail         *Trail
	tierRequested bool
	sealed        bool
	effort        harmony.Effort
	// effortWord is the client's own word, for models that are not asked for one of Harmony's efforts. spoken is what
	// their servers are asked.
	effortWord string
	spoken     *spoken
	echo       openai.ResponsesEcho
	// transcript is set if the answer is a stream of channel events, or a response that includes the messages of its
	// input.
	transcript *harmony.Transcript
	messages   bool
	// thinking is what a client of Messages is shown of the reasoning. promptTokens is the length of the prompt, or 0 if
	// nobody has counted it.
	thinking     anthropic.Thinking
	promptTokens int
	// ids is set if the client gets the ids of the prompt and of the answer.
	ids *TokenIDs
	// beside is what was counted beside the conversation.
	beside openai.Counts
	// marks are the places at which the conversation may be continued. changes is the value of [Request.Changes].
	marks   marks
	changes bool
}

// Continues reports whether the conversation may be remembered, and continued as another one's end: nothing is left out
// of it, its messages are of no use but for the prompt, and it does not change what came before it.
func (r *Request) Continues() bool {
	return len(r.Turns) == 0 && !r.messages && !r.changes
}

// Effort returns the reasoning effort that the model is asked for.
func (r *Request) Effort() harmony.Effort { return r.effort }

// CountedPrompt says how many tokens the prompt has, before the answer is made. A stream of Messages says so at its
// beginning.
func (r *Request) CountedPrompt(tokens int) { r.promptTokens = tokens }

// Usage is the server's count of tokens. The answer itself counts the reasoning among them.
type Usage struct {
	PromptTokens, CachedTokens, CompletionTokens int
	// CachedKnown reports whether the server sent CachedTokens.
	CachedKnown bool
	// ReasoningEstimated reports whether the answer's own counts are estimates of text.
	ReasoningEstimated bool
	// ReasoningTokens is the server's count of the reasoning, if ReasoningKnown reports that it sent one.
	ReasoningTokens int
	ReasoningKnown  bool
	// WindowFull reports whether an answer that ended at its limit has filled the model's context. Otherwise the limit was
	// lower.
	WindowFull bool
}

// Finish is the reason why the model stopped.
type Finish uint8

// The values of [Finish].
const (
	Stop Finish = iota + 1
	// Length means that the maximum number of tokens was reached.
	Length
	// Filtered means that the server withheld the rest of the answer.
	Filtered
	// Repetition means that the model said the same again and again. Clients are told [Length], and why.
	Repetition
)

// Choice is one of the answers to a request. It is the [harmony.Sink] of one parser.
type Choice interface {
	harmony.Sink
	// End is called at the regular end of the choice. The parser's own end comes before it, and closes an open message as
	// cut.
	End(f Finish)
	// Reasoning reports whether the open message is reasoning for the client.
	Reasoning() bool
	// CallID names the call that is opened next, if the server has given it an id. The answer has the same id, unless an
	// earlier call has it.
	CallID(id []byte)
	// Logprob passes the logprob of a token. It is called directly before the Content that has the token, and only if the
	// request asks for logprobs. A Choice does not keep l.
	Logprob(l *openai.Logprob)
}

// Answer turns the parsed messages of one request into bytes for the client. Begin comes first. The first call of
// Finish or Fail ends the answer; later calls have no effect.
type Answer interface {
	// Choices returns the choices in the order of their index, as many as the request asks for.
	Choices() []Choice
	// Begin is called once, before the first token.
	Begin()
	// Finish ends the answer, after the End of every choice. now is in Unix seconds.
	Finish(u Usage, now int64)
	// Fail ends an answer that cannot be completed. A stream carries the error as its last event. A whole answer is the
	// error's body alone.
	Fail(e *openai.Error)
	// Ready has the bytes that are ready for the client. A whole answer has none before its end.
	Ready() *Outbox
	ContentType() string
	// Full reports whether the answer holds more than is allowed.
	Full() bool
	// Tally returns the counts of the model's messages so far.
	Tally() Tally
}

// NewAnswer returns a new answer to r.
func (r *Request) NewAnswer() Answer {
	switch {
	case r.API == MessagesAPI:
		return newMessagesAnswer(r)
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

// Outbox holds the bytes of an answer that are ready for the client. It is no part of [Answer]: for each token of a
// stream the filter would look for the answer's type (RATIONALE.md#252).
type Outbox struct{ out []byte }

// Ready implements [Answer].
func (o *Outbox) Ready() *Outbox { return o }

// MaxKeptBuffer is the largest buffer that an answer keeps for its next piece, in bytes. Only the first and last pieces
// are larger, and pieces of a server that sends much at once.
const MaxKeptBuffer = 4 << 10

// Take appends to dst the bytes that are ready, and forgets them. If dst is empty, they are valid until the next call
// of a method of the answer.
func (o *Outbox) Take(dst []byte) []byte {
	if len(dst) == 0 {
		dst = o.out // nothing is copied
	} else {
		dst = append(dst, o.out...)
	}
	if o.out = o.out[:0]; cap(o.out) > MaxKeptBuffer {
		o.out = nil
	}
	return dst
}

// Lend gives the answer memory for a large piece that comes next, and reports whether it is taken. Take returns it with
// the piece.
func (o *Outbox) Lend(memory []byte) bool {
	if cap(memory) <= cap(o.out) {
		return false
	}
	o.out = append(memory[:0], o.out...)
	return true
}
