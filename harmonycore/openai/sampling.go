package openai

import (
	"math"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Number is a JSON number as the client spelled it; the empty Number is an absent one.
type Number string

// Bias is a token and what is added to its logit, from -100 to 100.
type Bias struct {
	Token uint32
	By    Number
}

// Sampling is how the client wants tokens to be drawn. All numbers are within the ranges of the API.
type Sampling struct {
	Temperature      Number
	TopP             Number
	PresencePenalty  Number
	FrequencyPenalty Number
	// Seed is an integer of 64 bits.
	Seed Number
	// LogitBias are changes of single tokens' odds. Whether the model has the tokens is not known here.
	LogitBias []Bias
	// MaxTokens limits the answer, reasoning included; 0 is no limit but the context.
	MaxTokens int
	// ThinkingBudget limits the reasoning, in tokens; nil is no limit.
	ThinkingBudget *int
	// Extras are what Allow has let through, and MinTokens, StopTokenIDs and TemplateEffort those of them that mean
	// something before they reach a server.
	Extras         []Extra
	MinTokens      int
	StopTokenIDs   []uint32
	TemplateEffort string

	// asked are all extras of the request, until Allow.
	asked []askedExtra
}

// read takes the parameters that both APIs spell alike.
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
	case "user":
		return v.label(key, maxLabel)
	case "logit_bias":
		return s.readLogitBias(key, v)
	default:
		s.ask(key, v)
		return v.refuseServers(key)
	}
}

// maxTokens reads a limit of tokens, not below least and held to what 32 bits can count.
func (v value) maxTokens(param string, least int64, dst *int) *Error {
	n := int64(*dst)
	if err := v.integer(param, least, &n); err != nil {
		return err
	}
	*dst = int(min(n, math.MaxInt32))
	return nil
}

// thinkingBudget reads how many tokens the model may reason for, by the name that vLLM and others have for it. -1 is any
// number, as if nothing had been asked for.
func (v value) thinkingBudget(param string, dst **int) *Error {
	n := int64(-1)
	if err := v.integer(param, n, &n); err != nil || n < 0 {
		return err
	}
	budget := int(min(n, math.MaxInt32))
	*dst = &budget
	return nil
}

// effort reads a reasoning effort as the API knows it. What gpt-oss makes of it is a matter of configuration.
func (v value) effort(param string, dst *string) *Error {
	return v.word(param, dst, "none", "minimal", "low", "medium", "high", "xhigh", "max")
}

// oneOf checks a string out of a closed set of which nothing is made.
func (v value) oneOf(param string, words ...string) *Error {
	return v.word(param, new(string), words...)
}

// word reads a string out of a closed set.
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

// longestEscape is the most bytes of JSON that a byte of a string takes.
const longestEscape = 6

// label checks a string that nobody keeps: no longer than so many bytes.
func (v value) label(param string, most int) *Error {
	if v.kind == rawjson.String && len(v.raw) > most*longestEscape {
		return tooLong(param, most) // without a copy of something so large
	}
	text := ""
	if err := v.text(param, &text); err != nil {
		return err
	}
	if len(text) > most {
		return tooLong(param, most)
	}
	return nil
}
