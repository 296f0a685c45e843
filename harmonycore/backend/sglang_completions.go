package backend

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// sglangCompletions is SGLang's /v1/completions with token ids in both directions. The requests and events follow
// SGLang 0.5.23: CompletionRequest and CompletionStreamResponse in sglang/srt/entrypoints/openai/protocol.py, and
// serving_completions.py beside it. An event has only what is new, also without --incremental-streaming-output.
type sglangCompletions struct{}

func (sglangCompletions) Facts() *contract.Kind {
	return contract.KindNamed(contract.SGLangCompletions)
}

// NewReader returns vLLM's reader: SGLang has the same members where the gateway reads any.
func (sglangCompletions) NewReader() Reader { return vllm{}.NewReader() }

func (sglangCompletions) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = appendPrompt(append(dst, `,"prompt":`...), r)
	dst = rawjson.AppendInt(append(dst, `,"max_tokens":`...), int64(r.MaxTokens))
	if r.Choices > 1 {
		dst = rawjson.AppendInt(append(dst, `,"n":`...), int64(r.Choices))
	}
	dst = rawjson.AppendIDs(append(dst, `,"stop_token_ids":`...), r.StopTokens)
	dst = appendSampling(dst, &r.Sampling)
	dst = appendBiases(dst, r.Sampling.LogitBias)
	for _, m := range r.Sampling.Extras {
		dst = appendMember(dst, m)
	}
	dst = appendResponseFormat(dst, r)
	// The first two concern the text. The gateway does not read it, but SGLang's log of requests has it.
	return append(dst, `,"skip_special_tokens":false,"no_stop_trim":true,"stream":true,"stream_options":`+
		`{"include_usage":true},"return_token_ids":true}`...)
}

// appendResponseFormat appends the constraint, if there is one, where a structural tag is a kind of response_format.
func appendResponseFormat(dst []byte, r *Request) []byte {
	if len(r.StructuralTag) == 0 {
		return dst
	}
	return append(append(dst, `,"response_format":`...), r.StructuralTag...)
}

// Cause looks at the message, which is the same as for /generate.
func (sglangCompletions) Cause(e *Error) Cause { return sglang{}.Cause(e) }
