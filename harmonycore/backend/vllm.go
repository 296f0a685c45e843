package backend

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// vllm is vLLM's /v1/completions with token ids in both directions. Every vLLM since 0.10.2 has it (docs/vllm.md).
type vllm struct{}

func (vllm) Facts() *contract.Kind { return contract.KindNamed(contract.VLLM) }

func (vllm) NewReader() Reader {
	return &eventStream{trim: new(promptTrimmer).trim, read: readVLLM, variables: vllmLogprobsVariables}
}

// vllmVariables are what differs from token to token. The text is not read. vllmLogprobsVariables are for events
// whose logprobs have vLLM's older form.
var (
	vllmVariables = []variable{
		{"choices", "index", gapIndex}, {"choices", "text", gapIgnored}, {"choices", "token_ids", gapIDs},
	}
	vllmLogprobsVariables = append(vllmVariables[:3:3], variable{"choices", "logprobs", gapLogprobs})
)

func (vllm) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = appendPrompt(append(dst, `,"prompt":`...), r)
	dst = appendVLLMLimits(append(dst, ','), r)
	if r.Logprobs {
		// Two tokens may have the same text, and a part of a character has none. Only ids distinguish them.
		dst = append(dst, `,"return_tokens_as_token_ids":true`...)
	}
	dst = appendVLLMSampling(dst, r)
	for _, m := range r.Sampling.Extras {
		dst = appendMember(dst, m)
	}
	dst = appendStructuralTag(dst, r)
	// The request has no options for the text, which is not read. vLLM's Rust front end refuses some of them.
	return append(dst, `,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true}`...)
}

// reserve returns dst with room for the request.
func reserve(dst []byte, r *Request) []byte {
	// An id takes at most six digits and a comma.
	need := len(r.Prompt)*7 + r.KnownSize + len(r.Model) + 2*len(r.StructuralTag) + 512
	if cap(dst)-len(dst) >= need {
		return dst
	}
	return append(make([]byte, 0, len(dst)+need+need/4), dst...)
}

// appendVLLMLimits appends how much is to be generated and reported. It begins without a comma.
func appendVLLMLimits(dst []byte, r *Request) []byte {
	dst = rawjson.AppendInt(append(dst, `"max_tokens":`...), int64(r.MaxTokens))
	if r.Choices > 1 {
		dst = rawjson.AppendInt(append(dst, `,"n":`...), int64(r.Choices))
	}
	if r.Logprobs {
		dst = rawjson.AppendInt(append(dst, `,"logprobs":`...), int64(r.TopLogprobs))
	}
	return dst
}

// appendVLLMSampling appends the sampling parameters that have the same names on all of vLLM's paths.
func appendVLLMSampling(dst []byte, r *Request) []byte {
	dst = rawjson.AppendIDs(append(dst, `,"stop_token_ids":`...), r.StopTokens)
	dst = appendSampling(dst, &r.Sampling)
	if r.ThinkingBudget != nil {
		dst = rawjson.AppendInt(append(dst, `,"thinking_token_budget":`...), int64(*r.ThinkingBudget))
	}
	return appendBiases(dst, r.Sampling.LogitBias)
}

// appendStructuralTag appends the constraint, if there is one. The tag is JSON inside a JSON string. It starts at the
// first token of the answer. A vLLM that starts it at the end of the reasoning is too old for it
// (docs/configuration.md, structured_outputs).
func appendStructuralTag(dst []byte, r *Request) []byte {
	if len(r.StructuralTag) == 0 {
		return dst
	}
	dst = rawjson.AppendString(append(dst, `,"structured_outputs":{"structural_tag":`...), rawjson.View(r.StructuralTag))
	return append(dst, '}')
}

func appendMember(dst []byte, m Member) []byte {
	return append(append(append(append(dst, `,"`...), m.Name...), `":`...), m.JSON...)
}

// Cause looks at the parameter that vLLM's refusal names. The Python front end also names input_tokens if prompt and
// max_tokens together do not fit. The Rust front end refuses every n but 1. A server with the backend guidance has
// parameters for none of its refusals, and fails at every tag for lack of the member triggers, which an older form of
// tags had.
func (vllm) Cause(e *Error) Cause {
	switch {
	case e.Status != 400:
		return OtherCause
	case e.Param == "input_tokens":
		return ContextExceeded
	case e.Param == "n":
		return ChoicesRefused
	case strings.Contains(e.Message, lacksTriggers):
		return TagsRefused
	default:
		return OtherCause
	}
}

// lacksTriggers is what vLLM says of a tag under its backend guidance.
const lacksTriggers = "Invalid grammar specification: 'triggers'"

// readVLLM reads the data of one event. It reports whether it understood the data.
func readVLLM(data []byte, e *Event) bool { return readCompletions(data, e, readVLLMChoice) }

func readVLLMChoice(choice []byte, e *Event) {
	hasText, hasIDs := false, false
	it := rawjson.Members(choice)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
		case "text":
			hasText = len(it.Value) > 0
		case "token_ids":
			if it.Kind == rawjson.Array {
				hasIDs = true
				e.Tokens = readIDs(e.Tokens, it.Value)
			}
		case "logprobs":
			if it.Kind == rawjson.Object {
				e.Logprobs = readLogprobs(e.Logprobs, it.Value)
			}
		case "finish_reason":
			if it.Kind == rawjson.String {
				e.Finish = finishReason(it.Value)
			}
		}
	}
	// An old server ignores the request for token ids. Without this error its text would be lost silently.
	if hasText && !hasIDs {
		e.Error = &Error{Status: 502, Message: noTokenIDs}
	}
}

const noTokenIDs = "the inference server answers with text instead of token ids; it does not know return_token_ids"

// LacksTokenIDs reports whether the error is that of an answer in text where token ids were asked for.
func (e *Error) LacksTokenIDs() bool { return e.Message == noTokenIDs }

// readIDs reads an array of ids from validated JSON. An element that is not an id (negative, fractional, a string)
// becomes an id that no vocabulary has, so that the parser counts it.
func readIDs(dst []uint32, array []byte) []uint32 {
	const unknown = 1<<32 - 1
	id, digits, invalid := uint64(0), 0, false
	for _, c := range array {
		switch {
		case c >= '0' && c <= '9':
			id = id*10 + uint64(c-'0')
			digits++
			invalid = invalid || id >= unknown
			if invalid {
				id = 0
			}
		case c == ',' || c == ']':
			if digits > 0 || invalid {
				if invalid {
					id = unknown
				}
				dst = append(dst, uint32(id))
			}
			id, digits, invalid = 0, 0, false
		case c != '[' && c != ' ' && c != '\n' && c != '\r' && c != '\t':
			invalid = true
		}
	}
	return dst
}
