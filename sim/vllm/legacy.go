package vllm

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// LegacyVersion is the version of vLLM that the kind [sim.VLLMLegacy] follows, the last before return_token_ids.
const LegacyVersion = "0.10.1"

// legacy is the /v1/completions of vLLM 0.10.1, by vllm/entrypoints/openai/protocol.py and serving_completion.py of
// that version. Its request model ignores members that came later.
type legacy struct{ completions }

// Legacy returns the /v1/completions of a vLLM before 0.10.2.
func Legacy() server.Protocol { return legacy{} }

// laterMembers are members of a request that came after 0.10.1. It logs and ignores them.
var laterMembers = []string{"return_token_ids", "structured_outputs", "thinking_token_budget"}

func (v legacy) Page(s *server.Server, path string) *server.Page {
	if path == "/version" {
		return s.JSONPage(map[string]string{"version": LegacyVersion})
	}
	return v.completions.Page(s, path)
}

func (legacy) Decode(s *server.Server, h http.Header, body []byte) (*server.Completion, *server.Refusal) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for _, name := range laterMembers {
			delete(members, name)
		}
		body = server.MustJSON(members)
	}
	c, refused := s.Decode(h, body)
	if refused == nil || refused.Param != nil && (*refused.Param == "input_tokens" || *refused.Param == "max_tokens") {
		// Its refusals name no parameter, and it shortens no answer.
		if r := legacyLength(s, members); r != nil {
			refused = r
		}
	}
	return c, refused
}

// legacyLength returns 0.10.1's refusal of a request that does not fit the context, or nil.
func legacyLength(s *server.Server, members map[string]json.RawMessage) *server.Refusal {
	c := &server.Completion{Prompt: members["prompt"]}
	_ = json.Unmarshal(members["max_tokens"], &c.MaxTokens) // it has been decoded before
	if r := s.ReadPromptField(c); r != nil {
		return r
	}
	maximum, have, want := s.Options.MaxModelLen, len(c.IDs), c.TokenLimit()
	switch {
	case want < 1:
		return server.BadRequest("", fmt.Sprintf("max_tokens must be at least 1, got %d.", want))
	case have >= maximum:
		return server.BadRequest("",
			fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %d "+
				"input tokens. Please reduce the length of the input messages.", maximum, have))
	case have+want <= maximum:
		return nil
	}
	return server.BadRequest("",
		fmt.Sprintf("'max_tokens' or 'max_completion_tokens' is too large: %d. This model's maximum "+
			"context length is %d tokens and your request has %d input tokens (%d > %d - %d).", want, maximum, have, want,
			maximum, have))
}

// Event has no token ids beside the text.
func (legacy) Event(j *server.Job, index, from, to int) []byte {
	choice := legacyChoice{Index: index, Logprobs: j.Logprobs(from, to), Text: j.Text(from, to)}
	if to == len(j.Answer.IDs) {
		choice.FinishReason, choice.StopReason = &j.Answer.Finish, j.Answer.Stop
	}
	return server.Frame(legacyChunk{ID: j.ID, Object: "text_completion", Created: j.Created,
		Model:   j.Server.Options.Models[0],
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
		Usage   *server.Usage  `json:"usage"`
	}
	legacyChoice struct {
		Index        int     `json:"index"`
		Text         string  `json:"text"`
		Logprobs     any     `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
		StopReason   any     `json:"stop_reason"`
	}
)
