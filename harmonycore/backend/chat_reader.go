package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// chatReader reads the chunks of one Chat Completions stream. Servers differ in where they put things, and every place
// is read in which a known server puts them.
type chatReader struct {
	// following goes through the choices of the last chunk that are not read yet. ahead reports whether it stands at one.
	following rawjson.Items
	ahead     bool
	// usage is the last chunk's. It comes with the last of its choices.
	usage    Usage
	hasUsage bool
	// whole reports whether the data is a whole answer, so that no other event follows.
	whole bool
	// inDeltas reports whether the answer has come in deltas so far. A message is then a repetition of them.
	inDeltas bool
	// calls are the calls of each choice.
	calls []chatCalls
	// chunk counts the chunks.
	chunk int
}

// maxChatChoices is how many choices a chatReader distinguishes. OpenAI's API has no larger n.
const maxChatChoices = 128

// chatVariables are what differs from chunk to chunk.
var chatVariables = []variable{
	{"", "id", gapIgnored}, {"", "created", gapIgnoredNumber}, {"", "obfuscation", gapIgnored},
	{"choices", "index", gapIndex}, {"choices.delta", "content", gapText},
}

// read reads the data of one event. It reports whether it understood the data.
func (r *chatReader) read(data []byte, e *Event) bool {
	e.reset()
	if rawjson.View(data) == "[DONE]" {
		e.Done = true
		return true
	}
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	r.chunk++
	r.following, r.hasUsage = rawjson.Items{}, false
	understood := false
	it := rawjson.Members(data)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "error":
			if it.Kind != rawjson.Null {
				e.Error = readErrorValue(it.Value, it.Kind)
				understood = true
			}
		case "object":
			if it.Kind == rawjson.String && rawjson.View(it.Value) == "error" && e.Error == nil {
				e.Error = readErrorValue(data, rawjson.Object)
				understood = true
			}
		case "choices":
			if it.Kind == rawjson.Array {
				r.following = rawjson.Elements(it.Value)
				understood = true
			}
		case "usage":
			understood = r.readUsage(it.Value, it.Kind) || understood
		case "x_groq": // in the last chunk
			if usage, kind := rawjson.Find(it.Value, "usage"); !r.hasUsage {
				understood = r.readUsage(usage, kind) || understood
			}
		case "prompt_token_ids":
			if it.Kind == rawjson.Array {
				e.PromptIDs = readIDs(e.PromptIDs, it.Value)
			}
		}
	}
	r.advance()
	r.next(e)
	return understood
}

// more reads the next choice of the last chunk. It reports whether there is one.
func (r *chatReader) more(e *Event) bool {
	if !r.ahead {
		return false
	}
	e.reset()
	r.next(e)
	return true
}

// fitted does the rest of read for an event that was read by its template.
func (r *chatReader) fitted(*Event) bool { return true }

// next reads the choice that is next, if there is one. What concerns the whole request comes with the last choice.
func (r *chatReader) next(e *Event) {
	if r.ahead {
		choice := r.following.Value
		r.advance()
		r.readChoice(choice, e)
	}
	e.split = r.ahead
	if !r.ahead {
		e.Usage, e.HasUsage, e.Done = r.usage, r.hasUsage, r.whole
		if !r.hasUsage {
			e.Usage = Usage{}
		}
	}
}

// advance goes to the next choice.
func (r *chatReader) advance() {
	r.ahead = false
	for !r.ahead && r.following.Next() {
		r.ahead = r.following.Kind == rawjson.Object
	}
}

func (r *chatReader) readChoice(choice []byte, e *Event) {
	var message []byte
	hasDelta, hasText := false, false
	it := rawjson.Members(choice)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			if e.Index = readIndex(it.Value, it.Kind); e.Index >= maxChatChoices {
				e.Index = -1 // which was never asked for
			}
		case "delta":
			if it.Kind == rawjson.Object {
				hasDelta, r.inDeltas = true, true
			}
		case "message":
			message = it.Value
		case "text":
			hasText = it.Kind == rawjson.String && len(it.Value) > 0
		case "finish_reason":
			if it.Kind == rawjson.String && len(it.Value) > 0 {
				e.Finish = chatFinish(it.Value)
			}
		case "token_ids":
			if it.Kind == rawjson.Array {
				e.SampledIDs = readIDs(e.SampledIDs, it.Value)
			}
		case "error":
			if it.Kind != rawjson.Null {
				e.Error = readErrorValue(it.Value, it.Kind)
			}
		}
	}
	// The choice's index is known only now.
	switch {
	case hasDelta:
		delta, _ := rawjson.Find(choice, "delta")
		r.readMessage(delta, e)
	case message != nil && !r.inDeltas:
		r.readMessage(message, e)
	case hasText:
		e.Error = &Error{Status: 502, Message: "the inference server sent text without a message"}
	}
}

// chatFinish maps finish_reason. Servers in front of other APIs pass on the words of those.
func chatFinish(word []byte) Finish {
	switch rawjson.View(word) {
	case "stop", "tool_calls", "function_call", "eos", "eos_token", "stop_sequence", "end_turn", "tool_use", "STOP":
		return Stopped
	case "length", "max_tokens", "model_length", "MAX_TOKENS":
		return Length
	case "content_filter", "sensitive", "SAFETY":
		return Filtered
	default:
		return Aborted
	}
}

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
	// xAI and Gemini leave the reasoning out of completion_tokens.
	u.Completion = max(u.Completion, total-u.Prompt)
	return true
}
