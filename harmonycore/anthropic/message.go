package anthropic

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// The reasons why a message ended.
const (
	StopEndTurn   = "end_turn"
	StopMaxTokens = "max_tokens"
	StopSequence  = "stop_sequence"
	StopToolUse   = "tool_use"
	StopRefusal   = "refusal"
	StopWindow    = "model_context_window_exceeded"
)

// Message is an answer.
type Message struct {
	ID, Model string
	// Content are the blocks, as [AppendOutput] writes them, with commas between them.
	Content []byte
	// StopReason is empty until the message has ended. StopSequence is the client's that has ended it, or empty.
	StopReason, StopSequence string
	Usage                    Usage
}

// AppendJSON appends the message.
func (m *Message) AppendJSON(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"id":`...), m.ID)
	dst = rawjson.AppendString(append(dst, `,"type":"message","role":"assistant","model":`...), m.Model)
	dst = append(append(append(dst, `,"content":[`...), m.Content...), `],`...)
	dst = m.Usage.append(append(m.appendStop(dst), `,"usage":`...))
	return append(dst, '}')
}

// appendStop appends the members that say why the message ended.
func (m *Message) appendStop(dst []byte) []byte {
	dst = appendStringOrNull(append(dst, `"stop_reason":`...), m.StopReason)
	return appendStringOrNull(append(dst, `,"stop_sequence":`...), m.StopSequence)
}

func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return rawjson.AppendString(dst, s)
}

// Usage counts the tokens of a message and of its prompt.
type Usage struct {
	// Prompt is the length of the prompt, and Cached the part of it that the server had in its cache.
	Prompt, Cached int
	// Output is the length of the answer, and Thinking the part of it that is reasoning.
	Output, Thinking int
	// Served reports whether a server has run tools, and Searches how often it has searched the web.
	Served   bool
	Searches int
}

// append appends the usage. Of the three counts of the prompt each token is in one.
func (u *Usage) append(dst []byte) []byte {
	cached := min(u.Cached, u.Prompt)
	dst = appendCount(dst, `{"input_tokens":`, u.Prompt-cached)
	dst = appendCount(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":`, cached)
	dst = appendCount(dst, `,"output_tokens":`, u.Output)
	dst = appendCount(dst, `,"output_tokens_details":{"thinking_tokens":`, min(u.Thinking, u.Output))
	if u.Served {
		dst = appendCount(append(dst, '}'), `,"server_tool_use":{"web_search_requests":`, u.Searches)
		dst = append(dst, `,"web_fetch_requests":0`...)
	}
	return append(dst, "}}"...)
}

func appendCount(dst []byte, before string, n int) []byte {
	return rawjson.AppendInt(append(dst, before...), int64(n))
}
