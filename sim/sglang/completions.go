package sglang

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/sim/server"
)

// completions is SGLang's /v1/completions. Requests, checks and events follow SGLang 0.5.23:
// sglang/srt/entrypoints/openai/protocol.py, serving_completions.py and serving_base.py. Other paths and the engine are
// the same as in [generate].
type completions struct{ generate }

// Completions returns SGLang's /v1/completions.
func Completions() server.Protocol { return completions{} }

func (completions) Path() string { return "/v1/completions" }

func (completions) Methods() []string { return []string{http.MethodPost} }

// sglangCompletion is a request. SGLang ignores other members.
type sglangCompletion struct {
	server.Completion
	RID            string          `json:"rid"`
	NoStopTrim     bool            `json:"no_stop_trim"`
	ResponseFormat json.RawMessage `json:"response_format"`
	server.Bootstrap
}

func (completions) Decode(s *server.Server, h http.Header, body []byte) (*server.Completion, *server.Refusal) {
	if r := server.CheckContentType(h); r != nil {
		return nil, r
	}
	var q sglangCompletion
	fields, r := server.DecodeObject(body, &q)
	if r != nil {
		return nil, r
	}
	c := &q.Completion
	switch {
	case fields["prompt"] == nil:
		return nil, server.Invalid("body.prompt", server.Pydantic("missing", "body.prompt", "Field required"))
	case string(c.Prompt) == `""` || string(c.Prompt) == "[]":
		return nil, server.BadRequest("", "Prompt cannot be empty")
	case c.MaxTokens != nil && *c.MaxTokens <= 0:
		return nil, server.Invalid("body.max_tokens", server.Pydantic("value_error", "body.max_tokens",
			"Value error, max_tokens must be positive"))
	case server.IsTrue(c.Echo):
		return nil, server.BadRequest("", "The simulator does not echo prompts.")
	}
	// vLLM has these, and SGLang passes over them.
	c.Structured, c.ThinkingBudget, c.TokensAsTokenIDs, c.PromptLogprobs = nil, nil, nil, nil
	c.RequestID, c.IncludeStop = q.RID, q.NoStopTrim
	c.Bootstrap = q.Bootstrap
	if c.MaxTokens == nil {
		few := 16 // SGLang's default
		c.MaxTokens = &few
	}
	if r := s.ReadPromptField(c); r != nil {
		return nil, r
	}
	if c.Structured, r = server.ReadResponseFormat(q.ResponseFormat); r != nil {
		return nil, r
	}
	return c, checkParams(s, c, &sglangSampling{Temperature: c.Temperature, TopP: c.TopP, TopK: c.TopK, MinP: c.MinP,
		PresencePenalty: c.PresencePenalty, FrequencyPenalty: c.FrequencyPenalty, RepeatPenalty: c.RepeatPenalty})
}

func (completions) Refusal(r *server.Refusal) []byte { return server.MustJSON(server.Flat(r)) }

func (completions) ErrorEvent(r *server.Refusal) []byte {
	return server.Frame(map[string]server.FlatError{"error": server.Flat(r)})
}

func (completions) StreamsRefusals() bool { return false }

// The members of the answers, in SGLang's order.
type (
	sglangChunk struct {
		ID      string              `json:"id"`
		Object  string              `json:"object"`
		Created int64               `json:"created"`
		Model   string              `json:"model"`
		Choices []sglangChunkChoice `json:"choices"`
		Usage   *sglangUsage        `json:"usage"`
	}
	sglangChunkChoice struct {
		Index          int       `json:"index"`
		Text           string    `json:"text"`
		Logprobs       any       `json:"logprobs"`
		FinishReason   *string   `json:"finish_reason"`
		MatchedStop    any       `json:"matched_stop"`
		TokenIDs       *[]uint32 `json:"token_ids,omitempty"`
		PromptTokenIDs *[]uint32 `json:"prompt_token_ids,omitempty"`
	}
	sglangUsage struct {
		PromptTokens     int                  `json:"prompt_tokens"`
		TotalTokens      int                  `json:"total_tokens"`
		CompletionTokens int                  `json:"completion_tokens"`
		Details          *server.UsageDetails `json:"prompt_tokens_details,omitempty"`
		Reasoning        int                  `json:"reasoning_tokens"`
	}
)

// Event has only what is new. Choices have ids of their own, as on /generate.
func (k completions) Event(j *server.Job, index, from, to int) []byte {
	c := k.chunk(j)
	if j.Asked.Choices() > 1 {
		c.ID += "_" + strconv.Itoa(index)
	}
	c.Choices = []sglangChunkChoice{choiceOf(j, index, from, to)}
	return server.Frame(c)
}

// chunk returns a chunk without choices. Its model is the request's.
func (completions) chunk(j *server.Job) sglangChunk {
	model := "default"
	if j.Asked.Model != nil {
		model = *j.Asked.Model
	}
	return sglangChunk{ID: j.ID, Object: "text_completion", Created: j.Created, Model: model,
		Choices: []sglangChunkChoice{}}
}

// choiceOf returns the tokens from..to of a choice.
func choiceOf(j *server.Job, index, from, to int) sglangChunkChoice {
	choice := sglangChunkChoice{Index: index, Text: j.Text(from, to), Logprobs: j.Logprobs(from, to)}
	if l, ok := choice.Logprobs.(*server.Logprobs); ok {
		for i := range l.TextOffset {
			l.TextOffset[i] = -1 // SGLang does not tell them
		}
	}
	if server.IsTrue(j.Asked.ReturnTokenIDs) {
		ids := server.List(j.Answer.IDs[from:to])
		choice.TokenIDs = &ids
		if from == 0 {
			choice.PromptTokenIDs = &j.Asked.IDs
		}
	}
	if to == len(j.Answer.IDs) {
		choice.FinishReason = &j.Answer.Finish
		if j.Answer.Finish == "stop" {
			choice.MatchedStop = matched(j)
		}
	}
	return choice
}

// Trailing is the usage, whose chunk lacks what is null.
func (k completions) Trailing(j *server.Job) []byte {
	if !j.Asked.WantsUsage() {
		return nil
	}
	c := k.chunk(j)
	c.Usage = usageOf(j)
	return server.Frame(c)
}

func usageOf(j *server.Job) *sglangUsage {
	u := j.AllUsage()
	return &sglangUsage{PromptTokens: u.PromptTokens, TotalTokens: u.TotalTokens, CompletionTokens: u.CompletionTokens,
		Details: u.Details}
}

func (k completions) Whole(j *server.Job) []byte {
	c := k.chunk(j)
	c.Usage = usageOf(j)
	for i := range j.Asked.Choices() {
		c.Choices = append(c.Choices, choiceOf(j, i, 0, len(j.Answer.IDs)))
	}
	return server.MustJSON(struct {
		sglangChunk
		Metadata map[string]string `json:"metadata"`
	}{c, map[string]string{"weight_version": "default"}})
}
