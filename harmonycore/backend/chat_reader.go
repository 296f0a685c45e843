package backend

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// chatReader reads the chunks of one Chat Completions stream. Servers differ in where they put things, and every place
// is read in which a known server puts them.
type chatReader struct {
	// following goes through the choices of the last chunk that are not read yet. ahead reports whether it is at one.
	following rawjson.Items
	ahead     bool
	// usage is the last chunk's. It comes with the last of its choices.
	usage    Usage
	hasUsage bool
	// whole reports whether the data is a whole answer, so that no other event follows.
	whole bool
	// inDeltas reports whether a part of the answer has come in a delta. A message then repeats the deltas.
	inDeltas bool
	// calls has the calls of each choice.
	calls []chatCalls
	// chunk counts the chunks that were parsed.
	chunk int32
}

// maxChatChoices is how many choices a chatReader distinguishes. OpenAI's API has no larger n.
const maxChatChoices = 128

// chatVariables are what differs from chunk to chunk. Some servers write the time into each chunk, or another id, and
// OpenAI a text of random length.
var chatVariables = []variable{
	{"", "id", gapIgnored}, {"", "created", gapIgnoredNumber}, {"", "obfuscation", gapIgnored},
	{"choices", "index", gapIndex}, {"choices", "token_ids", gapSampledIDs}, {"choices", "logprobs", gapTextLogprobs},
	{"choices.delta", "content", gapText}, {"choices.delta", "reasoning_content", gapReasoning},
	{"choices.delta", "reasoning", gapReasoning}, {"choices.delta", "reasoning_text", gapReasoning},
	{"choices.delta.reasoning_details", "text", gapReasoning},
	{"choices.delta.tool_calls.function", "arguments", gapArguments},
}

// read reads the data of one event. It reports whether it understood the data.
func (r *chatReader) read(data []byte, e *Event) bool {
	e.resetConversing()
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
			switch rawjson.View(it.Value) {
			case "error":
				if e.Error == nil {
					e.Error = readErrorValue(data, rawjson.Object)
				}
				understood = true
			case "chat.completion.chunk":
				understood = true
			}
		case "type": // of servers in front of Anthropic's
			understood = understood || rawjson.View(it.Value) == "ping"
		case "base_resp":
			understood = e.readBaseResponse(it.Value) || understood
		case "choices":
			if it.Kind == rawjson.Array {
				r.following = rawjson.Elements(it.Value)
				understood = true
			}
		case "usage":
			understood = r.readUsage(it.Value, it.Kind) || understood
		case "x_groq": // in Groq's last chunk
			if usage, kind := rawjson.Find(it.Value, "usage"); !r.hasUsage {
				understood = r.readUsage(usage, kind) || understood
			}
		case "prompt_token_ids":
			if it.Kind == rawjson.Array {
				e.PromptIDs = readIDs(e.PromptIDs, it.Value)
				e.unique = e.unique || len(e.PromptIDs) > 0
			}
		}
	}
	r.advance()
	r.next(e)
	return understood
}

// readBaseResponse reads the member with which MiniMax says what is wrong, in answers with the status 200. It reports
// whether something is.
func (e *Event) readBaseResponse(value []byte) bool {
	code, kind := rawjson.Find(value, "status_code")
	if kind != rawjson.Number || rawjson.View(code) == "0" {
		return false
	}
	message, kind := rawjson.Find(value, "status_msg")
	e.Error = &Error{Message: scalar(message, kind)}
	return true
}

// more reads the next choice of the last chunk. It reports whether there is one.
func (r *chatReader) more(e *Event) bool {
	if !r.ahead {
		return false
	}
	e.resetConversing()
	r.next(e)
	return true
}

// next reads the choice that is next, if there is one. Members of the whole request come with the last choice.
func (r *chatReader) next(e *Event) {
	if r.ahead {
		choice := r.following.Value
		r.advance()
		e.unique = e.unique || r.ahead
		r.readChoice(choice, e)
	}
	if r.ahead {
		return
	}
	e.Done = r.whole
	if r.hasUsage {
		e.Usage, e.HasUsage = r.usage, true
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
	var delta, message []byte
	hasText := false
	it := rawjson.Members(choice)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
		case "delta":
			if it.Kind == rawjson.Object {
				delta = it.Value
			}
		case "message":
			message = it.Value
		case "text":
			hasText = it.Kind == rawjson.String && len(it.Value) > 0
		case "finish_reason", "finishReason": // Gemini's first servers
			if it.Kind == rawjson.String && len(it.Value) > 0 {
				e.Finish = chatFinish(it.Value)
				e.Failed = e.Finish == Aborted && isFailure(it.Value)
			}
		case "token_ids":
			if it.Kind == rawjson.Array {
				e.SampledIDs = readIDs(e.SampledIDs, it.Value)
				e.listsIDs = true
			}
		case "logprobs":
			e.readTextLogprobs(it.Value)
		case "usage": // in Moonshot's last chunk
			if !r.hasUsage {
				r.readUsage(it.Value, it.Kind)
			}
		case "error":
			if it.Kind != rawjson.Null {
				e.Error = readErrorValue(it.Value, it.Kind)
			}
		}
	}
	r.place(e)
	switch {
	case delta != nil:
		r.inDeltas = true
		r.readMessage(delta, e)
	case message != nil && !r.inDeltas:
		r.readMessage(message, e)
	case hasText && message == nil:
		e.Error = &Error{Status: 502, Message: "the inference server sent text without a message"}
	}
	if e.Finish != Running && r.holds(e.Index) {
		e.Error = errNamelessCall()
	}
}

// fitted does the rest of read for an event that was read by its template.
func (r *chatReader) fitted(e *Event) bool {
	r.place(e)
	if len(e.Calls) > 0 {
		p := chatPiece{index: int32(e.Calls[0].Index), text: e.Calls[0].Arguments}
		e.Calls = e.Calls[:0]
		r.add(&p, e)
	}
	return true
}

// place does what is left to do when the members of a choice are read that can stand in any order.
func (r *chatReader) place(e *Event) {
	if e.Index >= maxChatChoices {
		e.Index = -1 // which was never asked for
	}
	if !e.listsIDs {
		e.SampledIDs, e.namedIDs = e.namedIDs, e.SampledIDs
	}
}

// chatFinish maps finish_reason. Servers in front of other APIs pass on the words of those.
func chatFinish(word []byte) Finish {
	switch rawjson.View(word) {
	case "stop", "tool_calls", "function_call", "eos", "eos_token", "stop_sequence", "end_turn", "tool_use", "STOP":
		return Stopped
	case "length", "max_tokens", "model_length", "MAX_TOKENS":
		return Length
	case "repetition":
		return Repeated
	case "sensitive", "safety", "SAFETY", "guardrail_intervened", "refusal":
		return Filtered
	}
	if bytes.HasPrefix(word, contentFilter) { // some servers name the filter
		return Filtered
	}
	return Aborted
}

// isFailure reports whether a finish_reason says that the server has given up.
func isFailure(word []byte) bool {
	switch rawjson.View(word) {
	case "abort", "aborted", "cancelled", "canceled", "error", "timeout", // vLLM, SGLang, TensorRT-LLM
		"insufficient_system_resource", "network_error": // DeepSeek, Zhipu
		return true
	}
	return false
}

var contentFilter = []byte("content_filter")
