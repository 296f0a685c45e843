package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// ChatChunks writes the events of one choice of a streamed Chat answer, each a whole line `data: {…}` with the empty
// line behind it. What all chunks share is written once, so that a chunk costs no more than its text.
type ChatChunks struct {
	head         ChatHead
	includeUsage bool
	reasoning    ReasoningFields
	// textOnly reports that the choice can have no calls.
	textOnly bool
	// opening is a chunk up to the inside of its delta.
	opening []byte
	scratch []byte
}

// NewChatChunks makes the writer of the choice with this index. includeUsage is the client's
// stream_options.include_usage, reasoning the fields for that. textOnly says that the choice can have no calls: then
// every delta without reasoning has a text for its content, if only an empty one.
func NewChatChunks(head ChatHead, index int, includeUsage bool, reasoning ReasoningFields, textOnly bool) ChatChunks {
	opening := head.appendOpen([]byte("data: "), "chat.completion.chunk")
	opening = appendCount(opening, `{"index":`, index)
	return ChatChunks{
		head:         head,
		includeUsage: includeUsage,
		reasoning:    reasoning,
		textOnly:     textOnly,
		opening:      append(opening, `,"delta":{`...),
	}
}

// closeLikely ends a chunk from the inside of its delta on. logprobs is what AppendLogprob has written, or nothing.
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

// AppendRole appends the first chunk of every choice. Where calls may come, nobody knows yet whether there will be content:
// what clients add up begins with none, and is still none where calls are all that there is.
func (c *ChatChunks) AppendRole(dst []byte) []byte {
	dst = append(dst, c.opening...)
	content := `"role":"assistant","content":null,`
	if c.textOnly {
		content = `"role":"assistant","content":"",`
	}
	return c.closeSilent(append(dst, content...), nil, "")
}

// closeSilent closes a delta without reasoning. Its fields are there all the same, as null: clients in Python read them as
// attributes, which would be missing otherwise. dst ends with a comma, or with the delta's opening.
func (c *ChatChunks) closeSilent(dst, logprobs []byte, reason string) []byte {
	if c.reasoning == NoReasoning && dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return c.closeLikely(append(dst, c.reasoning.none()...), logprobs, reason)
}

// AppendContent appends a piece of the answer. logprobs is what AppendLogprob has written of its tokens, or nothing.
func (c *ChatChunks) AppendContent(dst, text, logprobs []byte) []byte {
	dst = append(dst, c.opening...)
	dst = append(dst, `"content":"`...)
	dst = rawjson.AppendEscaped(dst, string(text))
	return c.closeSilent(append(dst, `",`...), logprobs, "")
}

// AppendReasoning appends a piece of the reasoning, unless no field is for that.
func (c *ChatChunks) AppendReasoning(dst, text []byte) []byte {
	if c.reasoning == NoReasoning {
		return dst
	}
	c.scratch = rawjson.AppendEscaped(c.scratch[:0], string(text))
	dst = append(dst, c.opening...)
	return c.closeLikely(c.reasoning.append(dst, c.scratch), nil, "")
}

// AppendCall appends the beginning of the call with this index, which alone has its id and name.
func (c *ChatChunks) AppendCall(dst []byte, index int, kind CallKind, id, name string) []byte {
	dst = append(dst, c.opening...)
	dst = appendCount(dst, `"tool_calls":[{"index":`, index)
	dst = append(dst, `,"id":`...)
	dst = rawjson.AppendString(dst, id)
	dst = append(dst, kind.open()...)
	dst = rawjson.AppendString(dst, name)
	dst = append(append(dst, ','), kind.text()...)
	return c.closeSilent(append(dst, `"}}],`...), nil, "")
}

// AppendArguments appends a piece of a call's arguments.
func (c *ChatChunks) AppendArguments(dst []byte, index int, kind CallKind, text []byte) []byte {
	dst = append(dst, c.opening...)
	dst = appendCount(dst, `"tool_calls":[{"index":`, index)
	dst = append(dst, kind.piece()...)
	dst = rawjson.AppendEscaped(dst, string(text))
	return c.closeSilent(append(dst, `"}}],`...), nil, "")
}

// AppendFinish appends the last chunk of the choice.
func (c *ChatChunks) AppendFinish(dst []byte, reason string) []byte {
	dst = append(dst, c.opening...)
	if c.textOnly {
		dst = append(dst, `"content":"",`...)
	}
	return c.closeSilent(dst, nil, reason)
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
