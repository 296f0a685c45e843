package sim

import (
	"io"
	"net/http"
	"strings"
)

// Version is the version of vLLM whose contract the simulator follows.
const Version = "0.33.0"

// vllm is vLLM's /v1/completions behind its Python front end.
type vllm struct{}

// newVLLM returns vLLM's /v1/completions behind its Python front end.
func newVLLM() protocol { return vllm{} }

func (vllm) defaults(*Options) {}

func (vllm) path() string { return "/v1/completions" }

func (vllm) methods() []string { return []string{http.MethodPost} }

func (vllm) page(s *Server, path string) *page {
	switch path {
	case "/v1/models":
		return s.modelsPage("vllm")
	case "/ping":
		return s.healthPage(http.MethodGet, http.MethodPost)
	case "/health":
		return s.healthPage(http.MethodGet)
	case "/version":
		return s.jsonPage(map[string]string{"version": Version})
	case "/tokenize":
		return s.tokenizePage(true)
	case "/metrics":
		return s.metricsPage("text/plain; version=1.0.0; charset=utf-8")
	}
	return nil
}

func (vllm) guarded(path string) bool { return strings.HasPrefix(path, "/v1") }

func (vllm) decode(s *Server, h http.Header, body []byte) (*completion, *refusal) {
	return s.decode(h, body)
}

func (vllm) answerID(h http.Header, c *completion) string { return "cmpl-" + requestID(h, c.RequestID) }

func (vllm) refusal(r *refusal) []byte {
	return mustJSON(struct {
		Error *refusal `json:"error"`
	}{r})
}

func (v vllm) errorEvent(r *refusal) []byte { return frameJSON(v.refusal(r)) }

func (vllm) streamsRefusals() bool { return false }

func (vllm) terminator() []byte { return done }

func (vllm) singleUse() bool { return false }

func (vllm) meets() bool { return false }

func (vllm) streamType() string { return "text/event-stream; charset=utf-8" }

func (vllm) leading(*job) []byte { return nil }

func (vllm) event(j *job, index, from, to int) []byte {
	choice := chunkChoice{Index: index, Logprobs: j.logprobs(from, to), Text: j.text(from, to)}
	if isTrue(j.c.ReturnTokenIDs) {
		choice.TokenIDs = list(j.gen.ids[from:to])
		if from == 0 {
			choice.PromptTokenIDs = j.c.ids
		}
	}
	if to == len(j.gen.ids) {
		choice.FinishReason, choice.StopReason = &j.gen.finish, j.gen.stop
	}
	c := chunk{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0],
		Choices: []chunkChoice{choice}}
	if o := j.c.StreamOptions; o != nil && isTrue(o.IncludeUsage) && isTrue(o.ContinuousUsage) {
		c.Usage = j.usage(to)
	}
	return frame(c)
}

func (vllm) trailing(j *job) []byte {
	if !j.c.wantsUsage() {
		return nil
	}
	return frame(chunk{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0],
		Choices: []chunkChoice{}, Usage: j.allUsage()})
}

func (vllm) whole(j *job) []byte {
	n := j.c.choices() * len(j.gen.ids)
	answer := whole{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0]}
	if p := j.keepForDecode(); p != nil {
		answer.KVTransferParams = p
	}
	for i := range j.c.choices() {
		choice := wholeChoice{Index: i, Logprobs: j.logprobs(0, len(j.gen.ids)), FinishReason: j.gen.finish,
			StopReason: j.gen.stop, Text: j.text(0, len(j.gen.texts))}
		if isTrue(j.c.ReturnTokenIDs) {
			choice.TokenIDs, choice.PromptTokenIDs = list(j.gen.ids), j.c.ids
		}
		answer.Choices = append(answer.Choices, choice)
	}
	answer.Usage = wholeUsage{len(j.c.ids), len(j.c.ids) + n, n, j.details()}
	return mustJSON(answer)
}

func (vllm) metrics(w io.Writer, m *metrics, model string, capacity int) { m.write(w, model, capacity) }

// The members of vLLM's answers, in vLLM's order.
type (
	chunk struct {
		ID      string        `json:"id"`
		Object  string        `json:"object"`
		Created int64         `json:"created"`
		Model   string        `json:"model"`
		Choices []chunkChoice `json:"choices"`
		Usage   *usage        `json:"usage,omitempty"`
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
		PromptTokens     int           `json:"prompt_tokens"`
		TotalTokens      int           `json:"total_tokens"`
		CompletionTokens int           `json:"completion_tokens"`
		Details          *usageDetails `json:"prompt_tokens_details"`
	}
)
