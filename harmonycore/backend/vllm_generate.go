package backend

import (
	"strconv"
	"strings"

	"github.com/buger/jsonparser"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// vllmGenerate is vLLM's /inference/v1/generate. It takes and returns token ids and no text, so the engine does not
// detokenize. The requests and events follow vLLM 0.33.0, vllm/entrypoints/scale_out/token_in_token_out.
type vllmGenerate struct{}

func (vllmGenerate) Facts() *contract.Kind { return contract.KindNamed(contract.VLLMGenerate) }

func (vllmGenerate) NewReader() Reader {
	return &eventStream{read: readVLLMGenerate, variables: vllmVariables}
}

func (vllmGenerate) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = appendPrompt(append(dst, `,"token_ids":`...), r)
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
// fit without a parameter and without a code, so only its words tell. With its default backend, auto, vLLM tries a tag that
// xgrammar refuses with guidance, and answers with the words of that one. So they do not tell whether it takes other tags.
func (vllmGenerate) Cause(e *Error) Cause {
	if e.Status == 400 && e.Param == "" && strings.Contains(e.Message, "longer than the maximum model length") {
		return ContextExceeded
	}
	cause := vllm{}.Cause(e)
	if cause == TagsRefused {
		return TagRefused
	}
	return cause
}

// readVLLMGenerate reads the data of one event. It reports whether it understood the data.
func readVLLMGenerate(data []byte, e *Event) bool {
	return readCompletions(data, e, readVLLMGenerateChoice)
}

func readVLLMGenerateChoice(choice []byte, e *Event) {
	hasIDs := false
	it := rawjson.Members(choice)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
		case "token_ids":
			if it.Kind == rawjson.Array {
				hasIDs = true
				e.Tokens = readIDs(e.Tokens, it.Value)
			}
		case "logprobs":
			if it.Kind == rawjson.Object {
				e.Logprobs = readGenerateLogprobs(e.Logprobs, it.Value)
			}
		case "finish_reason":
			if it.Kind == rawjson.String {
				e.Finish = finishReason(it.Value)
			}
		}
	}
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
	content, _ := rawjson.Find(data, "content")
	it := rawjson.Elements(content)
	for it.Next() && it.Kind == rawjson.Object {
		logprob, kind := rawjson.Find(it.Value, "logprob")
		if kind != rawjson.Number {
			break
		}
		dst = appendLogprob(dst, logprob)
		last := &dst[len(dst)-1]
		top, _ := rawjson.Find(it.Value, "top_logprobs")
		other := rawjson.Elements(top)
		for other.Next() {
			if other.Kind == rawjson.Object {
				last.Top = readAlternative(last.Top, other.Value)
			}
		}
	}
	return dst
}

// readAlternative reads an object with a token and its logprob.
func readAlternative(dst []Alternative, data []byte) []Alternative {
	var token, logprob []byte
	_ = jsonparser.ObjectEach(data, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		switch {
		case kind != jsonparser.Number:
		case rawjson.View(key) == "token_id":
			token = value
		case rawjson.View(key) == "logprob":
			logprob = value
		}
		return nil
	})
	id, err := strconv.ParseUint(rawjson.View(token), 10, 32)
	if err != nil || logprob == nil {
		return dst
	}
	return appendAlternative(dst, Alternative{ID: uint32(id), Logprob: logprob})
}
