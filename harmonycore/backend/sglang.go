package backend

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// sglang is SGLang's /generate with token ids in both directions. Its requests and events follow SGLang 0.5.23:
// GenerateReqInput in sglang/srt/managers/io_struct.py, SamplingParams in sglang/srt/sampling/sampling_params.py.
type sglang struct{}

func (sglang) Facts() *contract.Kind { return contract.KindNamed(contract.SGLang) }

func (sglang) NewReader() Reader {
	r := &sglangReader{}
	r.repeated.trimmer = &r.trimmer
	return &eventStream{trim: r.trimmer.trim, read: r.read, fitted: r.fitted, variables: sglangVariables,
		template: template{repeated: &r.repeated}}
}

// sglangVariables are what differs from event to event. The text is not read.
var sglangVariables = []variable{
	{"", "text", gapRepeatedText}, {"", "output_ids", gapRepeatedIDs}, {"", "index", gapIndex},
	{"meta_info", "reasoning_tokens", gapIgnoredNumber}, {"meta_info", "completion_tokens", gapCounted},
}

// AppendRequest writes no model, which this path does not know. A server has one.
func (sglang) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = appendPrompt(append(dst, `{"input_ids":`...), r)
	for _, m := range r.Sampling.Extras {
		if !isSamplingParameter(m.Name) {
			dst = appendMember(dst, m)
		}
	}
	dst = rawjson.AppendInt(append(dst, `,"sampling_params":{"max_new_tokens":`...), int64(r.MaxTokens))
	if r.Choices > 1 {
		dst = rawjson.AppendInt(append(dst, `,"n":`...), int64(r.Choices))
	}
	dst = rawjson.AppendIDs(append(dst, `,"stop_token_ids":`...), r.StopTokens)
	dst = appendNumber(dst, `,"temperature":`, r.Sampling.Temperature)
	dst = appendNumber(dst, `,"top_p":`, positive(r.Sampling.TopP))
	dst = appendNumber(dst, `,"presence_penalty":`, r.Sampling.PresencePenalty)
	dst = appendNumber(dst, `,"frequency_penalty":`, r.Sampling.FrequencyPenalty)
	dst = appendNumber(dst, `,"sampling_seed":`, r.Sampling.Seed)
	dst = appendBiases(dst, r.Sampling.LogitBias)
	for _, m := range r.Sampling.Extras {
		if m.Name == "min_tokens" {
			m.Name = "min_new_tokens"
		}
		if isSamplingParameter(m.Name) {
			dst = appendMember(dst, m)
		}
	}
	if len(r.StructuralTag) > 0 {
		dst = rawjson.AppendString(append(dst, `,"structural_tag":`...), rawjson.View(r.StructuralTag))
	}
	// Both concern the text. The gateway does not read it, but SGLang's log of requests has it.
	dst = append(dst, `,"skip_special_tokens":false,"no_stop_trim":true}`...)
	if r.Logprobs {
		dst = rawjson.AppendInt(append(dst, `,"return_logprob":true,"top_logprobs_num":`...), int64(r.TopLogprobs))
	}
	if r.ThinkingBudget != nil {
		dst = rawjson.AppendInt(append(dst, `,"max_thinking_tokens":`...), int64(*r.ThinkingBudget))
	}
	return append(dst, `,"stream":true}`...)
}

// Cause looks at the message. SGLang's refusals have neither a parameter nor a code of their own, so only their words
// tell: the words of TokenizerManager._validate_one_request, and of validate_input_length for a prompt that the cache
// cannot hold.
func (sglang) Cause(e *Error) Cause {
	if e.Status != 400 {
		return OtherCause
	}
	for _, words := range [...]string{
		"model's context length", "model's maximum context length", "exceeds the maximum allowed length",
	} {
		if strings.Contains(e.Message, words) {
			return ContextExceeded
		}
	}
	return OtherCause
}
