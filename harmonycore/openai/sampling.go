package openai

import "math"

// Number is a JSON number as the client spelled it; the empty Number is an absent one.
type Number string

// Sampling is how the client wants tokens to be drawn. All numbers are within the ranges of the API.
type Sampling struct {
	Temperature      Number
	TopP             Number
	PresencePenalty  Number
	FrequencyPenalty Number
	// Seed is an integer of 64 bits.
	Seed Number
	// MaxTokens limits the answer, reasoning included; 0 is no limit but the context.
	MaxTokens int
	// ThinkingBudget limits the reasoning, in tokens; nil is no limit.
	ThinkingBudget *int
	// User is the client's own name for whoever asks.
	User string
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
		return v.text(key, &s.User)
	default:
		return nil
	}
}

// maxTokens reads a limit of tokens, held to what 32 bits can count.
func (v value) maxTokens(param string, dst *int) *Error {
	n := int64(*dst)
	if err := v.integer(param, 1, &n); err != nil {
		return err
	}
	*dst = int(min(n, math.MaxInt32))
	return nil
}

// effort reads a reasoning effort as gpt-oss knows it: its least is low, so minimal is low too.
func (v value) effort(param string, dst *string) *Error {
	name := ""
	if err := v.text(param, &name); err != nil || !v.given() {
		return err
	}
	switch name {
	case "low", "medium", "high":
		*dst = name
	case "minimal":
		*dst = "low"
	default:
		return notOneOf(param, name, "'minimal', 'low', 'medium', and 'high'")
	}
	return nil
}
