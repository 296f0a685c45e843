package backend

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// text is any server with OpenAI's /v1/completions, with text in both directions. The request has only members of
// OpenAI's own API, since some servers refuse others.
type text struct{}

func (text) Facts() *contract.Kind { return contract.KindNamed(contract.Text) }

func (text) NewReader() Reader { return &eventStream{read: readText, variables: textVariables} }

// textVariables are what differs from event to event.
var textVariables = []variable{{"choices", "index", gapIndex}, {"choices", "text", gapText}}

func (text) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserveText(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = rawjson.AppendString(append(dst, `,"prompt":`...), rawjson.View(r.PromptText))
	dst = rawjson.AppendInt(append(dst, `,"max_tokens":`...), int64(r.MaxTokens))
	if r.Choices > 1 {
		dst = rawjson.AppendInt(append(dst, `,"n":`...), int64(r.Choices))
	}
	// A server that hides control tokens from the text ends at its own end-of-sequence tokens.
	dst = append(dst, `,"stop":["<|return|>","<|call|>"]`...)
	dst = appendSampling(dst, &r.Sampling)
	dst = appendBiases(dst, r.Sampling.LogitBias)
	for _, m := range r.Sampling.Extras {
		dst = appendMember(dst, m)
	}
	return append(dst, `,"stream":true,"stream_options":{"include_usage":true}}`...)
}

// reserveText gives dst room for a request whose prompt is text.
func reserveText(dst []byte, r *Request) []byte {
	// Most texts have few bytes that JSON escapes.
	need := len(r.PromptText) + len(r.PromptText)/8 + len(r.Model) + 512
	if cap(dst)-len(dst) >= need {
		return dst
	}
	return append(make([]byte, 0, len(dst)+need+need/4), dst...)
}

// Cause implements [Kind]. The servers are of many makes, many of them vLLMs, and no error text of theirs is matched.
func (text) Cause(e *Error) Cause {
	if e.Code == contract.CodeContextLengthExceeded { // OpenAI's own
		return ContextExceeded
	}
	return vllm{}.Cause(e)
}

// readText reads the data of one event. It reports whether it understood the data.
func readText(data []byte, e *Event) bool { return readCompletions(data, e, readTextChoice) }

func readTextChoice(choice []byte, e *Event) {
	hasText, wrong := false, false
	it := rawjson.Members(choice)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
		case "text":
			hasText = true
			if it.Kind == rawjson.String {
				e.Text = rawjson.AppendUnescaped(e.Text, it.Value)
			} else {
				wrong = it.Kind != rawjson.Null
			}
		case "finish_reason":
			if it.Kind == rawjson.String && len(it.Value) > 0 {
				e.Finish = chatFinish(it.Value) // the servers are of as many makes
			}
		}
	}
	// Chunks of Chat Completions have none. Without this error their text would be lost silently.
	if wrong || !hasText && e.Finish == Running {
		e.Error = &Error{Status: 502, Message: "the inference server sent a choice without text"}
	}
}
