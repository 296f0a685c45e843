package backend

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// vllmRender is a vLLM that renders conversations. A conversation goes to /v1/chat/completions/render. The answer is a
// whole request for /inference/v1/generate ([ReadRendered], [AppendRendered]), whose answer has text and the ids of its
// tokens. It follows vLLM 0.32.0, vllm/entrypoints/scale_out.
type vllmRender struct{}

func (vllmRender) Facts() *contract.Kind { return contract.KindNamed(contract.VLLMRender) }

// AppendRequest appends what is rendered: a Chat request.
func (vllmRender) AppendRequest(dst []byte, r *Request) []byte { return chat{}.AppendRequest(dst, r) }

func (vllmRender) NewReader() Reader {
	return &eventStream{read: readVLLMRender, fitted: fittedVLLMRender, variables: vllmRenderVariables}
}

// vllmRenderVariables are what differs from event to event.
var vllmRenderVariables = []variable{
	{"choices", "index", gapIndex}, {"choices", "token_ids", gapSampledIDs}, {"choices", "text", gapText},
	{"choices", "logprobs", gapTextLogprobs},
}

// Cause implements [Kind]. The render refuses a conversation in the words of a chat server, and the engine a prompt in
// those of the kind vllm-generate.
func (vllmRender) Cause(e *Error) Cause {
	if cause := (chat{}).Cause(e); cause != OtherCause {
		return cause
	}
	return vllmGenerate{}.Cause(e)
}

// readVLLMRender reads the data of one event. It reports whether it understood the data.
func readVLLMRender(data []byte, e *Event) bool {
	e.resetConversing()
	return readCompletions(data, e, readVLLMRenderChoice)
}

func readVLLMRenderChoice(choice []byte, e *Event) {
	hasText := false
	it := rawjson.Members(choice)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
		case "token_ids":
			if it.Kind == rawjson.Array {
				e.SampledIDs = readIDs(e.SampledIDs, it.Value)
				e.listsIDs = true
			}
		case "text":
			if hasText = it.Kind == rawjson.String; hasText {
				e.Text = rawjson.AppendUnescaped(e.Text, it.Value)
			}
		case "logprobs":
			e.readTextLogprobs(it.Value)
		case "finish_reason":
			if it.Kind == rawjson.String && len(it.Value) > 0 {
				e.Finish = finishReason(it.Value)
				e.Failed = e.Finish == Aborted
			}
		}
	}
	if !hasText || !e.listsIDs {
		e.Error = &Error{Status: 502, Message: "the inference server sent a choice without text and token ids, as a vLLM " +
			"before 0.32 does"}
	}
	fittedVLLMRender(e)
}

// fittedVLLMRender counts the tokens of an event. Each has an id, and some have no text: the beginnings of a character.
func fittedVLLMRender(e *Event) bool {
	e.TextTokens = len(e.SampledIDs)
	return true
}

// Rendered is a conversation as the server that renders it gives it back, apart from the ids of the prompt. Its values
// are JSON, and lie in that server's answer. One that is nil is absent.
type Rendered struct {
	// sampling is the object with the parameters of sampling. It also has the grammar of the answer.
	sampling []byte
	// reasoningEnded and parserKwargs say from where on the grammar holds.
	reasoningEnded, parserKwargs []byte
	// Media reports whether the prompt stands for more than its ids: images, or sound.
	Media bool
	// More reports whether the prompt has more ids than were read.
	More bool
}

// ReadRendered reads the answer of a server that renders a conversation. It appends the ids of the prompt to dst, at
// most limit of them. It reports whether it understood the answer.
func ReadRendered(dst []uint32, data []byte, limit int) ([]uint32, Rendered, bool) {
	var r Rendered
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return dst, r, false
	}
	understood := false
	it := rawjson.Members(data)
	for it.Next() {
		if it.Kind == rawjson.Null {
			continue
		}
		switch rawjson.View(it.Key) {
		case "token_ids":
			if understood || it.Kind != rawjson.Array {
				return dst, r, false
			}
			dst, r.More, understood = appendPromptIDs(dst, it.Value, limit)
		case "sampling_params":
			if it.Kind != rawjson.Object {
				return dst, r, false
			}
			r.sampling = it.Value
		case "features", "content_parts":
			r.Media = true
		case "reasoning_ended":
			if it.Kind == rawjson.Bool {
				r.reasoningEnded = it.Value
			}
		case "reasoning_parser_kwargs":
			if it.Kind == rawjson.Object {
				r.parserKwargs = it.Value
			}
		}
	}
	return dst, r, understood && r.sampling != nil
}

// appendPromptIDs appends the ids of an array, at most limit of them. more reports whether it has more. ok reports
// whether it has ids, and nothing else.
func appendPromptIDs(dst []uint32, array []byte, limit int) (out []uint32, more, ok bool) {
	n := 0
	it := rawjson.Elements(array)
	for it.Next() {
		if n == limit {
			return dst, true, true
		}
		id, end := readDigits(it.Value, 0)
		if it.Kind != rawjson.Number || end != len(it.Value) {
			return dst, false, false
		}
		dst = append(dst, uint32(id))
		n++
	}
	return dst, false, n > 0
}

// AppendRendered appends the body that asks the engine for the answer to a rendered conversation, as a stream. prompt
// has its ids. The conversation was rendered with the client's parameters of sampling. Its limit is replaced by
// maxTokens, because the gateway knows what is left of the model's context. Of extras the members count that are no
// parameters of sampling: the client may ask for a priority only if its operator lets it.
func AppendRendered(dst []byte, model string, prompt []uint32, maxTokens int, r *Rendered, extras []Member) []byte {
	need := len(prompt)*8 + len(r.sampling) + len(r.parserKwargs) + len(model) + 2048
	if cap(dst)-len(dst) < need {
		dst = append(make([]byte, 0, len(dst)+need+need/4), dst...)
	}
	dst = rawjson.AppendString(append(dst, `{"model":`...), model)
	dst = append(rawjson.AppendIDs(append(dst, `,"token_ids":`...), prompt), `,"sampling_params":{`...)
	it := rawjson.Members(r.sampling)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "max_tokens", "skip_special_tokens", "detokenize", "output_kind", "skip_clone":
			continue // the last two are the server's own business, and no parameters
		}
		dst = append(rawjson.AppendString(dst, rawjson.View(it.Key)), ':')
		dst = append(appendRaw(dst, &it), ',')
	}
	// The adapter of the model reads control tokens.
	dst = rawjson.AppendInt(append(dst, `"skip_special_tokens":false,"max_tokens":`...), int64(maxTokens))
	dst = append(dst, '}')
	if r.reasoningEnded != nil {
		dst = append(append(dst, `,"reasoning_ended":`...), r.reasoningEnded...)
	}
	if r.parserKwargs != nil {
		dst = append(append(dst, `,"reasoning_parser_kwargs":`...), r.parserKwargs...)
	}
	for _, m := range extras {
		if !isSamplingParameter(m.Name) {
			dst = appendMember(dst, m)
		}
	}
	return append(dst, `,"output_mode":"text","stream":true,"stream_options":{"include_usage":true}}`...)
}

// appendRaw appends a value as it is spelled.
func appendRaw(dst []byte, it *rawjson.Items) []byte {
	if it.Kind == rawjson.String {
		return append(append(append(dst, '"'), it.Value...), '"')
	}
	return append(dst, it.Value...)
}
