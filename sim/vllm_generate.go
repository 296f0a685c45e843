package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// vllmGenerate is vLLM's /inference/v1/generate, with token ids and without text in both directions. Requests and
// answers are those of vLLM 0.33.0, in vllm/entrypoints/scale_out/token_in_token_out.
type vllmGenerate struct{ vllm }

// newVLLMGenerate returns vLLM's /inference/v1/generate.
func newVLLMGenerate() protocol { return vllmGenerate{} }

func (vllmGenerate) path() string { return "/inference/v1/generate" }

func (v vllmGenerate) guarded(path string) bool {
	return v.vllm.guarded(path) || strings.HasPrefix(path, "/inference")
}

func (vllmGenerate) answerID(h http.Header, c *completion) string {
	return "generate-tokens-" + requestID(h, c.RequestID)
}

// generateRequest is a request. Its sampling parameters have the names that they have in /v1/completions.
type generateRequest struct {
	RequestID      string          `json:"request_id"`
	Model          *string         `json:"model"`
	TokenIDs       json.RawMessage `json:"token_ids"`
	Sampling       json.RawMessage `json:"sampling_params"`
	Stream         *bool           `json:"stream"`
	StreamOptions  *streamOptions  `json:"stream_options"`
	ReturnTokenIDs *bool           `json:"return_token_ids"`
	OutputMode     *string         `json:"output_mode"`
	CacheSalt      *string         `json:"cache_salt"`
	Priority       int             `json:"priority"`

	KVTransferParams *transferParams `json:"kv_transfer_params"`
}

func (vllmGenerate) decode(s *Server, h http.Header, body []byte) (*completion, *refusal) {
	if r := checkContentType(h); r != nil {
		return nil, r
	}
	var q generateRequest
	if _, r := decodeObject(body, &q); r != nil {
		return nil, r
	}
	c := &completion{}
	var only struct {
		Detokenize *bool `json:"detokenize"`
	}
	if len(q.Sampling) == 0 || json.Unmarshal(q.Sampling, c) != nil || json.Unmarshal(q.Sampling, &only) != nil {
		return nil, invalid("body.sampling_params", pydantic("model_type", "body.sampling_params",
			"Input should be valid sampling parameters"))
	}
	c.RequestID, c.Model, c.Stream, c.StreamOptions = q.RequestID, q.Model, q.Stream, q.StreamOptions
	c.ReturnTokenIDs, c.CacheSalt, c.Priority = q.ReturnTokenIDs, q.CacheSalt, q.Priority
	c.KVTransferParams = q.KVTransferParams
	var refused *refusal
	if c.ids, refused = readIDs("token_ids", q.TokenIDs); refused != nil {
		return nil, refused
	}
	switch {
	case c.CacheSalt != nil && (*c.CacheSalt == "" || len(*c.CacheSalt) > 1024):
		return nil, invalid("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.")
	case len(c.Stop) > 0 && only.Detokenize != nil && !*only.Detokenize:
		return nil,
			badRequest("", "stop strings are only supported when detokenize is True. Set detokenize=True to use stop.")
	case q.OutputMode != nil && *q.OutputMode != "tokens":
		return nil, badRequest("output_mode", "The simulator answers with tokens only.")
	case c.Model != nil && *c.Model != "" && !s.serves(*c.Model):
		return nil, notFound("model", "The model `"+*c.Model+"` does not exist.")
	}
	room := s.opt.MaxModelLen - len(c.ids)
	if room <= 0 {
		return nil, badRequest("", tooLong(len(c.ids), s.opt.MaxModelLen))
	}
	// Without max_tokens the answer has the rest of the context. With more than the rest it is shortened.
	if c.MaxTokens == nil || *c.MaxTokens > room {
		c.MaxTokens = &room
	}
	return c, s.checkEngine(c)
}

// tooLong returns what vLLM's engine says of a prompt that leaves no room for an answer. It names no parameter.
func tooLong(have, maximum int) string {
	if have > maximum {
		return fmt.Sprintf("The decoder prompt (length %d) is longer than the maximum model length of %d. Make sure that "+
			"`max_model_len` is no smaller than the number of text tokens.", have, maximum)
	}
	return fmt.Sprintf("The decoder prompt (length %d) plus the number of requested output tokens (at least 1) is longer "+
		"than the maximum model length of %d. Make sure that `max_model_len` is no smaller than the number of text tokens "+
		"(prompt + requested output tokens).", have, maximum)
}

// The members of answers, in vLLM's order.
type (
	generateChunk struct {
		RequestID  string           `json:"request_id"`
		Usage      *usage           `json:"usage"`
		PromptIDs  []uint32         `json:"prompt_token_ids,omitempty"`
		OutputMode string           `json:"output_mode"`
		Choices    []generateChoice `json:"choices"`
	}
	generateChoice struct {
		Index          int               `json:"index"`
		FinishReason   *string           `json:"finish_reason"`
		StopReason     any               `json:"stop_reason"`
		TokenIDs       []uint32          `json:"token_ids"`
		RoutedExperts  any               `json:"routed_experts"`
		SamplingMask   any               `json:"sampling_mask"`
		WeightVersions any               `json:"weight_versions"`
		Logprobs       *generateLogprobs `json:"logprobs"`
	}
	generateLogprobs struct {
		Content []generateLogprob `json:"content"`
	}
	generateLogprob struct {
		generateCandidate
		Top []generateCandidate `json:"top_logprobs"`
	}
	generateCandidate struct {
		Token   uint32  `json:"token_id"`
		Logprob float64 `json:"logprob"`
		Rank    int     `json:"rank"`
	}
	generateWhole struct {
		RequestID        string           `json:"request_id"`
		Model            string           `json:"model"`
		Created          int64            `json:"created"`
		Usage            wholeUsage       `json:"usage"`
		PromptLogprobs   any              `json:"prompt_logprobs"`
		PromptIDLogprobs any              `json:"prompt_token_id_logprobs"`
		PromptIDs        []uint32         `json:"prompt_token_ids"`
		Placeholders     any              `json:"mm_placeholders"`
		Metrics          any              `json:"metrics"`
		KVTransferParams any              `json:"kv_transfer_params"`
		ECTransferParams any              `json:"ec_transfer_params"`
		OutputMode       string           `json:"output_mode"`
		Choices          []generateChoice `json:"choices"`
	}
)

func (vllmGenerate) event(j *job, index, from, to int) []byte {
	c := generateChunk{RequestID: j.id, OutputMode: "tokens", Choices: []generateChoice{generateChoiceOf(j, index, from, to)}}
	if isTrue(j.c.ReturnTokenIDs) && from == 0 && index == 0 {
		c.PromptIDs = j.c.ids
	}
	if j.c.wantsUsage() && isTrue(j.c.StreamOptions.ContinuousUsage) {
		c.Usage = j.usage(to)
	}
	return frame(c)
}

func (vllmGenerate) trailing(j *job) []byte {
	if !j.c.wantsUsage() {
		return nil
	}
	return frame(generateChunk{RequestID: j.id, Usage: j.allUsage(), OutputMode: "tokens", Choices: []generateChoice{}})
}

func (vllmGenerate) whole(j *job) []byte {
	n := j.c.choices() * len(j.gen.ids)
	answer := generateWhole{RequestID: j.id, Model: j.s.opt.Models[0], Created: j.created, OutputMode: "tokens",
		Usage: wholeUsage{len(j.c.ids), len(j.c.ids) + n, n, j.details()}}
	if p := j.keepForDecode(); p != nil {
		answer.KVTransferParams = p
	}
	if isTrue(j.c.ReturnTokenIDs) {
		answer.PromptIDs = j.c.ids
	}
	for i := range j.c.choices() {
		answer.Choices = append(answer.Choices, generateChoiceOf(j, i, 0, len(j.gen.ids)))
	}
	return mustJSON(answer)
}

// generateChoiceOf returns the tokens from..to of a choice.
func generateChoiceOf(j *job, index, from, to int) generateChoice {
	choice := generateChoice{Index: index, TokenIDs: list(j.gen.ids[from:to])}
	if j.c.Logprobs != nil {
		choice.Logprobs = &generateLogprobs{Content: []generateLogprob{}}
		for at := from; at < to; at++ {
			choice.Logprobs.Content = append(choice.Logprobs.Content, generateLogprobOf(j.gen.ids[at], at, *j.c.Logprobs))
		}
	}
	if to == len(j.gen.ids) {
		choice.FinishReason, choice.StopReason = &j.gen.finish, j.gen.stop
	}
	return choice
}

// generateLogprobOf returns the logprob of the token at a place. The alternatives begin with the token itself.
func generateLogprobOf(id uint32, at, n int) generateLogprob {
	rank, sampled, all := alternatives(id, at, n)
	own := generateCandidate{id, sampled, rank + 1}
	l := generateLogprob{own, []generateCandidate{own}}
	for r, a := range all {
		if a.Token != id {
			l.Top = append(l.Top, generateCandidate{a.Token, a.Logprob, r + 1})
		}
	}
	return l
}
