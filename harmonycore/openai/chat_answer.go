package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// The finish reasons of Chat Completions.
const (
	FinishStop      = "stop"
	FinishLength    = "length"
	FinishToolCalls = "tool_calls"
	FinishFiltered  = "content_filter"
	// FinishRepetition is written as [FinishLength], since clients know no other word, and with vLLM's stop_reason.
	FinishRepetition = "repetition"
)

// stoppedByRepetition is the member that vLLM's answers have when its repetition_detection ends them.
const stoppedByRepetition = `,"stop_reason":"repetition_detected"`

// appendFinish appends the value of finish_reason, which is null while there is none, and the members that explain it.
func appendFinish(dst []byte, reason string) []byte {
	if reason == FinishRepetition {
		return append(rawjson.AppendString(dst, FinishLength), stoppedByRepetition...)
	}
	return appendStringOrNull(dst, reason)
}

// ChatHead holds the members that a Chat answer and each of its chunks begin with.
type ChatHead struct {
	ID      string
	Created int64
	Model   string
	// TierRequested reports whether the client named a service tier. The answer then names the only tier that exists.
	TierRequested bool
}

func (h *ChatHead) appendOpen(dst []byte, object string) []byte {
	dst = append(dst, `{"id":`...)
	dst = rawjson.AppendString(dst, h.ID)
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = rawjson.AppendInt(dst, h.Created)
	dst = append(dst, `,"model":`...)
	dst = rawjson.AppendString(dst, h.Model)
	if h.TierRequested {
		dst = append(dst, `,"service_tier":"default"`...)
	}
	return append(dst, `,"choices":[`...)
}

// ChatCompletion is a whole Chat answer.
type ChatCompletion struct {
	Head ChatHead
	// Reasoning selects the fields that carry the reasoning.
	Reasoning ReasoningFields
	Choices   []ChatChoice
	Usage     Usage
}

// ChatChoice is one choice of a whole answer. Its texts are already escaped, as [rawjson.AppendEscaped] writes them.
type ChatChoice struct {
	Content   []byte
	Reasoning []byte
	// ToolCalls are the elements of the array, written with [AppendCallOpen] and [AppendCallClose].
	ToolCalls []byte
	// Logprobs are the elements of logprobs.content, as [AppendLogprob] writes them.
	Logprobs []byte
	// NoContent reports whether an empty content is written as null.
	NoContent    bool
	FinishReason string
	// TokenIDs are what the message was made of. They are nil unless the operator has configured them.
	TokenIDs *TokenIDs
}

// AppendCallOpen begins a whole tool call, up to its escaped arguments.
func AppendCallOpen(dst []byte, kind CallKind, id, name string) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"id":`...)
	dst = rawjson.AppendString(dst, id)
	dst = append(dst, kind.open()...)
	dst = rawjson.AppendString(dst, name)
	return append(append(dst, ','), kind.text()...)
}

// AppendCallClose ends the tool call that [AppendCallOpen] began.
func AppendCallClose(dst []byte) []byte { return append(dst, `"}}`...) }

// AppendJSON appends the chat.completion object.
func (c *ChatCompletion) AppendJSON(dst []byte) []byte {
	dst = c.Head.appendOpen(dst, "chat.completion")
	for i := range c.Choices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.Choices[i].appendJSON(dst, i, c.Reasoning)
	}
	return append(c.Usage.appendChat(append(dst, `],"usage":`...)), '}')
}

// appendJSON appends the choice with this index. The reasoning fields are null if there is no reasoning.
func (c *ChatChoice) appendJSON(dst []byte, index int, fields ReasoningFields) []byte {
	dst = appendCount(dst, `{"index":`, index)
	dst = append(dst, `,"message":{"role":"assistant","content":`...)
	if len(c.Content) == 0 && c.NoContent {
		dst = append(dst, "null"...)
	} else {
		dst = appendEscapedString(dst, c.Content)
	}
	dst = append(dst, `,"refusal":null`...)
	switch {
	case fields == NoReasoning:
	case len(c.Reasoning) > 0:
		dst = fields.append(append(dst, ','), c.Reasoning)
	default:
		dst = append(append(dst, ','), fields.absent()...)
	}
	if len(c.ToolCalls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		dst = append(dst, c.ToolCalls...)
		dst = append(dst, ']')
	}
	dst = c.TokenIDs.AppendMembers(append(dst, `,"annotations":[]`...))
	dst = append(dst, `},"logprobs":`...)
	dst = append(appendLogprobs(dst, c.Logprobs), `,"finish_reason":`...)
	return append(appendFinish(dst, c.FinishReason), '}')
}

// ReasoningFields selects the fields of a Chat message that carry reasoning. OpenAI's own API has no such field. Some
// clients read "reasoning", others "reasoning_content".
type ReasoningFields uint8

// The values of [ReasoningFields].
const (
	BothReasoningFields ReasoningFields = iota
	OnlyReasoning
	OnlyReasoningContent
	NoReasoning
)

func (f ReasoningFields) append(dst, escaped []byte) []byte {
	first, second := f.members()
	dst = append(append(append(dst, first...), escaped...), '"')
	if second != "" {
		dst = append(append(append(append(dst, ','), second...), escaped...), '"')
	}
	return dst
}

// members returns the JSON before the text in the first field, and in the second if there are two.
func (f ReasoningFields) members() (first, second string) {
	switch f {
	case OnlyReasoning:
		return `"reasoning":"`, ""
	case OnlyReasoningContent:
		return `"reasoning_content":"`, ""
	default:
		return `"reasoning":"`, `"reasoning_content":"`
	}
}

// absent returns the fields of a message or delta without reasoning.
func (f ReasoningFields) absent() string {
	switch f {
	case OnlyReasoning:
		return `"reasoning":null`
	case OnlyReasoningContent:
		return `"reasoning_content":null`
	case NoReasoning:
		return ""
	default:
		return `"reasoning":null,"reasoning_content":null`
	}
}

func appendEscapedString(dst, escaped []byte) []byte {
	return append(append(append(dst, '"'), escaped...), '"')
}
