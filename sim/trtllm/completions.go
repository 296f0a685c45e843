package trtllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// Version is the version that the simulated TensorRT-LLM tells.
const Version = "1.3.0"

// completions is TensorRT-LLM's trtllm-serve with the PyTorch backend. Requests, checks and events follow
// tensorrt_llm/serve: openai_protocol.py, openai_server.py and postprocess_handlers.py. The engine follows
// sampling_params.py and executor (e2e/requestmodels/testdata/README.md has the commits).
type completions struct{}

// Completions returns the /v1/completions of TensorRT-LLM's trtllm-serve.
func Completions() server.Protocol { return completions{} }

func (completions) Defaults(*server.Options) {}

func (completions) Path() string { return "/v1/completions" }

func (completions) Methods() []string { return []string{http.MethodPost} }

func (completions) Page(s *server.Server, path string) *server.Page {
	switch path {
	case "/v1/models":
		return s.JSONPage(map[string]any{"object": "list", "data": []map[string]any{{"id": s.Options.Models[0],
			"object": "model", "created": s.Created, "owned_by": "tensorrt_llm"}}})
	case "/health", "/health_generate":
		return s.HealthPage(http.MethodGet)
	case "/version":
		return s.JSONPage(map[string]string{"version": Version})
	case "/metrics":
		return &server.Page{Methods: []string{http.MethodGet}, Serve: func(w http.ResponseWriter, rec *server.Request) {
			s.Respond(w, rec, http.StatusOK, iterations(s.Metrics, s.Options.KVCacheTokens))
		}}
	case "/prometheus/metrics": // with return_perf_metrics
		return s.MetricsPage("text/plain; version=1.0.0; charset=utf-8")
	}
	return nil
}

// Guarded reports false: trtllm-serve has no keys.
func (completions) Guarded(string) bool { return false }

// AnswerID returns a random id. trtllm-serve reads none.
func (completions) AnswerID(http.Header, *server.Completion) string {
	return "cmpl-" + server.RequestID(http.Header{}, "")
}

// trtllmRequest is a request. trtllm-serve refuses other members.
type trtllmRequest struct {
	Model               *string               `json:"model"`
	Prompt              json.RawMessage       `json:"prompt"`
	BestOf              *int                  `json:"best_of"`
	Echo                *bool                 `json:"echo"`
	FrequencyPenalty    *float64              `json:"frequency_penalty"`
	LogitBias           map[string]float64    `json:"logit_bias"`
	Logprobs            *int                  `json:"logprobs"`
	MaxTokens           *int                  `json:"max_tokens"`
	N                   *int                  `json:"n"`
	PresencePenalty     *float64              `json:"presence_penalty"`
	Seed                *int64                `json:"seed"`
	Stop                server.StopStrings    `json:"stop"`
	Stream              *bool                 `json:"stream"`
	StreamOptions       *server.StreamOptions `json:"stream_options"`
	Suffix              *string               `json:"suffix"`
	Temperature         *float64              `json:"temperature"`
	TopP                *float64              `json:"top_p"`
	User                *string               `json:"user"`
	LoRARequest         json.RawMessage       `json:"lora_request"`
	PromptIgnoreLength  *int                  `json:"prompt_ignore_length"`
	UseBeamSearch       bool                  `json:"use_beam_search"`
	TopK                *int                  `json:"top_k"`
	TopPMin             *float64              `json:"top_p_min"`
	MinP                *float64              `json:"min_p"`
	RepeatPenalty       *float64              `json:"repetition_penalty"`
	LengthPenalty       *float64              `json:"length_penalty"`
	EarlyStopping       json.RawMessage       `json:"early_stopping"`
	StopTokenIDs        []uint32              `json:"stop_token_ids"`
	IncludeStop         bool                  `json:"include_stop_str_in_output"`
	IgnoreEOS           bool                  `json:"ignore_eos"`
	MinTokens           int                   `json:"min_tokens"`
	SkipSpecial         *bool                 `json:"skip_special_tokens"`
	Spaces              *bool                 `json:"spaces_between_special_tokens"`
	TruncatePrompt      *int                  `json:"truncate_prompt_tokens"`
	ReturnContextLogits bool                  `json:"return_context_logits"`
	Detokenize          *bool                 `json:"detokenize"`
	ThinkingBudget      *int                  `json:"thinking_token_budget"`
	AddSpecial          *bool                 `json:"add_special_tokens"`
	ResponseFormat      json.RawMessage       `json:"response_format"`
	Disaggregated       json.RawMessage       `json:"disaggregated_params"`
	Priority            *float64              `json:"priority"`
	Conversation        json.RawMessage       `json:"conversation_params"`
}

func (completions) Decode(s *server.Server, _ http.Header, body []byte) (*server.Completion, *server.Refusal) {
	var q trtllmRequest
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		return nil, server.Invalid("", err.Error())
	}
	switch {
	case q.Model == nil || q.Prompt == nil:
		return nil, server.Invalid("", "Field required")
	case q.Suffix != nil && *q.Suffix != "":
		return nil, server.Invalid("", "Value error, suffix is not supported")
	case q.StreamOptions != nil && !server.IsTrue(q.Stream):
		return nil, server.Invalid("", "Value error, Stream options can only be defined when stream is true.")
	case q.Priority != nil && (*q.Priority < 0 || *q.Priority > 1):
		return nil, server.Invalid("", "priority: Input should be greater than or equal to 0 and less than or equal to 1")
	}
	c := &server.Completion{Model: q.Model, Prompt: q.Prompt, MaxTokens: q.MaxTokens, MinTokens: q.MinTokens, N: q.N,
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
	r := s.ReadPromptField(c)
	if r != nil {
		return nil, r
	}
	if c.Structured, r = server.ReadResponseFormat(q.ResponseFormat); r != nil {
		return nil, r
	}
	if c.Holds.Tag, r = c.Structured.ReadTag(); r != nil {
		return nil, server.Invalid("", r.Message) // the request model has xgrammar's formats
	}
	if r := checkTRTLLM(c, &q); r != nil {
		return nil, r
	}
	return c, fitContext(s, c)
}

// fitContext makes the checks of the engine's own process, after whose refusals a stream has begun. An answer that
// would outgrow the context is shortened rather than refused.
func fitContext(s *server.Server, c *server.Completion) *server.Refusal {
	room := s.Options.MaxModelLen - len(c.IDs)
	if room <= 0 {
		return server.BadRequest("",
			fmt.Sprintf("`default_max_tokens` (%d) must be greater than 0, `default_max_tokens` (%d) = "+
				"max_seq_len (%d) - `splited_prompt_len` (%d) - `query_token_len` (0)", room, room, s.Options.MaxModelLen,
				len(c.IDs)))
	}
	if c.MaxTokens == nil || *c.MaxTokens > room {
		c.MaxTokens = &room
	}
	if *c.MaxTokens <= 0 {
		return server.BadRequest("", fmt.Sprintf("`max_tokens` (%d) must be greater than 0", *c.MaxTokens))
	}
	return nil
}

// checkTRTLLM makes the checks of the sampling parameters.
func checkTRTLLM(c *server.Completion, q *trtllmRequest) *server.Refusal {
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
	case c.Choices() != 1 || server.IsTrue(q.Echo) || q.UseBeamSearch:
		message = "The simulator answers with one choice, without echo and without beams."
	}
	for _, bias := range c.LogitBias {
		if bias < -100 || bias > 100 {
			message = "logit_bias value must be in [-100, 100]"
		}
	}
	if message != "" {
		return server.BadRequest("", message)
	}
	if r := server.CheckBiases(c.LogitBias); r != nil {
		return server.BadRequest("", r.Message)
	}
	return server.CheckVocabulary(c.IDs)
}
