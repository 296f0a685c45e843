package vllm

import (
	"io"
	"net/http"
	"strings"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// Version is the version of vLLM whose contract the simulator follows.
const Version = "0.33.0"

// completions is vLLM's /v1/completions behind its Python front end.
type completions struct{}

// Completions returns vLLM's /v1/completions behind its Python front end.
func Completions() server.Protocol { return completions{} }

func (completions) Defaults(*server.Options) {}

func (completions) Path() string { return "/v1/completions" }

func (completions) Methods() []string { return []string{http.MethodPost} }

func (completions) Page(s *server.Server, path string) *server.Page {
	switch path {
	case "/v1/models":
		return s.ModelsPage("vllm")
	case "/ping":
		return s.HealthPage(http.MethodGet, http.MethodPost)
	case "/health":
		return s.HealthPage(http.MethodGet)
	case "/version":
		return s.JSONPage(map[string]string{"version": Version})
	case "/tokenize":
		return s.TokenizePage(true)
	case "/metrics":
		return s.MetricsPage("text/plain; version=1.0.0; charset=utf-8")
	}
	return nil
}

func (completions) Guarded(path string) bool { return strings.HasPrefix(path, "/v1") }

func (completions) Decode(s *server.Server, h http.Header, body []byte) (*server.Completion, *server.Refusal) {
	return s.Decode(h, body)
}

func (completions) AnswerID(h http.Header, c *server.Completion) string {
	return "cmpl-" + server.RequestID(h, c.RequestID)
}

func (completions) Refusal(r *server.Refusal) []byte {
	return server.MustJSON(struct {
		Error *server.Refusal `json:"error"`
	}{r})
}

func (v completions) ErrorEvent(r *server.Refusal) []byte { return server.FrameJSON(v.Refusal(r)) }

func (completions) StreamsRefusals() bool { return false }

func (completions) Terminator() []byte { return server.Done }

func (completions) SingleUse() bool { return false }

func (completions) Meets() bool { return false }

func (completions) StreamType() string { return "text/event-stream; charset=utf-8" }

func (completions) Leading(*server.Job) []byte { return nil }

// Event returns nothing for an answer that is given up before its first token: vLLM takes its end for one more piece of
// a prompt that is still being read, and the stream has no finish reason.
func (completions) Event(j *server.Job, index, from, to int) []byte {
	if to == 0 && j.Answer.Finish == "abort" {
		return nil
	}
	choice := chunkChoice{Index: index, Logprobs: j.Logprobs(from, to), Text: j.Text(from, to)}
	if server.IsTrue(j.Asked.ReturnTokenIDs) {
		choice.TokenIDs = server.List(j.Answer.IDs[from:to])
		if from == 0 {
			choice.PromptTokenIDs = j.Asked.IDs
		}
	}
	if to == len(j.Answer.IDs) {
		choice.FinishReason, choice.StopReason = &j.Answer.Finish, j.Answer.Stop
	}
	c := chunk{ID: j.ID, Object: "text_completion", Created: j.Created, Model: j.Server.Options.Models[0],
		Choices: []chunkChoice{choice}}
	if o := j.Asked.StreamOptions; o != nil && server.IsTrue(o.IncludeUsage) && server.IsTrue(o.ContinuousUsage) {
		c.Usage = j.Usage(to)
	}
	return server.Frame(c)
}

func (completions) Trailing(j *server.Job) []byte {
	if !j.Asked.WantsUsage() {
		return nil
	}
	return server.Frame(chunk{ID: j.ID, Object: "text_completion", Created: j.Created, Model: j.Server.Options.Models[0],
		Choices: []chunkChoice{}, Usage: j.AllUsage()})
}

func (completions) Whole(j *server.Job) []byte {
	n := j.Asked.Choices() * len(j.Answer.IDs)
	answer := whole{ID: j.ID, Object: "text_completion", Created: j.Created, Model: j.Server.Options.Models[0]}
	if p := j.KeepForDecode(); p != nil {
		answer.KVTransferParams = p
	}
	for i := range j.Asked.Choices() {
		choice := wholeChoice{Index: i, Logprobs: j.Logprobs(0, len(j.Answer.IDs)), FinishReason: j.Answer.Finish,
			StopReason: j.Answer.Stop, Text: j.Text(0, len(j.Answer.Texts))}
		if server.IsTrue(j.Asked.ReturnTokenIDs) {
			choice.TokenIDs, choice.PromptTokenIDs = server.List(j.Answer.IDs), j.Asked.IDs
		}
		answer.Choices = append(answer.Choices, choice)
	}
	answer.Usage = wholeUsage{len(j.Asked.IDs), len(j.Asked.IDs) + n, n, j.Details()}
	return server.MustJSON(answer)
}

func (completions) Metrics(w io.Writer, m *server.Metrics, model string, capacity int) {
	m.Write(w, model, capacity)
}

// The members of vLLM's answers, in vLLM's order.
type (
	chunk struct {
		ID      string        `json:"id"`
		Object  string        `json:"object"`
		Created int64         `json:"created"`
		Model   string        `json:"model"`
		Choices []chunkChoice `json:"choices"`
		Usage   *server.Usage `json:"usage,omitempty"`
	}
	chunkChoice struct {
		Index          int      `json:"index"`
		Text           string   `json:"text"`
		Logprobs       any      `json:"logprobs"`
		FinishReason   *string  `json:"finish_reason"`
		StopReason     any      `json:"stop_reason"`
		PromptTokenIDs []uint32 `json:"prompt_token_ids"`
		TokenIDs       []uint32 `json:"token_ids"`
	}
	whole struct {
		ID                string        `json:"id"`
		Object            string        `json:"object"`
		Created           int64         `json:"created"`
		Model             string        `json:"model"`
		Choices           []wholeChoice `json:"choices"`
		ServiceTier       any           `json:"service_tier"`
		SystemFingerprint any           `json:"system_fingerprint"`
		Usage             wholeUsage    `json:"usage"`
		KVTransferParams  any           `json:"kv_transfer_params"`
	}
	wholeChoice struct {
		Index          int      `json:"index"`
		Text           string   `json:"text"`
		Logprobs       any      `json:"logprobs"`
		FinishReason   string   `json:"finish_reason"`
		StopReason     any      `json:"stop_reason"`
		TokenIDs       []uint32 `json:"token_ids"`
		PromptLogprobs any      `json:"prompt_logprobs"`
		PromptTokenIDs []uint32 `json:"prompt_token_ids"`
	}
	wholeUsage struct {
		PromptTokens     int                  `json:"prompt_tokens"`
		TotalTokens      int                  `json:"total_tokens"`
		CompletionTokens int                  `json:"completion_tokens"`
		Details          *server.UsageDetails `json:"prompt_tokens_details"`
	}
)
