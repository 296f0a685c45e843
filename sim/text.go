package sim

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
)

// text is a server with OpenAI's /v1/completions, with text in both directions: a vLLM behind a strict front, which hides
// special tokens, or a server of another make, which spells them. It knows the members of OpenAI's API and no others
// (https://platform.openai.com/docs/api-reference/completions/create).
type text struct{ protocol }

// newText returns OpenAI's /v1/completions, with text in both directions.
func newText() protocol { return text{newVLLM()} }

// defaults: such a server always reads the spellings of special tokens.
func (text) defaults(o *Options) { o.TextSpecials = true }

// completionMembers are the members of a request in OpenAI's API.
var completionMembers = []string{"best_of", "echo", "frequency_penalty", "logit_bias", "logprobs", "max_tokens",
	"model",
	"n", "presence_penalty", "prompt", "seed", "stop", "stream", "stream_options", "suffix", "temperature", "top_p",
	"user"}

// maxStops is how many stop strings OpenAI's API takes.
const maxStops = 4

func (t text) page(s *Server, path string) *page {
	if path == "/v1/models" {
		return s.modelsPage("system")
	}
	return nil
}

func (t text) decode(s *Server, h http.Header, body []byte) (*completion, *refusal) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if !slices.Contains(completionMembers, name) {
				return nil, refuse(http.StatusBadRequest, "invalid_request_error", "",
					"Unrecognized request argument supplied: "+name)
			}
		}
	}
	c, refused := s.decode(h, body)
	if refused != nil {
		return c, refused
	}
	if len(c.Stop) > maxStops {
		return nil, refuse(http.StatusBadRequest, "invalid_request_error", "stop", "'stop' has more than 4 strings.")
	}
	hide := !s.opt.PrintSpecials
	c.SkipSpecial, c.holdsLeast = &hide, s.opt.PrintSpecials
	return c, nil
}

// event has no members for token ids, which OpenAI's API does not have.
func (text) event(j *job, index, from, to int) []byte {
	choice := textChoice{Index: index, Text: j.text(from, to), Logprobs: j.logprobs(from, to)}
	if to == len(j.gen.ids) {
		choice.FinishReason = &j.gen.finish
	}
	return frame(textChunk{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0],
		Choices: []textChoice{choice}})
}

// The members of events, in the order of OpenAI's API reference.
type (
	textChunk struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Created int64        `json:"created"`
		Choices []textChoice `json:"choices"`
		Model   string       `json:"model"`
	}
	textChoice struct {
		Text         string  `json:"text"`
		Index        int     `json:"index"`
		Logprobs     any     `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
	}
)
