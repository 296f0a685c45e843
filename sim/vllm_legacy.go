package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// LegacyVersion is the version of vLLM that the kind [VLLMLegacy] follows, the last before return_token_ids.
const LegacyVersion = "0.10.1"

// vllmLegacy is the /v1/completions of vLLM 0.10.1, by vllm/entrypoints/openai/protocol.py and serving_completion.py of
// that version. Its request model ignores members that came later.
type vllmLegacy struct{ vllm }

// newVLLMLegacy returns the /v1/completions of a vLLM before 0.10.2.
func newVLLMLegacy() protocol { return vllmLegacy{} }

// laterMembers are members of a request that came after 0.10.1. It logs and ignores them.
var laterMembers = []string{"return_token_ids", "structured_outputs", "thinking_token_budget"}

func (v vllmLegacy) page(s *Server, path string) *page {
	if path == "/version" {
		return s.jsonPage(map[string]string{"version": LegacyVersion})
	}
	return v.vllm.page(s, path)
}

func (vllmLegacy) decode(s *Server, h http.Header, body []byte) (*completion, *refusal) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for _, name := range laterMembers {
			delete(members, name)
		}
		body = mustJSON(members)
	}
	c, refused := s.decode(h, body)
	if refused != nil && refused.Param != nil && (*refused.Param == "input_tokens" || *refused.Param == "max_tokens") {
		// Its refusals name no parameter.
		refused = legacyLength(s, members)
	}
	return c, refused
}

// legacyLength returns 0.10.1's refusal of a request that does not fit the context.
func legacyLength(s *Server, members map[string]json.RawMessage) *refusal {
	c := &completion{Prompt: members["prompt"]}
	_ = json.Unmarshal(members["max_tokens"], &c.MaxTokens) // it has been decoded before
	if r := s.readPromptField(c); r != nil {
		return r
	}
	maximum, have, want := s.opt.MaxModelLen, len(c.ids), c.tokenLimit()
	switch {
	case want < 1:
		return badRequest("", fmt.Sprintf("max_tokens must be at least 1, got %d.", want))
	case have >= maximum:
		return badRequest("", fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %d "+
			"input tokens. Please reduce the length of the input messages.", maximum, have))
	}
	return badRequest("", fmt.Sprintf("'max_tokens' or 'max_completion_tokens' is too large: %d. This model's maximum "+
		"context length is %d tokens and your request has %d input tokens (%d > %d - %d).", want, maximum, have, want,
		maximum, have))
}

// event has no token ids beside the text.
func (vllmLegacy) event(j *job, index, from, to int) []byte {
	choice := legacyChoice{Index: index, Logprobs: j.logprobs(from, to), Text: j.text(from, to)}
	if to == len(j.gen.ids) {
		choice.FinishReason, choice.StopReason = &j.gen.finish, j.gen.stop
	}
	return frame(legacyChunk{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0],
		Choices: []legacyChoice{choice}})
}

// The members of events, in the order of 0.10.1.
type (
	legacyChunk struct {
		ID      string         `json:"id"`
		Object  string         `json:"object"`
		Created int64          `json:"created"`
		Model   string         `json:"model"`
		Choices []legacyChoice `json:"choices"`
		Usage   *usage         `json:"usage"`
	}
	legacyChoice struct {
		Index        int     `json:"index"`
		Text         string  `json:"text"`
		Logprobs     any     `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
		StopReason   any     `json:"stop_reason"`
	}
)
