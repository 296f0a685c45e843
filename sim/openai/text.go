package openai

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/harmonyedge/harmonyedge/sim/server"
	"github.com/harmonyedge/harmonyedge/sim/vllm"
)

// text is a server with OpenAI's /v1/completions, with text in both directions: a vLLM behind a strict front, which
// hides special tokens, or a server of another make, which spells them. It knows the members of OpenAI's API and no
// others (https://platform.openai.com/docs/api-reference/completions/create).
type text struct{ server.Protocol }

// Text returns OpenAI's /v1/completions, with text in both directions.
func Text() server.Protocol { return text{vllm.Completions()} }

// Defaults: such a server always reads the spellings of special tokens.
func (text) Defaults(o *server.Options) { o.TextSpecials = true }

// completionMembers are the members of a request in OpenAI's API.
var completionMembers = []string{"best_of", "echo", "frequency_penalty", "logit_bias", "logprobs", "max_tokens",
	"model",
	"n", "presence_penalty", "prompt", "seed", "stop", "stream", "stream_options", "suffix", "temperature", "top_p",
	"user"}

// maxStops is how many stop strings OpenAI's API takes.
const maxStops = 4

func (t text) Page(s *server.Server, path string) *server.Page {
	if path == "/v1/models" {
		return s.ModelsPage("system")
	}
	return nil
}

func (t text) Decode(s *server.Server, h http.Header, body []byte) (*server.Completion, *server.Refusal) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if !slices.Contains(completionMembers, name) {
				return nil, server.Refuse(http.StatusBadRequest, "invalid_request_error", "",
					"Unrecognized request argument supplied: "+name)
			}
		}
	}
	c, refused := s.Decode(h, body)
	if refused != nil {
		return c, refused
	}
	if len(c.Stop) > maxStops {
		return nil, server.Refuse(http.StatusBadRequest, "invalid_request_error", "stop", "'stop' has more than 4 strings.")
	}
	hide := !s.Options.PrintSpecials
	c.SkipSpecial, c.HoldsLeast = &hide, s.Options.PrintSpecials
	return c, nil
}

// Event has no members for token ids, which OpenAI's API does not have.
func (text) Event(j *server.Job, index, from, to int) []byte {
	choice := textChoice{Index: index, Text: j.Text(from, to), Logprobs: j.Logprobs(from, to)}
	if to == len(j.Answer.IDs) {
		choice.FinishReason = &j.Answer.Finish
	}
	return server.Frame(textChunk{ID: j.ID, Object: "text_completion", Created: j.Created,
		Model:   j.Server.Options.Models[0],
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
