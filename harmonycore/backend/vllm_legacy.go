package backend

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// vllmLegacy is the /v1/completions of a vLLM that does not know return_token_ids, which came with 0.10.2. It is asked
// for the logprob of each token, and names the tokens by their ids there. Requests and answers follow
// vllm/entrypoints/openai/protocol.py and serving_completion.py before that
// (https://github.com/vllm-project/vllm/blob/v0.10.1/vllm/entrypoints/openai/protocol.py).
type vllmLegacy struct{}

func (vllmLegacy) Facts() *contract.Kind { return contract.KindNamed(contract.VLLMLegacy) }

func (vllmLegacy) NewReader() Reader {
	return &eventStream{read: readVLLMLegacy, variables: vllmLegacyVariables}
}

// vllmLegacyVariables are what differs from token to token. The ids are in the logprobs.
var vllmLegacyVariables = []variable{
	{"choices", "index", gapIndex}, {"choices", "text", gapIgnored}, {"choices", "logprobs", gapNamedLogprobs},
}

func (vllmLegacy) AppendRequest(dst []byte, r *Request) []byte {
	asked := *r
	asked.Logprobs = true
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = appendPrompt(append(dst, `,"prompt":`...), r)
	dst = appendVLLMLimits(append(dst, ','), &asked)
	dst = appendVLLMSampling(append(dst, `,"return_tokens_as_token_ids":true`...), r)
	for _, m := range r.Sampling.Extras {
		dst = appendMember(dst, m)
	}
	return append(dst, `,"stream":true,"stream_options":{"include_usage":true}}`...)
}

// Cause looks at the message. These vLLMs name no parameter.
func (vllmLegacy) Cause(e *Error) Cause {
	if e.Status == 400 && strings.Contains(e.Message, "maximum context length is") {
		return ContextExceeded
	}
	return OtherCause
}

// readVLLMLegacy reads the data of one event. It reports whether it understood the data.
func readVLLMLegacy(data []byte, e *Event) bool {
	return readCompletions(data, e, readVLLMLegacyChoice)
}

func readVLLMLegacyChoice(choice []byte, e *Event) {
	hasText, hasIDs := false, false
	it := rawjson.Members(choice)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
		case "text":
			hasText = len(it.Value) > 0
		case "logprobs":
			if it.Kind == rawjson.Object {
				e.Tokens, hasIDs = readTokenNames(e.Tokens, it.Value)
				e.Logprobs = readLogprobs(e.Logprobs, it.Value)
			}
		case "finish_reason":
			if it.Kind == rawjson.String {
				e.Finish = finishReason(it.Value)
			}
		}
	}
	if hasText && !hasIDs {
		e.Error = &Error{Status: 502, Message: "the inference server answers with text instead of token ids; it does not " +
			"know return_tokens_as_token_ids"}
	}
}

// readTokenNames reads the ids out of the names of tokens in a logprobs object: {"tokens":["token_id:7"]}. It reports
// whether the object has names. One that does not name an id becomes an id that no vocabulary has.
func readTokenNames(dst []uint32, logprobs []byte) ([]uint32, bool) {
	names, kind := rawjson.Find(logprobs, "tokens")
	if kind != rawjson.Array {
		return dst, false
	}
	it := rawjson.Elements(names)
	for it.Next() {
		const unknown = 1<<32 - 1
		digits, ok := bytes.CutPrefix(it.Value, tokenIDPrefix)
		id, err := strconv.ParseUint(rawjson.View(digits), 10, 32)
		if !ok || err != nil || it.Kind != rawjson.String {
			id = unknown
		}
		dst = append(dst, uint32(id))
	}
	return dst, true
}
