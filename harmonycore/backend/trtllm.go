package backend

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// trtllm is the /v1/completions of TensorRT-LLM's trtllm-serve with token ids in both directions. The requests and
// events follow tensorrt_llm/serve: CompletionRequest in openai_protocol.py, which forbids unknown members, and
// completion_stream_post_processor in postprocess_handlers.py (e2e/requestmodels/testdata/README.md has the commits).
type trtllm struct{}

func (trtllm) Facts() *contract.Kind { return contract.KindNamed(contract.TRTLLM) }

func (trtllm) NewReader() Reader {
	r := &trtllmReader{}
	return &eventStream{read: r.read, fitted: r.fitted, variables: vllmVariables}
}

func (trtllm) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = appendPrompt(append(dst, `,"prompt":`...), r)
	dst = rawjson.AppendInt(append(dst, `,"max_tokens":`...), int64(r.MaxTokens))
	dst = appendVLLMSampling(dst, r)
	for _, m := range r.Sampling.Extras {
		if m.Name == "top_k" && m.JSON == "-1" {
			m.JSON = "0" // what means off here
		}
		dst = appendMember(dst, m)
	}
	dst = appendResponseFormat(dst, r)
	// Without include_stop_str_in_output the ids lack the stop token too.
	return append(dst, `,"detokenize":false,"include_stop_str_in_output":true,"stream":true,"stream_options":`+
		`{"include_usage":true}}`...)
}

// Cause looks at the message. The refusals have neither a parameter nor a code of their own, so only their words tell:
// the words of LLM._check_arguments in tensorrt_llm/llmapi/llm.py, and of _deduce_max_tokens in executor/base_worker.py
// for a prompt that leaves no room for an answer.
func (trtllm) Cause(e *Error) Cause {
	if e.Status == 400 && exceedsTRTLLMContext(e.Message) {
		return ContextExceeded
	}
	return OtherCause
}

func exceedsTRTLLMContext(message string) bool {
	for _, words := range [...]string{
		"should not exceed max_num_tokens", "should not exceed max_seq_len", "`default_max_tokens` (",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// trtllmReader reads the events of one stream. The engine may leave out the token that ended an answer: then the reader
// puts it back, so that the answer ends as it does at every other kind. A stream has one choice.
type trtllmReader struct {
	// last is the last token so far.
	last uint32
}

// fitted notes the last token of an event that was read by its template.
func (t *trtllmReader) fitted(e *Event) bool {
	if n := len(e.Tokens); n > 0 {
		t.last = e.Tokens[n-1]
	}
	return true
}

// read reads the data of one event. It reports whether it understood the data.
func (t *trtllmReader) read(data []byte, e *Event) bool {
	understood := readCompletions(data, e, t.readChoice)
	// An error within a stream has no status, and all errors have one type. That includes what the engine's own process
	// refuses, since the stream has begun by then.
	if e.Error != nil && e.Error.Status == 0 {
		e.Error.Status = 500
		if exceedsTRTLLMContext(e.Error.Message) {
			e.Error.Status = 400
		}
	}
	return understood
}

func (t *trtllmReader) readChoice(choice []byte, e *Event) {
	hasIDs := false
	// Without a stop_reason the answer ended with the tokenizer's own end, which is <|return|>.
	stop := uint32(tokenReturn)
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
		case "finish_reason":
			if it.Kind == rawjson.String {
				e.Finish = finishReason(it.Value)
			}
		case "stop_reason":
			if id, err := strconv.ParseUint(rawjson.View(it.Value), 10, 32); err == nil && it.Kind == rawjson.Number {
				stop = uint32(id)
			}
		}
	}
	if !hasIDs {
		e.Error = &Error{Status: 502, Message: "the inference server answers without token ids; it does not know detokenize"}
	}
	t.fitted(e)
	if e.Finish == Stopped && t.last != stop && !endsAnswer(t.last) {
		e.Tokens, t.last = append(e.Tokens, stop), stop
	}
}

// The tokens with which gpt-oss ends an answer, by its generation_config.json.
const (
	tokenEndOfText = 199999
	tokenReturn    = 200002
	tokenCall      = 200012
)

// endsAnswer reports whether gpt-oss ends an answer with this token.
func endsAnswer(id uint32) bool { return id == tokenReturn || id == tokenCall || id == tokenEndOfText }
