package sglang

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// Version is the version of SGLang whose contract sim follows.
const Version = "0.5.23"

// generate is SGLang's /generate. Requests, checks and events follow SGLang 0.5.23: sglang/srt/entrypoints,
// managers/io_struct.py, managers/tokenizer_manager.py and sampling/sampling_params.py.
type generate struct{}

// Generate returns SGLang's /generate.
func Generate() server.Protocol { return generate{} }

func (generate) Defaults(*server.Options) {}

func (generate) Path() string { return "/generate" }

func (generate) Methods() []string { return []string{http.MethodPost, http.MethodPut} }

func (generate) Page(s *server.Server, path string) *server.Page {
	switch path {
	case "/v1/models":
		return s.ModelsPage("sglang")
	case "/health", "/health_generate":
		// It generates a token, and looks once a second whether that has come.
		health := s.HealthPage(http.MethodGet)
		return &server.Page{Methods: health.Methods, Serve: func(w http.ResponseWriter, rec *server.Request) {
			_ = s.Wait(context.Background(), time.Second) // or until the server is closed
			health.Serve(w, rec)
		}}
	case "/ready":
		return s.HealthPage(http.MethodGet)
	case "/model_info", "/get_model_info":
		return s.JSONPage(map[string]any{"model_path": s.Options.Models[0], "served_model_name": s.Options.Models[0],
			"tokenizer_path": s.Options.Models[0], "is_generation": true, "model_type": "gpt_oss",
			"architectures": []string{"GptOssForCausalLM"}})
	case "/server_info", "/get_server_info":
		info := map[string]any{"model_path": s.Options.Models[0], "served_model_name": s.Options.Models[0],
			"version": Version, "context_length": s.Options.MaxModelLen, "max_running_requests": nil,
			"incremental_streaming_output": s.Options.IncrementalStreaming}
		if n := s.Options.MaxRunning; n > 0 { // SMG takes its capacity from it
			info["max_running_requests"] = n
		}
		return s.JSONPage(info)
	case "/tokenize":
		return s.TokenizePage(false)
	case "/abort_request":
		return abortPage(s)
	case "/metrics":
		return s.MetricsPage("text/plain; version=0.0.4; charset=utf-8")
	}
	return nil
}

func (generate) Guarded(path string) bool {
	return !strings.HasPrefix(path, "/health") && !strings.HasPrefix(path, "/metrics")
}

// AnswerID returns the request's own id or a random one. SGLang reads no header for it.
func (generate) AnswerID(_ http.Header, c *server.Completion) string {
	return server.RequestID(http.Header{}, c.RequestID)
}

// sglangRequest is a request. SGLang ignores other members, a model among them.
type sglangRequest struct {
	RID           string          `json:"rid"`
	Text          json.RawMessage `json:"text"`
	InputIDs      json.RawMessage `json:"input_ids"`
	Sampling      json.RawMessage `json:"sampling_params"`
	Stream        bool            `json:"stream"`
	ReturnLogprob bool            `json:"return_logprob"`
	TopLogprobs   int             `json:"top_logprobs_num"`
	MaxThinking   *int            `json:"max_thinking_tokens"`
	CacheSalt     *string         `json:"cache_salt"`
	Priority      *int            `json:"priority"`
	server.Bootstrap
}

// sglangSampling are the sampling parameters. SGLang refuses others.
type sglangSampling struct {
	MaxNewTokens     *int               `json:"max_new_tokens"`
	MinNewTokens     int                `json:"min_new_tokens"`
	N                *int               `json:"n"`
	Stop             server.StopStrings `json:"stop"`
	StopTokenIDs     []uint32           `json:"stop_token_ids"`
	IgnoreEOS        bool               `json:"ignore_eos"`
	Temperature      *float64           `json:"temperature"`
	TopP             *float64           `json:"top_p"`
	TopK             *int               `json:"top_k"`
	MinP             *float64           `json:"min_p"`
	PresencePenalty  *float64           `json:"presence_penalty"`
	FrequencyPenalty *float64           `json:"frequency_penalty"`
	RepeatPenalty    *float64           `json:"repetition_penalty"`
	LogitBias        map[string]float64 `json:"logit_bias"`
	Seed             *int64             `json:"sampling_seed"`
	SkipSpecial      *bool              `json:"skip_special_tokens"`
	Spaces           *bool              `json:"spaces_between_special_tokens"`
	NoStopTrim       bool               `json:"no_stop_trim"`
	StructuralTag    *string            `json:"structural_tag"`
}

// Decode returns the completion beside a refusal if SGLang would refuse the request only after the body's form is
// checked. A streamed answer has begun by then.
func (generate) Decode(s *server.Server, _ http.Header, body []byte) (*server.Completion, *server.Refusal) {
	var q sglangRequest
	if _, r := server.DecodeObject(body, &q); r != nil {
		return nil, r
	}
	c := &server.Completion{RequestID: q.RID, Stream: &q.Stream, CacheSalt: q.CacheSalt, ThinkingBudget: q.MaxThinking,
		Bootstrap: q.Bootstrap}
	if q.InputIDs == nil || string(q.InputIDs) == "null" {
		if q.Text != nil {
			return c, server.BadRequest("", "The simulator answers prompts of ids.")
		}
		return c, server.BadRequest("", "Either text, input_ids or input_embeds should be provided.")
	}
	if string(q.InputIDs) == "[]" {
		return c, server.BadRequest("", "input_ids cannot be empty.")
	}
	var r *server.Refusal
	if c.IDs, r = server.ReadIDs("input_ids", q.InputIDs); r != nil {
		return nil, r
	}
	var p sglangSampling
	if q.Sampling != nil {
		decoder := json.NewDecoder(strings.NewReader(string(q.Sampling)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&p); err != nil {
			return c, server.BadRequest("", "Invalid sampling_params: "+err.Error())
		}
	}
	c.N, c.MinTokens, c.Stop, c.StopTokenIDs, c.IgnoreEOS = p.N, p.MinNewTokens, p.Stop, p.StopTokenIDs, p.IgnoreEOS
	c.SkipSpecial, c.IncludeStop, c.LogitBias = p.SkipSpecial, p.NoStopTrim, p.LogitBias
	c.MaxTokens = p.MaxNewTokens
	if c.MaxTokens == nil {
		few := 128 // SGLang's default
		c.MaxTokens = &few
	}
	if q.ReturnLogprob {
		c.Logprobs = &q.TopLogprobs
	}
	if p.StructuralTag != nil {
		c.Structured = &server.StructuredOutputs{Tag: p.StructuralTag}
	}
	return c, checkParams(s, c, &p)
}

// checkParams makes the checks of TokenizerManager and of SamplingParams.verify, with their texts.
func checkParams(s *server.Server, c *server.Completion, p *sglangSampling) *server.Refusal {
	maximum, have, want := s.Options.MaxModelLen, len(c.IDs), *c.MaxTokens
	outside := func(f *float64, low, high float64) bool { return f != nil && (*f < low || *f > high) }
	message := ""
	switch {
	case c.ThinkingBudget != nil && !s.Options.ReasoningConfig:
		message = "max_thinking_tokens requires the server to be launched with --enable-strict-thinking"
	case have >= maximum:
		message = fmt.Sprintf("The input (%d tokens) is longer than the model's context length (%d tokens).", have, maximum)
	case have+want > maximum:
		message = fmt.Sprintf("Requested token count exceeds the model's maximum context length of %d tokens. You requested "+
			"a total of %d tokens: %d tokens from the input messages and %d tokens for the completion. Please reduce the "+
			"number of tokens in the input messages or the completion to fit within the limit.", maximum, have+want, have,
			want)
	case p.Temperature != nil && *p.Temperature < 0:
		message = fmt.Sprintf("temperature must be a non-negative finite number, got %v.", *p.Temperature)
	case p.TopP != nil && (*p.TopP <= 0 || *p.TopP > 1):
		message = fmt.Sprintf("top_p must be in (0, 1], got %v.", *p.TopP)
	case outside(p.MinP, 0, 1):
		message = fmt.Sprintf("min_p must be in [0, 1], got %v.", *p.MinP)
	case p.TopK != nil && *p.TopK < 1 && *p.TopK != -1:
		message = fmt.Sprintf("top_k must be -1 (disable) or at least 1, got %d.", *p.TopK)
	case outside(p.FrequencyPenalty, -2, 2):
		message = fmt.Sprintf("frequency_penalty must be in [-2, 2], got %v.", *p.FrequencyPenalty)
	case outside(p.PresencePenalty, -2, 2):
		message = fmt.Sprintf("presence_penalty must be in [-2, 2], got %v.", *p.PresencePenalty)
	case p.RepeatPenalty != nil && (*p.RepeatPenalty <= 0 || *p.RepeatPenalty > 2):
		message = fmt.Sprintf("repetition_penalty must be in (0, 2] (1.0 = no penalty), got %v.", *p.RepeatPenalty)
	case c.MinTokens < 0 || c.MinTokens > want:
		message = fmt.Sprintf("min_new_tokens must be in [0, max_new_tokens(%d)], got %d.", want, c.MinTokens)
	case want < 1 || c.Choices() < 1:
		message = "The simulator answers with at least one token and one choice."
	}
	if message != "" {
		return server.BadRequest("", message)
	}
	if r := server.CheckBiases(c.LogitBias); r != nil {
		return server.BadRequest("", fmt.Sprintf("logit_bias must has keys in [0, %d]: %s", tokenizer.LastSpecial-1,
			r.Message))
	}
	var r *server.Refusal
	if c.Holds.Tag, r = c.Structured.ReadTag(); r != nil {
		return r
	}
	return server.CheckVocabulary(c.IDs)
}

// Refusal has the message alone. SGLang's requests that are not even of the right form get its older form.
func (generate) Refusal(r *server.Refusal) []byte {
	if r.Type != "BadRequestError" {
		return server.MustJSON(struct {
			Object string `json:"object"`
			*server.Refusal
		}{"error", r})
	}
	return server.MustJSON(map[string]any{"error": map[string]string{"message": r.Message}})
}

func (generate) ErrorEvent(r *server.Refusal) []byte {
	type failure struct {
		Message   string `json:"message"`
		Type      string `json:"type"`
		Code      int    `json:"code"`
		Retryable bool   `json:"retryable"`
	}
	return server.Frame(map[string]failure{"error": {r.Message, "invalid_request_error", r.Code, false}})
}

func (generate) StreamsRefusals() bool { return true }

func (generate) Terminator() []byte { return server.Done }

func (generate) SingleUse() bool { return false }

func (generate) Meets() bool { return true }

func (generate) StreamType() string { return "text/event-stream; charset=utf-8" }

// abortPage returns SGLang's /abort_request.
func abortPage(s *server.Server) *server.Page {
	return &server.Page{Methods: []string{http.MethodPost, http.MethodGet}, Serve: func(w http.ResponseWriter,
		rec *server.Request) {
		var q struct {
			RID string `json:"rid"`
		}
		if json.Unmarshal(rec.Body, &q) != nil {
			s.Refuse(w, rec, server.HTTPError(http.StatusUnprocessableEntity))
			return
		}
		s.Abort(q.RID)
		s.Head(w, rec, http.StatusOK, "")
	}}
}
