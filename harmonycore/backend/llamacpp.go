package backend

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// llamacpp is the /completion of llama.cpp's server, with token ids in and text out. The ids of an answer only tell
// control tokens from text: inside a character of several tokens the server leaves ids out (RATIONALE.md#106). Requests
// and events follow llama.cpp b11434, tools/server/README.md; e2e/llamacpp/testdata has what the server sends.
type llamacpp struct{}

func (llamacpp) Facts() *contract.Kind { return contract.KindNamed(contract.LlamaCPP) }

func (llamacpp) NewReader() Reader {
	r := &llamaReader{}
	return &eventStream{read: r.read, fitted: r.fitted, variables: llamaVariables}
}

// llamaVariables are what differs from token to token.
var llamaVariables = []variable{
	{"", "index", gapIndex}, {"", "content", gapText}, {"", "tokens", gapIDs}, {"", "tokens_predicted", gapCounted},
}

// AppendRequest names every sampler: the server's own defaults are not gpt-oss's, and its operator may have set others.
func (llamacpp) AppendRequest(dst []byte, r *Request) []byte {
	dst = reserve(dst, r)
	dst = rawjson.AppendString(append(dst, `{"model":`...), r.Model)
	dst = appendPrompt(append(dst, `,"prompt":`...), r)
	dst = rawjson.AppendInt(append(dst, `,"n_predict":`...), int64(r.MaxTokens))
	if r.Choices > 1 {
		dst = rawjson.AppendInt(append(dst, `,"n":`...), int64(r.Choices))
	}
	s := &r.Sampling
	// Temperature comes before the samplers that cut off the tail, as in the other engines.
	dst = append(dst, `,"samplers":["penalties","temperature","top_k","top_p","min_p"]`...)
	dst = append(dst, `,"mirostat":0,"dynatemp_range":0,"repeat_last_n":64`...)
	dst = appendNumber(dst, `,"temperature":`, s.Temperature)
	dst = appendNumber(dst, `,"top_p":`, positive(s.TopP))
	dst = appendNumber(dst, `,"top_k":`, s.extra("top_k", "0"))
	dst = appendNumber(dst, `,"min_p":`, s.extra("min_p", "0"))
	dst = appendNumber(dst, `,"repeat_penalty":`, s.extra("repetition_penalty", "1"))
	dst = appendNumber(dst, `,"presence_penalty":`, numberOr(s.PresencePenalty, "0"))
	dst = appendNumber(dst, `,"frequency_penalty":`, numberOr(s.FrequencyPenalty, "0"))
	dst = appendNumber(dst, `,"seed":`, numberOr(s.Seed, "-1"))
	dst = appendBiases(dst, s.LogitBias)
	if len(r.StructuralTag) > 0 {
		dst = rawjson.AppendString(append(dst, `,"grammar":`...), rawjson.View(r.StructuralTag))
	}
	// The token that ends an answer is shown only if it is preserved. Without response_fields the last event would repeat
	// the prompt as text.
	return append(dst, `,"stop":[],"preserved_tokens":["<|return|>","<|call|>","<|endoftext|>"],`+
		`"response_fields":["index",`+
		`"content","tokens","stop","stop_type","tokens_predicted","tokens_evaluated","timings"],"stream":true}`...)
}

// extra returns the engine's parameter with this name, or otherwise.
func (s *Sampling) extra(name, otherwise string) string {
	for _, m := range s.Extras {
		if m.Name == name {
			return m.JSON
		}
	}
	return otherwise
}

func numberOr(number, otherwise string) string {
	if number == "" {
		return otherwise
	}
	return number
}

// Cause looks at the type of the error. More choices than the server has slots are refused with a message about "n".
func (llamacpp) Cause(e *Error) Cause {
	switch {
	case e.Status != 400:
		return OtherCause
	case e.Type == "exceed_context_size_error":
		return ContextExceeded
	case strings.HasPrefix(e.Message, "Field 'n':"):
		return ChoicesRefused
	default:
		return OtherCause
	}
}

// The bounds of a stream: how many choices a llamaReader distinguishes (OpenAI's API has no larger n), and how many
// tokens a server may count.
const (
	maxLlamaChoices = 128
	maxLlamaTokens  = 1 << 24
)

// llamaReader reads the events of one stream.
type llamaReader struct {
	// predicted holds the server's count of tokens of each choice.
	predicted []int
}

// read reads the data of one event. It reports whether it understood the data.
func (r *llamaReader) read(data []byte, e *Event) bool {
	e.reset()
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	predicted, hasContent, stop := -1, false, false
	var usage Usage
	it := rawjson.Members(data)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "error":
			if it.Kind != rawjson.Null {
				e.Error = readErrorValue(it.Value, it.Kind)
			}
		case "index":
			e.Index = readIndex(it.Value, it.Kind)
		case "content":
			if hasContent = it.Kind == rawjson.String; hasContent {
				e.Text = rawjson.AppendUnescaped(e.Text, it.Value)
			}
		case "tokens":
			if it.Kind == rawjson.Array {
				e.Tokens = readIDs(e.Tokens, it.Value)
			}
		case "stop":
			stop = it.Kind == rawjson.Bool && string(it.Value) == "true"
		case "stop_type":
			if it.Kind == rawjson.String {
				e.Finish = llamaFinish(it.Value)
			}
		case "tokens_predicted":
			predicted = readIndex(it.Value, it.Kind)
		case "tokens_evaluated":
			usage.Prompt = max(readIndex(it.Value, it.Kind), 0)
		case "timings":
			usage.Cached, usage.HasCached = readCount(it.Value, "cache_n")
		}
	}
	switch {
	case e.Error != nil:
		return true
	case !hasContent:
		return false
	}
	e.separate()
	if !stop {
		e.Finish = Running
	} else if e.Finish == Running {
		e.Finish = Aborted
	}
	if !r.count(e, predicted) {
		return false
	}
	if stop {
		for _, n := range r.predicted {
			usage.Completion += n
		}
		e.Last, e.HasUsage, e.Usage = true, true, usage
	}
	return true
}

// fitted does the rest of read for an event that was read by its template, which has neither an end nor an error.
func (r *llamaReader) fitted(e *Event) bool {
	e.separate()
	return r.count(e, e.counted)
}

// separate leaves the control token with which the event ends in Tokens, and the text before it in Text. A control
// token always ends its event.
func (e *Event) separate() {
	var last uint32
	if len(e.Tokens) > 0 {
		last = e.Tokens[len(e.Tokens)-1]
	}
	e.Tokens = e.Tokens[:0]
	name, special := tokenizer.SpecialName(last)
	if !special {
		return
	}
	e.Tokens = append(e.Tokens, last)
	if at := len(e.Text) - len(name); at >= 0 && rawjson.View(e.Text[at:]) == name {
		e.Text = e.Text[:at]
	}
}

// count finds how many tokens the event's text has, by the server's count of all tokens of the choice so far. It
// reports whether the count can follow the earlier ones.
func (r *llamaReader) count(e *Event, predicted int) bool {
	if predicted < 0 || predicted > maxLlamaTokens {
		return false
	}
	if e.Index < 0 || e.Index >= maxLlamaChoices {
		e.Index = -1 // which was never asked for
		return true
	}
	for len(r.predicted) <= e.Index {
		r.predicted = append(r.predicted, 0)
	}
	e.TextTokens = predicted - r.predicted[e.Index] - len(e.Tokens)
	r.predicted[e.Index] = predicted
	return e.TextTokens > 0 || e.TextTokens == 0 && len(e.Text) == 0
}

// llamaFinish maps stop_type. No stop strings are sent, so "word" never comes.
func llamaFinish(word []byte) Finish {
	switch rawjson.View(word) {
	case "eos":
		return Stopped
	case "limit":
		return Length
	default:
		return Aborted
	}
}
