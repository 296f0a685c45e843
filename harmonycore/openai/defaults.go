package openai

import (
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Defaults are what requests to a model's servers have unless the client says otherwise
// ([contract.ModelSettings.ExtraBody]).
type Defaults struct {
	sampling Sampling
	// rest are the members that are not sampling parameters, each as ,"name":value.
	rest []byte
}

// gatewayMembers are members that Defaults cannot have: the gateway writes them itself, or reads answers by them.
var gatewayMembers = [...]string{
	"model", "prompt", "prompt_tokens", "messages", "input", "input_ids", "token_ids", "text", "suffix", "system",
	"template", "context", "raw", "think", "chat_template_kwargs", "reasoning_effort", "reasoning_ended",
	"stream", "stream_options", "return_progress", "timings_per_token", "return_tokens", "return_token_ids",
	"return_tokens_as_token_ids", "return_logprob", "logprob_start_len", "top_logprobs_num", "logprobs", "top_logprobs",
	"prompt_logprobs", "n_probs", "n", "n_predict", "n_cmpl", "best_of", "detokenize", "skip_special_tokens",
	"spaces_between_special_tokens", "no_stop_trim", "include_stop_str_in_output", "echo", "ignore_eos", "stop",
	"use_beam_search", "sampling_params", "options", "response_format", "structured_outputs", "structural_tag", "guided",
	"json_schema", "regex", "ebnf", "grammar", "tools", "tool_choice", "max_new_tokens", "id_slot",
	"max_thinking_tokens", "samplers", "mirostat", "dynatemp_range", "repeat_last_n", "repeat_penalty",
	"preserved_tokens", "response_fields", "shift", "truncate",
}

// ReadDefaults reads an operator's object for servers of a kind. The error's param is the member that is wrong.
func ReadDefaults(object contract.Object, kind *contract.Kind) (*Defaults, *Error) {
	d := &Defaults{}
	if object == "" {
		return d, nil
	}
	if rawjson.Validate([]byte(object), rawjson.MaxDepth) != nil {
		return nil, Invalid("", "Invalid JSON.")
	}
	v := value{kind: rawjson.Object, raw: []byte(object)}
	err := v.members("", func(key []byte, v value) *Error { return d.read(string(key), v, kind) })
	if err != nil {
		return nil, err
	}
	if err := d.sampling.Allow(contract.KnownExtras()); err != nil {
		return nil, err
	}
	return d, nil
}

// ReadOverrides is ReadDefaults for [contract.ModelSettings.SamplingOverrides], which has parameters of sampling alone.
func ReadOverrides(object contract.Object, kind *contract.Kind) (*Defaults, *Error) {
	d, err := ReadDefaults(object, kind)
	if err == nil && len(d.rest) > 0 {
		members := rawjson.Members([]byte("{" + string(d.rest[1:]) + "}"))
		members.Next()
		return nil, Unsupported(string(members.Key), "It is no parameter of sampling.")
	}
	return d, err
}

func (d *Defaults) read(name string, v value, kind *contract.Kind) *Error {
	s := &d.sampling
	switch name {
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		return v.maxTokens(name, 1, &s.MaxTokens)
	case "temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "thinking_token_budget":
		return s.read(name, v)
	case "logit_bias":
		if !kind.Biases {
			return notOfServers(name, kind)
		}
		return s.read(name, v)
	case "priority", "cache_salt":
		if !kind.Scheduling {
			return notOfServers(name, kind)
		}
	case "min_tokens":
		if !kind.MinTokens {
			return notOfServers(name, kind)
		}
	case "stop_token_ids":
		if !kind.StopTokens {
			return notOfServers(name, kind)
		}
	}
	switch {
	case slices.Contains(gatewayMembers[:], name) || slices.Contains(guidedNames, name):
		return Unsupported(name, "The gateway sets it itself.")
	case slices.Contains(extraNames, name):
		s.request(name, v)
		return nil
	}
	d.rest = append(rawjson.AppendString(append(d.rest, ','), name), ':')
	d.rest = append(d.rest, v.compact()...)
	return nil
}

func notOfServers(name string, kind *contract.Kind) *Error {
	return Unsupported(name, "The model's servers ("+kind.Name+") do not have it.")
}

// Rest returns the members that are not sampling parameters, each as ,"name":value.
func (d *Defaults) Rest() []byte { return d.rest }

// MaxTokens returns how many tokens an answer may have at most, or 0 if that is left open.
func (d *Defaults) MaxTokens() int {
	if d == nil {
		return 0
	}
	return d.sampling.MaxTokens
}

// Override sets the parameters in place of the client's. Parameters that it leaves open stay the client's.
func (d *Defaults) Override(s *Sampling) {
	if d == nil {
		return
	}
	client, of := Defaults{sampling: *s}, &d.sampling
	s.Temperature, s.TopP, s.Seed = of.Temperature, of.TopP, of.Seed
	s.PresencePenalty, s.FrequencyPenalty = of.PresencePenalty, of.FrequencyPenalty
	s.MaxTokens, s.MinTokens, s.ThinkingBudget = of.MaxTokens, of.MinTokens, nil
	s.LogitBias, s.StopTokenIDs, s.Extras = of.LogitBias, of.StopTokenIDs, slices.Clone(of.Extras)
	if of.ThinkingBudget != nil {
		budget := *of.ThinkingBudget // the request may change its own
		s.ThinkingBudget = &budget
	}
	client.apply(s)
}

// apply sets what the client has left open.
func (d *Defaults) apply(s *Sampling) {
	if d == nil {
		return
	}
	of := &d.sampling
	for _, n := range [...]struct{ dst, from *Number }{
		{&s.Temperature, &of.Temperature}, {&s.TopP, &of.TopP}, {&s.PresencePenalty, &of.PresencePenalty},
		{&s.FrequencyPenalty, &of.FrequencyPenalty}, {&s.Seed, &of.Seed},
	} {
		if *n.dst == "" {
			*n.dst = *n.from
		}
	}
	if s.MaxTokens == 0 {
		s.MaxTokens = of.MaxTokens
	}
	if s.ThinkingBudget == nil && of.ThinkingBudget != nil {
		budget := *of.ThinkingBudget // the request may change its own
		s.ThinkingBudget = &budget
	}
	if len(s.LogitBias) == 0 {
		s.LogitBias = of.LogitBias
	}
	if len(s.StopTokenIDs) == 0 {
		s.StopTokenIDs = of.StopTokenIDs
	}
	for _, extra := range of.Extras {
		switch {
		case slices.ContainsFunc(s.Extras, func(e Extra) bool { return e.Name == extra.Name }):
			continue
		case extra.Name == "min_tokens" && s.MaxTokens > 0 && s.MaxTokens < of.MinTokens:
			continue // the client wants a shorter answer
		case extra.Name == "min_tokens":
			s.MinTokens = of.MinTokens
		}
		s.Extras = append(s.Extras, extra)
	}
}

// Complete sets what the client has left open to the defaults. It keeps the servers' own parameters that names lists,
// and discards all others of the client unread.
func (s *Sampling) Complete(names []string, d *Defaults) *Error {
	if err := s.Allow(names); err != nil {
		return err
	}
	d.apply(s)
	return nil
}

// Complete makes the response name the sampling parameters in effect, where the client has named none.
func (e *ResponsesEcho) Complete(s *Sampling) {
	e.Temperature, e.TopP = orNumber(e.Temperature, s.Temperature), orNumber(e.TopP, s.TopP)
	e.PresencePenalty = orNumber(e.PresencePenalty, s.PresencePenalty)
	e.FrequencyPenalty = orNumber(e.FrequencyPenalty, s.FrequencyPenalty)
	if e.MaxOutputTokens == "" && s.MaxTokens > 0 {
		e.MaxOutputTokens = strconv.Itoa(s.MaxTokens)
	}
}

// Override makes the response name the parameters that are in place of the client's.
func (e *ResponsesEcho) Override(d *Defaults) {
	if d == nil {
		return
	}
	of := &d.sampling
	e.Temperature, e.TopP = orNumber(of.Temperature, e.Temperature), orNumber(of.TopP, e.TopP)
	e.PresencePenalty = orNumber(of.PresencePenalty, e.PresencePenalty)
	e.FrequencyPenalty = orNumber(of.FrequencyPenalty, e.FrequencyPenalty)
	if of.MaxTokens > 0 {
		e.MaxOutputTokens = strconv.Itoa(of.MaxTokens)
	}
}

func orNumber(n, other Number) Number {
	if n == "" {
		return other
	}
	return n
}
