package vllm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// generate is vLLM's /inference/v1/generate, with token ids and without text in both directions. Requests and
// answers follow vLLM 0.33.0, in vllm/entrypoints/scale_out/token_in_token_out.
type generate struct {
	completions
	// text reports whether requests may have the output_mode text. The answers' text is then for others to write.
	text bool
}

// Generate returns vLLM's /inference/v1/generate.
func Generate() server.Protocol { return generate{} }

// GenerateText is Generate for requests that may have the output_mode text. The events have none.
func GenerateText() server.Protocol { return generate{text: true} }

func (generate) Path() string { return "/inference/v1/generate" }

func (v generate) Guarded(path string) bool {
	return v.completions.Guarded(path) || strings.HasPrefix(path, "/inference")
}

func (generate) AnswerID(h http.Header, c *server.Completion) string {
	return "generate-tokens-" + server.RequestID(h, c.RequestID)
}

// generateRequest is a request. Its sampling parameters have the names that they have in /v1/completions.
type generateRequest struct {
	RequestID      string                `json:"request_id"`
	Model          *string               `json:"model"`
	TokenIDs       json.RawMessage       `json:"token_ids"`
	Sampling       json.RawMessage       `json:"sampling_params"`
	Stream         *bool                 `json:"stream"`
	StreamOptions  *server.StreamOptions `json:"stream_options"`
	ReturnTokenIDs *bool                 `json:"return_token_ids"`
	OutputMode     *string               `json:"output_mode"`
	CacheSalt      *string               `json:"cache_salt"`
	Priority       int                   `json:"priority"`

	KVTransferParams *server.TransferParams `json:"kv_transfer_params"`
}

func (v generate) Decode(s *server.Server, h http.Header, body []byte) (*server.Completion, *server.Refusal) {
	if r := server.CheckContentType(h); r != nil {
		return nil, r
	}
	var q generateRequest
	if _, r := server.DecodeObject(body, &q); r != nil {
		return nil, r
	}
	c := &server.Completion{}
	var only struct {
		Detokenize *bool `json:"detokenize"`
	}
	if len(q.Sampling) == 0 || json.Unmarshal(q.Sampling, c) != nil || json.Unmarshal(q.Sampling, &only) != nil {
		return nil, server.Invalid("body.sampling_params", server.Pydantic("model_type", "body.sampling_params",
			"Input should be valid sampling parameters"))
	}
	c.RequestID, c.Model, c.Stream, c.StreamOptions = q.RequestID, q.Model, q.Stream, q.StreamOptions
	c.ReturnTokenIDs, c.CacheSalt, c.Priority = q.ReturnTokenIDs, q.CacheSalt, q.Priority
	c.KVTransferParams = q.KVTransferParams
	var refused *server.Refusal
	if c.IDs, refused = server.ReadIDs("token_ids", q.TokenIDs); refused != nil {
		return nil, refused
	}
	switch {
	case c.CacheSalt != nil && (*c.CacheSalt == "" || len(*c.CacheSalt) > 1024):
		return nil, server.Invalid("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.")
	case len(c.Stop) > 0 && only.Detokenize != nil && !*only.Detokenize:
		return nil,
			server.BadRequest("", "stop strings are only supported when detokenize is True. Set detokenize=True to use stop.")
	case q.OutputMode != nil && *q.OutputMode != "tokens" && (!v.text || *q.OutputMode != "text"):
		return nil, server.BadRequest("output_mode", "The simulator answers with tokens only.")
	case c.Model != nil && *c.Model != "" && !s.Serves(*c.Model):
		return nil, server.NotFound("model", "The model `"+*c.Model+"` does not exist.")
	}
	room := s.Options.MaxModelLen - len(c.IDs)
	if room <= 0 {
		return c, server.BadRequest("", tooLong(len(c.IDs), s.Options.MaxModelLen))
	}
	// Without max_tokens the answer has the rest of the context. With more than the rest it is shortened.
	if c.MaxTokens == nil || *c.MaxTokens > room {
		c.MaxTokens = &room
	}
	if r := server.CheckSampling(c); r != nil {
		return nil, r // before the engine has the request
	}
	return c, s.CheckEngine(c)
}

// StreamsRefusals reports true: what the engine refuses comes in the stream. A prompt that is too long is such a refusal.
func (generate) StreamsRefusals() bool { return true }

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
		Usage      *server.Usage    `json:"usage"`
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

func (generate) Event(j *server.Job, index, from, to int) []byte {
	c := generateChunk{RequestID: j.ID, OutputMode: "tokens", Choices: []generateChoice{generateChoiceOf(j, index, from,
		to)}}
	if server.IsTrue(j.Asked.ReturnTokenIDs) && from == 0 && index == 0 {
		c.PromptIDs = j.Asked.IDs
	}
	if j.Asked.WantsUsage() && server.IsTrue(j.Asked.StreamOptions.ContinuousUsage) {
		c.Usage = j.Usage(to)
	}
	return server.Frame(c)
}

func (generate) Trailing(j *server.Job) []byte {
	if !j.Asked.WantsUsage() {
		return nil
	}
	return server.Frame(generateChunk{RequestID: j.ID, Usage: j.AllUsage(), OutputMode: "tokens",
		Choices: []generateChoice{}})
}

func (generate) Whole(j *server.Job) []byte {
	n := j.Asked.Choices() * len(j.Answer.IDs)
	answer := generateWhole{RequestID: j.ID, Model: j.Server.Options.Models[0], Created: j.Created, OutputMode: "tokens",
		Usage: wholeUsage{len(j.Asked.IDs), len(j.Asked.IDs) + n, n, j.Details()}}
	if p := j.KeepForDecode(); p != nil {
		answer.KVTransferParams = p
	}
	if server.IsTrue(j.Asked.ReturnTokenIDs) {
		answer.PromptIDs = j.Asked.IDs
	}
	for i := range j.Asked.Choices() {
		answer.Choices = append(answer.Choices, generateChoiceOf(j, i, 0, len(j.Answer.IDs)))
	}
	return server.MustJSON(answer)
}

// generateChoiceOf returns the tokens from..to of a choice.
func generateChoiceOf(j *server.Job, index, from, to int) generateChoice {
	choice := generateChoice{Index: index, TokenIDs: server.List(j.Answer.IDs[from:to])}
	if j.Asked.Logprobs != nil {
		choice.Logprobs = &generateLogprobs{Content: []generateLogprob{}}
		for at := from; at < to; at++ {
			choice.Logprobs.Content = append(choice.Logprobs.Content, generateLogprobOf(j.Answer.IDs[at], at, *j.Asked.Logprobs))
		}
	}
	if to == len(j.Answer.IDs) {
		choice.FinishReason, choice.StopReason = &j.Answer.Finish, j.Answer.Stop
	}
	return choice
}

// generateLogprobOf returns the logprob of the token at a place. The alternatives begin with the token itself.
func generateLogprobOf(id uint32, at, n int) generateLogprob {
	rank, sampled, all := server.Alternatives(id, at, n)
	own := generateCandidate{id, sampled, rank + 1}
	l := generateLogprob{own, []generateCandidate{own}}
	for r, a := range all {
		if a.Token != id {
			l.Top = append(l.Top, generateCandidate{a.Token, a.Logprob, r + 1})
		}
	}
	return l
}
