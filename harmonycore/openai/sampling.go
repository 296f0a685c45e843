package openai

import (
	"math"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Number is a JSON number as the client spelled it. An empty one is absent.
type Number string

// Bias is a token and the number, from -100 to 100, that is added to its logit.
type Bias struct {
	Token uint32
	Value Number
}

// Sampling holds the client's sampling parameters. All numbers are within the ranges of the API.
type Sampling struct {
	Temperature      Number
	TopP             Number
	PresencePenalty  Number
	FrequencyPenalty Number
	// Seed is an integer of 64 bits.
	Seed Number
	// LogitBias changes the logits of single tokens. Whether the vocabulary has these ids is not checked here.
	LogitBias []Bias
	// MaxTokens is the maximum number of tokens of the answer, reasoning included. 0 means that only the context limits
	// it.
	MaxTokens int
	// ThinkingBudget is the maximum number of reasoning tokens. Nil means no limit.
	ThinkingBudget *int
	// Extras are the extras that [Sampling.Allow] accepted. MinTokens, StopTokenIDs and TemplateEffort are the ones among
	// them that the gateway itself uses.
	Extras         []Extra
	MinTokens      int
	StopTokenIDs   []uint32
	TemplateEffort string
	// ReturnTokenIDs asks for the ids of the prompt and of the answer, as vLLM's parameter return_token_ids does.
	ReturnTokenIDs bool
	// TemplateKwargs are the allowed arguments of the servers' chat template, a JSON object that lies in the body.
	TemplateKwargs []byte

	// requested holds all extras of the request until [Sampling.Allow] is called.
	requested []requestedExtra
}

// read reads the parameters that both APIs spell alike.
func (s *Sampling) read(key string, v value) *Error {
	switch key {
	case "temperature":
		return v.number(key, 0, 2, &s.Temperature)
	case "top_p":
		return v.number(key, 0, 1, &s.TopP)
	case "presence_penalty":
		return v.number(key, -2, 2, &s.PresencePenalty)
	case "frequency_penalty":
		return v.number(key, -2, 2, &s.FrequencyPenalty)
	case "seed":
		var seed int64
		if err := v.integer(key, math.MinInt64, &seed); err != nil || !v.given() {
			return err
		}
		s.Seed = Number(v.raw)
		return nil
	case "thinking_token_budget":
		return v.thinkingBudget(key, &s.ThinkingBudget)
	case "return_token_ids":
		return v.boolean(key, &s.ReturnTokenIDs)
	case "user":
		return v.label(key, maxLabel)
	case "logit_bias":
		return s.readLogitBias(key, v)
	default:
		s.request(key, v)
		return v.refuseServers(key)
	}
}

// maxTokens reads a maximum number of tokens. It must be at least minimum, and is capped at 32 bits.
func (v value) maxTokens(param string, minimum int64, dst *int) *Error {
	n := int64(*dst)
	if err := v.integer(param, minimum, &n); err != nil {
		return err
	}
	*dst = int(min(n, math.MaxInt32))
	return nil
}

// thinkingBudget reads the maximum number of reasoning tokens, under the name that vLLM and others use. -1 means no
// limit.
func (v value) thinkingBudget(param string, dst **int) *Error {
	n := int64(-1)
	if err := v.integer(param, n, &n); err != nil || n < 0 {
		return err
	}
	budget := int(min(n, math.MaxInt32))
	*dst = &budget
	return nil
}

// effort reads a reasoning effort of the API. The configuration maps it to one of gpt-oss.
func (v value) effort(param string, dst *string) *Error {
	return v.word(param, dst, "none", "minimal", "low", "medium", "high", "xhigh", "max")
}

// oneOf checks a string of a closed set whose value is not used.
func (v value) oneOf(param string, words ...string) *Error {
	return v.word(param, new(string), words...)
}

// word reads a string of a closed set.
func (v value) word(param string, dst *string, words ...string) *Error {
	got := ""
	if err := v.text(param, &got); err != nil || !v.given() {
		return err
	}
	supported := ""
	for i, w := range words {
		if w == got {
			*dst = got
			return nil
		}
		switch {
		case i == 0:
		case len(words) == 2:
			supported += " and "
		case i == len(words)-1:
			supported += ", and "
		default:
			supported += ", "
		}
		supported += "'" + w + "'"
	}
	return notOneOf(param, got, supported)
}

// maxEscape is the maximum number of bytes of JSON for one byte of a string.
const maxEscape = 6

// label checks a string that is not used. It may have at most maxBytes bytes.
func (v value) label(param string, maxBytes int) *Error {
	if v.kind == rawjson.String && len(v.raw) > maxBytes*maxEscape {
		return tooLong(param, maxBytes) // without a copy of a text this long
	}
	text := ""
	if err := v.text(param, &text); err != nil {
		return err
	}
	if len(text) > maxBytes {
		return tooLong(param, maxBytes)
	}
	return nil
}
