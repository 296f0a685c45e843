package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// ChatChunks writes the events of one choice of a streamed Chat answer. Each event is a line `data: {…}` and an empty
// line. The part that all chunks share is made once, so a chunk costs no more than its text.
type ChatChunks struct {
	head         ChatHead
	includeUsage bool
	reasoning    ReasoningFields
	// textOnly reports whether the choice can have no calls.
	textOnly bool
	// opening is a chunk up to the first member of its delta.
	opening []byte
	// content and reasoned are the chunks of a piece of text, without the text. Nearly all chunks are one of them.
	content, reasoned chunkFrame
}

// A chunkFrame is what a chunk has around a text: the member that begins with the text, and everything after it. With
// both reasoning fields the text is in a second member too.
type chunkFrame struct {
	first, second string
	after         []byte
}

// append appends the chunk with this opening and this text.
func (f *chunkFrame) append(dst, opening, text []byte) []byte {
	dst = append(append(dst, opening...), f.first...)
	from := len(dst)
	dst = rawjson.AppendEscaped(dst, rawjson.View(text))
	if to := len(dst); f.second != "" {
		dst = append(append(append(dst, `",`...), f.second...), dst[from:to]...)
	}
	return append(dst, f.after...)
}

// NewChatChunks returns the writer for the choice with this index. includeUsage is the client's
// stream_options.include_usage. reasoning selects the fields that carry the reasoning. textOnly reports whether the
// choice can have no calls: every delta without reasoning then has a string as its content, even if it is empty.
func NewChatChunks(head ChatHead, index int, includeUsage bool, reasoning ReasoningFields, textOnly bool) ChatChunks {
	opening := head.appendOpen([]byte("data: "), "chat.completion.chunk")
	opening = appendCount(opening, `{"index":`, index)
	c := ChatChunks{
		head:         head,
		includeUsage: includeUsage,
		reasoning:    reasoning,
		textOnly:     textOnly,
		opening:      append(opening, `,"delta":{`...),
	}
	c.content = chunkFrame{first: contentOpening, after: c.closeWithoutReasoning([]byte(contentClose), nil, "")}
	c.reasoned.first, c.reasoned.second = reasoning.members()
	c.reasoned.after = c.closeWithLogprobs([]byte{'"'}, nil, "")
	return c
}

const (
	contentOpening = `"content":"`
	contentClose   = `",`
)

// closeWithLogprobs ends a chunk after the last member of its delta. logprobs is what [AppendLogprob] has written, or
// empty.
func (c *ChatChunks) closeWithLogprobs(dst, logprobs []byte, reason string) []byte {
	dst = appendLogprobs(append(dst, `},"logprobs":`...), logprobs)
	dst = append(dst, `,"finish_reason":`...)
	dst = appendFinish(dst, reason)
	dst = append(dst, `}]`...)
	if c.includeUsage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

// AppendRole appends the first chunk of a choice. Its content is null if calls may come: a client that adds up the
// pieces then keeps null for an answer of calls alone (RATIONALE.md#35).
func (c *ChatChunks) AppendRole(dst []byte) []byte {
	dst = append(dst, c.opening...)
	content := `"role":"assistant","content":null,`
	if c.textOnly {
		content = `"role":"assistant","content":"",`
	}
	return c.closeWithoutReasoning(append(dst, content...), nil, "")
}

// closeWithoutReasoning ends a chunk whose delta has no reasoning. The reasoning fields are null rather than missing,
// because clients in Python read them as attributes (RATIONALE.md#36). dst must end with a comma or with c.opening.
func (c *ChatChunks) closeWithoutReasoning(dst, logprobs []byte, reason string) []byte {
	if c.reasoning == NoReasoning && dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return c.closeWithLogprobs(append(dst, c.reasoning.absent()...), logprobs, reason)
}

// AppendContent appends a piece of the answer. logprobs is what [AppendLogprob] has written for its tokens, or empty.
func (c *ChatChunks) AppendContent(dst, text, logprobs []byte) []byte {
	if len(logprobs) == 0 {
		return c.content.append(dst, c.opening, text)
	}
	dst = append(append(dst, c.opening...), contentOpening...)
	dst = rawjson.AppendEscaped(dst, rawjson.View(text))
	return c.closeWithoutReasoning(append(dst, contentClose...), logprobs, "")
}

// AppendReasoning appends a piece of the reasoning, or nothing with [NoReasoning].
func (c *ChatChunks) AppendReasoning(dst, text []byte) []byte {
	if c.reasoning == NoReasoning {
		return dst
	}
	return c.reasoned.append(dst, c.opening, text)
}

// AppendCall appends the first chunk of the call with this index. Only this chunk has the call's id and name.
func (c *ChatChunks) AppendCall(dst []byte, index int, kind CallKind, id, name string) []byte {
	dst = append(dst, c.opening...)
	dst = appendCount(dst, `"tool_calls":[{"index":`, index)
	dst = append(dst, `,"id":`...)
	dst = rawjson.AppendString(dst, id)
	dst = append(dst, kind.open()...)
	dst = rawjson.AppendString(dst, name)
	dst = append(append(dst, ','), kind.text()...)
	return c.closeWithoutReasoning(append(dst, `"}}],`...), nil, "")
}

// AppendArguments appends a piece of a call's arguments or input.
func (c *ChatChunks) AppendArguments(dst []byte, index int, kind CallKind, text []byte) []byte {
	dst = append(dst, c.opening...)
	dst = appendCount(dst, `"tool_calls":[{"index":`, index)
	dst = append(dst, kind.piece()...)
	dst = rawjson.AppendEscaped(dst, rawjson.View(text))
	return c.closeWithoutReasoning(append(dst, `"}}],`...), nil, "")
}

// AppendFinish appends the last chunk of the choice. ids are what the choice was made of, or nil.
func (c *ChatChunks) AppendFinish(dst []byte, reason string, ids *TokenIDs) []byte {
	dst = append(dst, c.opening...)
	if c.textOnly {
		dst = append(dst, `"content":"",`...)
	}
	if ids != nil {
		dst = append(ids.AppendMembers(dst), ',')
	}
	return c.closeWithoutReasoning(dst, nil, reason)
}

// AppendDone appends the end of a stream, after the last chunks of all choices: the usage if the client asked for it,
// and [DONE].
func (c *ChatChunks) AppendDone(dst []byte, u Usage) []byte {
	if c.includeUsage {
		dst = c.head.appendOpen(append(dst, "data: "...), "chat.completion.chunk")
		dst = u.appendChat(append(dst, `],"usage":`...))
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// AppendFailure appends the last event of a stream that failed: the error. No [DONE] follows, since clients that do not
// know the event would take it for the end of a whole answer (RATIONALE.md#202).
func (c *ChatChunks) AppendFailure(dst []byte, e *Error) []byte {
	return append(e.AppendJSON(append(dst, "data: "...)), "\n\n"...)
}
