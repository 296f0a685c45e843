package backend

import (
	"strconv"
	"strings"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// vllmGenerate is vLLM's /inference/v1/generate. It takes and returns token ids and no text, so the engine does not
// detokenize. The requests and events are those of vLLM 0.33.0, vllm/entrypoints/scale_out/token_in_token_out.
type vllmGenerate struct{}

func (vllmGenerate) Facts() *contract.Kind { return contract.KindNamed(contract.VLLMGenerate) }

func (vllmGenerate) NewReader() Reader {
	return &eventStream{read: readVLLMGenerate, variables: vllmVariables}
}

func (vllmGenerate) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = appendIDs(append(dst, `,"token_ids":`...), r.Prompt)
	for _, m := range r.Sampling.Extras {
		if !isSamplingParameter(m.Name) {
			dst = appendMember(dst, m)
		}
	}
	dst = append(dst, `,"sampling_params":{`...)
	dst = appendVLLMLimits(dst, r)
	dst = appendVLLMSampling(dst, r)
	for _, m := range r.Sampling.Extras {
		if isSamplingParameter(m.Name) {
			dst = appendMember(dst, m)
		}
	}
	dst = append(appendStructuralTag(dst, r), `,"detokenize":false}`...)
	if len(r.StructuralTag) > 0 {
		// The tag also has the reasoning. Without this member a vLLM with a reasoning parser starts the tag after it.
		dst = append(dst, `,"reasoning_ended":true`...)
	}
	return append(dst, `,"stream":true,"stream_options":{"include_usage":true}}`...)
}

// isSamplingParameter reports whether an engine's parameter is one of vLLM's sampling_params. The others are members of
// the request itself.
func isSamplingParameter(name string) bool { return name != "cache_salt" && name != "priority" }

// Cause looks at the parameter that the refusal names, and at the message. The engine refuses a prompt that does not
// fit without a parameter and without a code, so only its words tell.
func (vllmGenerate) Cause(e *Error) Cause {
	if e.Status == 400 && e.Param == "" && strings.Contains(e.Message, "longer than the maximum model length") {
		return ContextExceeded
	}
	return vllm{}.Cause(e)
}

// readVLLMGenerate reads the data of one event. It reports whether it understood the data.
func readVLLMGenerate(data []byte, e *Event) bool {
	return readCompletions(data, e, readVLLMGenerateChoice)
}

func readVLLMGenerateChoice(choice []byte, e *Event) {
	hasIDs := false
	_ = jsonparser.ObjectEach(choice, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch rawjson.View(key) {
		case "index":
			e.Index = readIndex(value, kind)
		case "token_ids":
			if kind == jsonparser.Array {
				hasIDs = true
				e.Tokens = readIDs(e.Tokens, value)
			}
		case "logprobs":
			if kind == jsonparser.Object {
				e.Logprobs = readGenerateLogprobs(e.Logprobs, value)
			}
		case "finish_reason":
			if kind == jsonparser.String {
				e.Finish = finishReason(value)
			}
		}
		return nil
	})
	if !hasIDs {
		e.Error = &Error{Status: 502, Message: "the inference server sent a choice without token ids, which it never should"}
	}
}

// readGenerateLogprobs reads the logprobs object of a choice, whose array has one element per token:
//
//	{"content":[{"token_id":7,"logprob":-0.1,"rank":1,"top_logprobs":[{"token_id":7,"logprob":-0.1,"rank":1}]}]}
//
// It stops at the first element without a logprob, so the result may have fewer elements than there are tokens.
func readGenerateLogprobs(dst []TokenLogprob, data []byte) []TokenLogprob {
	content, _, _, err := jsonparser.Get(data, "content")
	if err != nil {
		return dst
	}
	invalid := false
	_, _ = jsonparser.ArrayEach(content, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
		if invalid = invalid || kind != jsonparser.Object; invalid {
			return
		}
		logprob, kind, _, err := jsonparser.Get(value, "logprob")
		if invalid = err != nil || kind != jsonparser.Number; invalid {
			return
		}
		dst = appendLogprob(dst, logprob)
		top, kind, _, err := jsonparser.Get(value, "top_logprobs")
		if err != nil || kind != jsonparser.Array {
			return
		}
		last := &dst[len(dst)-1]
		_, _ = jsonparser.ArrayEach(top, func(value []byte, kind jsonparser.ValueType, _ int, _ error) {
			if kind == jsonparser.Object {
				last.Top = readAlternative(last.Top, value)
			}
		})
	})
	return dst
}

// readAlternative reads an object with a token and its logprob.
func readAlternative(dst []Alternative, data []byte) []Alternative {
	token, _, _, err := jsonparser.Get(data, "token_id")
	if err != nil {
		return dst
	}
	id, err := strconv.ParseUint(string(token), 10, 32)
	if err != nil {
		return dst
	}
	logprob, kind, _, err := jsonparser.Get(data, "logprob")
	if err != nil || kind != jsonparser.Number {
		return dst
	}
	return appendAlternative(dst, Alternative{ID: uint32(id), Logprob: logprob})
}
