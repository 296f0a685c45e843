package openai

import "github.com/harmonyedge/harmonyedge/harmonycore/jsontext"

// ChatChunks writes the events of one choice of a streamed Chat answer, each a whole line `data: {…}` with the empty
// line behind it. What all chunks share is written once, so that a chunk costs no more than its text.
type ChatChunks struct {
	head         ChatHead
	includeUsage bool
	reasoning    ReasoningFields
	// opening is a chunk up to the inside of its delta.
	opening []byte
	scratch []byte
}

// NewChatChunks makes the writer of the choice with this index. includeUsage is the client's
// stream_options.include_usage, reasoning the fields for that.
func NewChatChunks(head ChatHead, index int, includeUsage bool, reasoning ReasoningFields) ChatChunks {
	opening := head.appendOpen([]byte("data: "), "chat.completion.chunk")
	opening = appendCount(opening, `{"index":`, index)
	return ChatChunks{
		head:         head,
		includeUsage: includeUsage,
		reasoning:    reasoning,
		opening:      append(opening, `,"delta":{`...),
	}
}

// close ends a chunk from the inside of its delta on.
func (c *ChatChunks) close(dst []byte, reason string) []byte {
	return c.closeLikely(dst, nil, reason)
}

// closeLikely is close with what AppendLogprob has written.
func (c *ChatChunks) closeLikely(dst, logprobs []byte, reason string) []byte {
	dst = appendLogprobs(append(dst, `},"logprobs":`...), logprobs)
	dst = append(dst, `,"finish_reason":`...)
	dst = appendStringOrNull(dst, reason)
	dst = append(dst, `}]`...)
	if c.includeUsage {
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

// AppendRole appends the first chunk of every choice. Whether there will be content nobody knows yet: what clients add up
// begins with none, and is still none where calls are all that there is.
func (c *ChatChunks) AppendRole(dst []byte) []byte {
	dst = append(dst, c.opening...)
	return c.close(append(dst, `"role":"assistant","content":null`...), "")
}

// AppendContent appends a piece of the answer. logprobs is what AppendLogprob has written of its tokens, or nothing.
func (c *ChatChunks) AppendContent(dst, text, logprobs []byte) []byte {
	dst = append(dst, c.opening...)
	dst = append(dst, `"content":"`...)
	dst = jsontext.AppendEscaped(dst, string(text))
	return c.closeLikely(append(dst, '"'), logprobs, "")
}

// AppendReasoning appends a piece of the reasoning, unless no field is for that.
func (c *ChatChunks) AppendReasoning(dst, text []byte) []byte {
	if c.reasoning == NoReasoning {
		return dst
	}
	c.scratch = jsontext.AppendEscaped(c.scratch[:0], string(text))
	dst = append(dst, c.opening...)
	return c.close(c.reasoning.append(dst, c.scratch), "")
}

// AppendCall appends the beginning of the call with this index, which alone has its id and name.
func (c *ChatChunks) AppendCall(dst []byte, index int, kind CallKind, id, name string) []byte {
	dst = append(dst, c.opening...)
	dst = appendCount(dst, `"tool_calls":[{"index":`, index)
	dst = append(dst, `,"id":`...)
	dst = jsontext.AppendString(dst, id)
	dst = append(dst, kind.open()...)
	dst = jsontext.AppendString(dst, name)
	dst = append(append(dst, ','), kind.text()...)
	return c.close(append(dst, `"}}]`...), "")
}

// AppendArguments appends a piece of a call's arguments.
func (c *ChatChunks) AppendArguments(dst []byte, index int, kind CallKind, text []byte) []byte {
	dst = append(dst, c.opening...)
	dst = appendCount(dst, `"tool_calls":[{"index":`, index)
	dst = append(dst, kind.piece()...)
	dst = jsontext.AppendEscaped(dst, string(text))
	return c.close(append(dst, `"}}]`...), "")
}

// AppendFinish appends the last chunk of the choice.
func (c *ChatChunks) AppendFinish(dst []byte, reason string) []byte {
	return c.close(append(dst, c.opening...), reason)
}

// AppendDone appends the end of a stream, behind the last chunks of all choices: the usage when it was asked for, [DONE].
func (c *ChatChunks) AppendDone(dst []byte, u Usage) []byte {
	if c.includeUsage {
		dst = c.head.appendOpen(append(dst, "data: "...), "chat.completion.chunk")
		dst = u.appendChat(append(dst, `],"usage":`...))
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// AppendFailure ends a stream that cannot be finished.
func (c *ChatChunks) AppendFailure(dst []byte, e *Error) []byte {
	dst = e.AppendJSON(append(dst, "data: "...))
	return append(dst, "\n\ndata: [DONE]\n\n"...)
}
