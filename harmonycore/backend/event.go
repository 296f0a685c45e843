package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

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
	// Filtered means that the server withheld the rest of the answer.
	Filtered
	// Repeated means that the server found the model repeating itself (vLLM's repetition_detection).
	Repeated
)

// Regular reports whether the answer has an end that clients are told as a reason.
func (f Finish) Regular() bool { return f == Stopped || f == Filtered || f.Limited() }

// Limited reports whether the model was not done: it reached a limit.
func (f Finish) Limited() bool { return f == Length || f == Repeated }

// Usage is the server's own count, in tokens.
type Usage struct {
	Prompt, Cached, Completion, Reasoning int
	// HasReasoning reports whether the server sent Reasoning, the part of Completion that is reasoning.
	HasReasoning bool
	// HasCached reports whether the server sent Cached. Many servers send it only if a flag of theirs is set.
	HasCached bool
}

// Event is the content of one event of a server's stream. It concerns one choice, the whole request, or both. The next
// event reuses its slices.
type Event struct {
	// Index is the index of the choice that Tokens, Text, Logprobs and Finish belong to.
	Index  int
	Tokens []uint32
	// Text is what was generated, from a server that answers in text. Tokens then holds the control tokens after it, if
	// the kind has [contract.Capabilities.ControlTokens], and else nothing.
	Text []byte
	// TextTokens is the number of tokens of Text, or 0 if the server does not count them.
	TextTokens int
	// Reasoning and Calls are what was generated beside Text, from a server that separates them. Reasoning comes before
	// Text, and Calls come after it.
	Reasoning []byte
	Calls     []CallPiece
	// TextLogprobs holds the logprob of each token of Reasoning and Text, from a server that names tokens by their text.
	TextLogprobs []TextLogprob
	// SampledIDs are the ids of all that was generated, and PromptIDs the prompt's ids, from a server that answers in
	// text and was asked for ids. PromptIDs come once.
	SampledIDs, PromptIDs []uint32
	// Logprobs holds one logprob for each of Tokens, if [Request.Logprobs] asked for them.
	Logprobs []TokenLogprob
	Finish   Finish
	// Failed reports whether Finish is [Aborted] for a reason that is known to be a failure of the server. Servers that
	// take conversations have other reasons too.
	Failed bool
	Usage  Usage
	// HasUsage reports whether the server sent Usage.
	HasUsage bool
	// Done reports whether this is the last event of the stream. Last reports whether it is the last event of its choice,
	// from a server that does not mark the end of the stream.
	Done, Last bool
	// Error is the server's error if it sent one instead of a result, else nil.
	Error *Error
	// counted is the server's count of the choice's tokens so far, in an event that was read by its template.
	counted int
	// conversing reports whether the event may have the members of [Event.resetConversation]. It stays.
	conversing bool
	// unique reports whether the event has something for which no template has a gap.
	unique bool
	// listsIDs reports whether the server has listed SampledIDs. Else they are namedIDs, by which the logprobs name
	// tokens.
	listsIDs bool
	namedIDs []uint32
	// pieceIndex is one more than the server's index of the call that has a piece in the event, or 0 if it has none.
	pieceIndex int
	// memory holds the texts of Calls and of TextLogprobs.
	memory []byte
	// walks go through the logprobs. As variables each would be garbage under TinyGo.
	walks [walksOfLogprobs]rawjson.Items
}

// TextLogprob is the logprob of one token that is named by its bytes, as [TokenLogprob] is by its id. Top has no order.
type TextLogprob struct {
	Token, Logprob []byte
	Top            []TextAlternative
}

// TextAlternative is a token that the model could have generated instead, and its logprob.
type TextAlternative struct{ Token, Logprob []byte }

// CallPiece is a piece of a call of a function. Its texts lie in the event's memory.
type CallPiece struct {
	// Index is the call's number in the choice, in the order in which the calls began.
	Index int
	// Name is empty in all but the first piece of a call. So is ID, which some servers do not send at all.
	ID, Name []byte
	// Arguments is the next piece of the arguments, unescaped.
	Arguments []byte
	// Whole reports whether the arguments so far, with this piece, are a whole JSON object or array.
	Whole bool
}

// The most that an event keeps for the next one. A larger slice serves one event.
const (
	maxKeptTokens   = 4 << 10
	maxKeptText     = 64 << 10
	maxKeptLogprobs = 256
	maxKeptCalls    = 16
)

// reset empties the event. An assignment to the whole event would take longer.
func (e *Event) reset() {
	// The numbers lie in the event's memory. One in a place that no later event uses would keep all of it.
	for i := range e.Logprobs {
		l := &e.Logprobs[i]
		clear(l.Top)
		*l = TokenLogprob{Top: l.Top[:0]}
	}
	e.Index, e.TextTokens, e.Finish, e.Error = 0, 0, Running, nil
	e.Usage, e.HasUsage, e.Done, e.Last = Usage{}, false, false, false
	e.counted = 0
	empty(&e.Tokens, maxKeptTokens)
	empty(&e.Text, maxKeptText)
	empty(&e.Logprobs, maxKeptLogprobs)
	if e.conversing {
		e.resetConversation()
	}
}

// resetConversing is reset for servers that take conversations, whose events alone have more than text and tokens.
func (e *Event) resetConversing() {
	e.conversing = true
	e.reset()
}

func (e *Event) resetConversation() {
	for i := range e.TextLogprobs {
		l := &e.TextLogprobs[i]
		clear(l.Top)
		*l = TextLogprob{Top: l.Top[:0]}
	}
	clear(e.Calls)
	e.pieceIndex, e.unique, e.listsIDs, e.Failed = 0, false, false, false
	empty(&e.Reasoning, maxKeptText)
	empty(&e.Calls, maxKeptCalls)
	empty(&e.TextLogprobs, maxKeptLogprobs)
	empty(&e.SampledIDs, maxKeptTokens)
	empty(&e.PromptIDs, maxKeptTokens)
	empty(&e.namedIDs, maxKeptTokens)
	empty(&e.memory, maxKeptText)
}

// empty empties s for reuse. It drops the memory if that is too large to keep.
func empty[T any](s *[]T, most int) {
	if cap(*s) > most {
		*s = nil
		return
	}
	*s = (*s)[:0]
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

// maxAlternatives is how many alternatives of a token are read. [Request.TopLogprobs] is at most 20, and some servers
// add the token itself.
const maxAlternatives = 32

// appendAlternative appends an alternative, if it is not one too many.
func appendAlternative(dst []Alternative, a Alternative) []Alternative {
	if len(dst) >= maxAlternatives {
		return dst
	}
	return append(dst, a)
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
	// ImageRefused means that the server takes no images, or not so many.
	ImageRefused
	// EffortRefused means that the server does not take the request's effort.
	EffortRefused
	// FormatRefused means that the server does not take the request's response_format.
	FormatRefused
	// LateSystemRefused means that the server takes a system message only as the first one.
	LateSystemRefused
	// TagsRefused means that the server takes no structural tag at all.
	TagsRefused
	// TagRefused means that the server does not take the request's structural tag. It does not say whether it takes
	// others.
	TagRefused
)
