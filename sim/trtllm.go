package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// TRTLLMVersion is the version that the simulated TensorRT-LLM tells.
const TRTLLMVersion = "1.3.0"

// trtllm is TensorRT-LLM's trtllm-serve with the PyTorch backend. Requests, checks and events are those of
// tensorrt_llm/serve: openai_protocol.py, openai_server.py and postprocess_handlers.py, of the engine those of
// sampling_params.py and executor (e2e/requestmodels/testdata/README.md has the commits).
type trtllm struct{}

// newTRTLLM returns the /v1/completions of TensorRT-LLM's trtllm-serve.
func newTRTLLM() protocol { return trtllm{} }

func (trtllm) defaults(*Options) {}

func (trtllm) path() string { return "/v1/completions" }

func (trtllm) methods() []string { return []string{http.MethodPost} }

func (trtllm) page(s *Server, path string) *page {
	switch path {
	case "/v1/models":
		return s.jsonPage(map[string]any{"object": "list", "data": []map[string]any{{"id": s.opt.Models[0],
			"object": "model", "created": s.created, "owned_by": "tensorrt_llm"}}})
	case "/health", "/health_generate":
		return s.healthPage(http.MethodGet)
	case "/version":
		return s.jsonPage(map[string]string{"version": TRTLLMVersion})
	case "/metrics":
		return &page{methods: []string{http.MethodGet}, serve: func(w http.ResponseWriter, rec *Request) {
			s.respond(w, rec, http.StatusOK, iterations(s.metrics, s.opt.KVCacheTokens))
		}}
	case "/prometheus/metrics": // with return_perf_metrics
		return s.metricsPage("text/plain; version=1.0.0; charset=utf-8")
	}
	return nil
}

// guarded reports false: trtllm-serve has no keys.
func (trtllm) guarded(string) bool { return false }

// answerID returns a random id. trtllm-serve reads none.
func (trtllm) answerID(http.Header, *completion) string {
	return "cmpl-" + requestID(http.Header{}, "")
}

// trtllmRequest is a request. trtllm-serve refuses other members.
type trtllmRequest struct {
	Model               *string            `json:"model"`
	Prompt              json.RawMessage    `json:"prompt"`
	BestOf              *int               `json:"best_of"`
	Echo                *bool              `json:"echo"`
	FrequencyPenalty    *float64           `json:"frequency_penalty"`
	LogitBias           map[string]float64 `json:"logit_bias"`
	Logprobs            *int               `json:"logprobs"`
	MaxTokens           *int               `json:"max_tokens"`
	N                   *int               `json:"n"`
	PresencePenalty     *float64           `json:"presence_penalty"`
	Seed                *int64             `json:"seed"`
	Stop                stopStrings        `json:"stop"`
	Stream              *bool              `json:"stream"`
	StreamOptions       *streamOptions     `json:"stream_options"`
	Suffix              *string            `json:"suffix"`
	Temperature         *float64           `json:"temperature"`
	TopP                *float64           `json:"top_p"`
	User                *string            `json:"user"`
	LoRARequest         json.RawMessage    `json:"lora_request"`
	PromptIgnoreLength  *int               `json:"prompt_ignore_length"`
	UseBeamSearch       bool               `json:"use_beam_search"`
	TopK                *int               `json:"top_k"`
	TopPMin             *float64           `json:"top_p_min"`
	MinP                *float64           `json:"min_p"`
	RepeatPenalty       *float64           `json:"repetition_penalty"`
	LengthPenalty       *float64           `json:"length_penalty"`
	EarlyStopping       json.RawMessage    `json:"early_stopping"`
	StopTokenIDs        []uint32           `json:"stop_token_ids"`
	IncludeStop         bool               `json:"include_stop_str_in_output"`
	IgnoreEOS           bool               `json:"ignore_eos"`
	MinTokens           int                `json:"min_tokens"`
	SkipSpecial         *bool              `json:"skip_special_tokens"`
	Spaces              *bool              `json:"spaces_between_special_tokens"`
	TruncatePrompt      *int               `json:"truncate_prompt_tokens"`
	ReturnContextLogits bool               `json:"return_context_logits"`
	Detokenize          *bool              `json:"detokenize"`
	ThinkingBudget      *int               `json:"thinking_token_budget"`
	AddSpecial          *bool              `json:"add_special_tokens"`
	ResponseFormat      json.RawMessage    `json:"response_format"`
	Disaggregated       json.RawMessage    `json:"disaggregated_params"`
	Priority            *float64           `json:"priority"`
	Conversation        json.RawMessage    `json:"conversation_params"`
}

func (trtllm) decode(s *Server, _ http.Header, body []byte) (*completion, *refusal) {
	var q trtllmRequest
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		return nil, invalid("", err.Error())
	}
	switch {
	case q.Model == nil || q.Prompt == nil:
		return nil, invalid("", "Field required")
	case q.Suffix != nil && *q.Suffix != "":
		return nil, invalid("", "Value error, suffix is not supported")
	case q.StreamOptions != nil && !isTrue(q.Stream):
		return nil, invalid("", "Value error, Stream options can only be defined when stream is true.")
	case q.Priority != nil && (*q.Priority < 0 || *q.Priority > 1):
		return nil, invalid("", "priority: Input should be greater than or equal to 0 and less than or equal to 1")
	}
	c := &completion{Model: q.Model, Prompt: q.Prompt, MaxTokens: q.MaxTokens, MinTokens: q.MinTokens, N: q.N,
		Stream: q.Stream, StreamOptions: q.StreamOptions, Stop: q.Stop, StopTokenIDs: q.StopTokenIDs,
		IgnoreEOS: q.IgnoreEOS, IncludeStop: q.IncludeStop, SkipSpecial: q.SkipSpecial, ThinkingBudget: q.ThinkingBudget,
		LogitBias: q.LogitBias, ReturnTokenIDs: new(bool)}
	*c.ReturnTokenIDs = q.Detokenize != nil && !*q.Detokenize
	if c.StreamOptions != nil && c.StreamOptions.IncludeUsage == nil {
		yes := true // the default
		c.StreamOptions.IncludeUsage = &yes
	}
	if q.Logprobs != nil && *q.Logprobs > 0 {
		c.Logprobs = q.Logprobs
	}
	r := s.readPromptField(c)
	if r != nil {
		return nil, r
	}
	if c.Structured, r = readResponseFormat(q.ResponseFormat); r != nil {
		return nil, r
	}
	if c.holds.tag, r = c.Structured.readTag(); r != nil {
		return nil, invalid("", r.Message) // the request model has xgrammar's formats
	}
	if r := checkTRTLLM(c, &q); r != nil {
		return nil, r
	}
	return c, fitContext(s, c)
}

// fitContext makes the checks of the engine's own process, after whose refusals a stream has begun. An answer that would
// outgrow the context is shortened rather than refused.
func fitContext(s *Server, c *completion) *refusal {
	room := s.opt.MaxModelLen - len(c.ids)
	if room <= 0 {
		return badRequest("", fmt.Sprintf("`default_max_tokens` (%d) must be greater than 0, `default_max_tokens` (%d) = "+
			"max_seq_len (%d) - `splited_prompt_len` (%d) - `query_token_len` (0)", room, room, s.opt.MaxModelLen, len(c.ids)))
	}
	if c.MaxTokens == nil || *c.MaxTokens > room {
		c.MaxTokens = &room
	}
	if *c.MaxTokens <= 0 {
		return badRequest("", fmt.Sprintf("`max_tokens` (%d) must be greater than 0", *c.MaxTokens))
	}
	return nil
}

// checkTRTLLM makes the checks of the sampling parameters.
func checkTRTLLM(c *completion, q *trtllmRequest) *refusal {
	outside := func(f *float64, low, high float64) bool { return f != nil && (*f < low || *f > high) }
	message := ""
	switch {
	case q.Temperature != nil && *q.Temperature < 0:
		message = fmt.Sprintf("require temperature >= 0, got temperature=%v", *q.Temperature)
	case outside(q.TopP, 0, 1):
		message = fmt.Sprintf("require 0 <= top_p <= 1, got top_p=%v", *q.TopP)
	case q.TopK != nil && *q.TopK < 0:
		message = fmt.Sprintf("require top_k >= 0, got top_k=%d", *q.TopK)
	case outside(q.MinP, 0, 1):
		message = fmt.Sprintf("require 0 <= min_p <= 1, got min_p=%v", *q.MinP)
	case q.RepeatPenalty != nil && *q.RepeatPenalty <= 0:
		message = fmt.Sprintf("require repetition_penalty > 0, got repetition_penalty=%v", *q.RepeatPenalty)
	case c.choices() != 1 || isTrue(q.Echo) || q.UseBeamSearch:
		message = "The simulator answers with one choice, without echo and without beams."
	}
	for _, bias := range c.LogitBias {
		if bias < -100 || bias > 100 {
			message = "logit_bias value must be in [-100, 100]"
		}
	}
	if message != "" {
		return badRequest("", message)
	}
	if r := checkBiases(c.LogitBias); r != nil {
		return badRequest("", r.Message)
	}
	return checkVocabulary(c.ids)
}
