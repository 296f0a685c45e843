package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// readUsage reads the count of tokens. It reports whether there is one.
func (r *chatReader) readUsage(value []byte, kind rawjson.Kind) bool {
	if kind != rawjson.Object {
		return false
	}
	r.hasUsage, r.usage = true, Usage{}
	u := &r.usage
	total := 0
	it := rawjson.Members(value)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "prompt_tokens":
			u.Prompt = max(readIndex(it.Value, it.Kind), 0)
		case "completion_tokens":
			u.Completion = max(readIndex(it.Value, it.Kind), 0)
		case "total_tokens":
			total = readIndex(it.Value, it.Kind)
		case "prompt_tokens_details":
			if n, ok := readCount(it.Value, "cached_tokens"); ok {
				u.Cached, u.HasCached = n, true
			}
		case "cached_tokens", "prompt_cache_hit_tokens": // Moonshot, DeepSeek
			if n := readIndex(it.Value, it.Kind); n >= 0 && !u.HasCached {
				u.Cached, u.HasCached = n, true
			}
		case "completion_tokens_details":
			if n, ok := readCount(it.Value, "reasoning_tokens"); ok {
				u.Reasoning, u.HasReasoning = n, true
			}
		case "reasoning_tokens": // SGLang
			if n := readIndex(it.Value, it.Kind); n >= 0 && !u.HasReasoning {
				u.Reasoning, u.HasReasoning = n, true
			}
		}
	}
	// xAI and Gemini leave reasoning out of completion_tokens.
	u.Completion = max(u.Completion, total-u.Prompt)
	return true
}
