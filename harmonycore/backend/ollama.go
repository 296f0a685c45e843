package backend

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// ollama is Ollama's /api/generate with raw prompts: text in both directions, an event in each line. Its requests and
// events follow Ollama 0.33.0-rc2: GenerateRequest, Options and GenerateResponse in
// api/types.go (https://github.com/ollama/ollama/blob/main/api/types.go), GenerateHandler in server/routes.go.
type ollama struct{}

func (ollama) Facts() *contract.Kind { return contract.KindNamed(contract.Ollama) }

func (ollama) NewReader() Reader {
	return &eventStream{decoder: sse.Decoder{Lines: true}, read: readOllama, variables: ollamaVariables}
}

// Ollama writes the time into each line.
var ollamaVariables = []variable{{"", "response", gapText}, {"", "created_at", gapIgnored}}

// AppendRequest sends each sampling parameter whose default is not gpt-oss's: Ollama's top_k is 40, its top_p 0.9, its
// temperature 0.8, and its repeat_penalty was 1.1 for years. A model's own parameters come before those defaults.
//
//   - raw keeps the model's template away from the prompt.
//   - think: without it Ollama may take reasoning out of the text, by what it reads in the template.
//   - truncate, shift: without them Ollama drops the middle of a prompt or of an answer that does not fit.
//   - stop replaces the model's own stop strings. The two end an answer where a server prints them.
func (ollama) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserveText(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = rawjson.AppendString(append(dst, `,"prompt":`...), rawjson.View(r.PromptText))
	dst = append(dst, `,"raw":true,"think":false,"truncate":false,"shift":false,"stream":true`...)
	dst = rawjson.AppendInt(append(dst, `,"options":{"num_predict":`...), int64(r.MaxTokens))
	dst = append(dst, `,"stop":["<|return|>","<|call|>"]`...)
	dst = appendSampling(dst, &r.Sampling)
	dst = appendMember(dst, Member{"top_k", extraOf(r, "top_k", "0")})
	dst = appendMember(dst, Member{"min_p", extraOf(r, "min_p", "0")})
	dst = appendMember(dst, Member{"repeat_penalty", extraOf(r, "repetition_penalty", "1")})
	return append(dst, `}}`...)
}

// extraOf returns the client's value of an engine's parameter, or another if the client has sent none.
func extraOf(r *Request, name, otherwise string) string {
	for _, m := range r.Sampling.Extras {
		if m.Name == name {
			return m.JSON
		}
	}
	return otherwise
}

// Cause looks at the message, since Ollama's errors have nothing else. The first words are Ollama's own, the others
// its runners': llama.cpp's server, and before it one in Go.
func (ollama) Cause(e *Error) Cause {
	if e.Status != 400 {
		return OtherCause
	}
	for _, words := range [...]string{
		"longer than the context length", "exceeds the available context size", "exceeds the context length",
	} {
		if strings.Contains(e.Message, words) {
			return ContextExceeded
		}
	}
	return OtherCause
}

// readOllama reads one line. It reports whether it understood the line.
func readOllama(line []byte, e *Event) bool {
	e.reset()
	if rawjson.Validate(line, rawjson.MaxDepth) != nil {
		return false
	}
	understood, wrong, done := false, false, false
	reason := Aborted
	it := rawjson.Members(line)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "error":
			if it.Kind != rawjson.Null {
				e.Error = readErrorValue(it.Value, it.Kind)
				e.Error.Status = 500 // streamResponse says so of errors before the first line, and nothing of later ones
				understood = true
			}
		case "response":
			understood, wrong = true, wrong || it.Kind != rawjson.String
			if it.Kind == rawjson.String {
				e.Text = rawjson.AppendUnescaped(e.Text, it.Value)
			}
		case "thinking":
			// Without this error the reasoning would be lost silently.
			if it.Kind == rawjson.String && len(it.Value) > 0 {
				e.Error = &Error{Status: 502, Message: "the inference server takes the reasoning out of the answer; it does not " +
					"know think: false"}
			}
		case "done":
			done, wrong = string(it.Value) == "true", wrong || it.Kind != rawjson.Bool
		case "done_reason":
			if it.Kind == rawjson.String {
				reason = finishReason(it.Value)
			}
		}
	}
	if done {
		e.Finish, e.HasUsage, e.Last = reason, true, true
		e.Usage.Prompt, _ = readCount(line, "prompt_eval_count")
		e.Usage.Completion, _ = readCount(line, "eval_count")
	}
	return (understood || done) && !wrong
}
