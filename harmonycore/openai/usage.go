package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Usage counts the tokens of one answer.
type Usage struct {
	PromptTokens     int
	CachedTokens     int
	CompletionTokens int
	// ReasoningTokens is the part of CompletionTokens that was sent to the client as reasoning.
	ReasoningTokens int
	// CachedKnown reports whether the server sent the number of prompt tokens that it had in its cache.
	CachedKnown bool
}

// visible limits the parts to the whole, whatever the server counted.
func (u Usage) visible() Usage {
	u.ReasoningTokens = min(u.ReasoningTokens, u.CompletionTokens)
	return u
}

// appendChat writes Chat's usage object. An unknown count of cached tokens is left out.
func (u Usage) appendChat(dst []byte) []byte {
	u = u.visible()
	dst = appendCount(dst, `{"prompt_tokens":`, u.PromptTokens)
	dst = appendCount(dst, `,"completion_tokens":`, u.CompletionTokens)
	dst = appendCount(dst, `,"total_tokens":`, u.PromptTokens+u.CompletionTokens)
	if u.CachedKnown {
		dst = appendCount(dst, `,"prompt_tokens_details":{"cached_tokens":`, u.CachedTokens)
		dst = append(dst, '}')
	}
	dst = appendCount(dst, `,"completion_tokens_details":{"reasoning_tokens":`, u.ReasoningTokens)
	return append(dst, `}}`...)
}

// appendResponses writes the usage object of Responses. It has every member, so an unknown count is 0.
func (u Usage) appendResponses(dst []byte) []byte {
	u = u.visible()
	dst = appendCount(dst, `{"input_tokens":`, u.PromptTokens)
	dst = appendCount(dst, `,"input_tokens_details":{"cached_tokens":`, u.CachedTokens)
	dst = appendCount(dst, `,"cache_write_tokens":0},"output_tokens":`, u.CompletionTokens)
	dst = appendCount(dst, `,"output_tokens_details":{"reasoning_tokens":`, u.ReasoningTokens)
	dst = appendCount(dst, `},"total_tokens":`, u.PromptTokens+u.CompletionTokens)
	return append(dst, '}')
}

func appendCount(dst []byte, before string, n int) []byte {
	return rawjson.AppendInt(append(dst, before...), int64(n))
}
