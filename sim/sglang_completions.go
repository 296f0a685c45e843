package sim

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// sglangCompletions is SGLang's /v1/completions. Requests, checks and events are those of SGLang 0.5.23:
// sglang/srt/entrypoints/openai/protocol.py, serving_completions.py and serving_base.py. Other paths and the engine are
// those of [sglang].
type sglangCompletions struct{ sglang }

// newSGLangCompletions returns SGLang's /v1/completions.
func newSGLangCompletions() protocol { return sglangCompletions{} }

func (sglangCompletions) path() string { return "/v1/completions" }

func (sglangCompletions) methods() []string { return []string{http.MethodPost} }

// sglangCompletion is a request. SGLang ignores other members.
type sglangCompletion struct {
	completion
	RID            string          `json:"rid"`
	NoStopTrim     bool            `json:"no_stop_trim"`
	ResponseFormat json.RawMessage `json:"response_format"`
	bootstrap
}

func (sglangCompletions) decode(s *Server, h http.Header, body []byte) (*completion, *refusal) {
	if r := checkContentType(h); r != nil {
		return nil, r
	}
	var q sglangCompletion
	fields, r := decodeObject(body, &q)
	if r != nil {
		return nil, r
	}
	c := &q.completion
	switch {
	case fields["prompt"] == nil:
		return nil, invalid("body.prompt", pydantic("missing", "body.prompt", "Field required"))
	case string(c.Prompt) == `""` || string(c.Prompt) == "[]":
		return nil, badRequest("", "Prompt cannot be empty")
	case c.MaxTokens != nil && *c.MaxTokens <= 0:
		return nil, invalid("body.max_tokens", pydantic("value_error", "body.max_tokens",
			"Value error, max_tokens must be positive"))
	case isTrue(c.Echo):
		return nil, badRequest("", "The simulator does not echo prompts.")
	}
	// What vLLM has and SGLang passes over.
	c.Structured, c.ThinkingBudget, c.TokensAsTokenIDs, c.PromptLogprobs = nil, nil, nil, nil
	c.RequestID, c.IncludeStop = q.RID, q.NoStopTrim
	c.bootstrap = q.bootstrap
	if c.MaxTokens == nil {
		few := 16 // SGLang's default
		c.MaxTokens = &few
	}
	if r := s.readPromptField(c); r != nil {
		return nil, r
	}
	if c.Structured, r = readResponseFormat(q.ResponseFormat); r != nil {
		return nil, r
	}
	return c, checkParams(s, c, &sglangSampling{Temperature: c.Temperature, TopP: c.TopP, TopK: c.TopK, MinP: c.MinP,
		PresencePenalty: c.PresencePenalty, FrequencyPenalty: c.FrequencyPenalty, RepeatPenalty: c.RepeatPenalty})
}

func (sglangCompletions) refusal(r *refusal) []byte { return mustJSON(flat(r)) }

func (sglangCompletions) errorEvent(r *refusal) []byte {
	return frame(map[string]flatError{"error": flat(r)})
}

func (sglangCompletions) streamsRefusals() bool { return false }

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
		PromptTokens     int           `json:"prompt_tokens"`
		TotalTokens      int           `json:"total_tokens"`
		CompletionTokens int           `json:"completion_tokens"`
		Details          *usageDetails `json:"prompt_tokens_details,omitempty"`
		Reasoning        int           `json:"reasoning_tokens"`
	}
)

// event has only what is new. Choices have ids of their own, as on /generate.
func (k sglangCompletions) event(j *job, index, from, to int) []byte {
	c := k.chunk(j)
	if j.c.choices() > 1 {
		c.ID += "_" + strconv.Itoa(index)
	}
	c.Choices = []sglangChunkChoice{choiceOf(j, index, from, to)}
	return frame(c)
}

// chunk returns a chunk without choices. Its model is the request's.
func (sglangCompletions) chunk(j *job) sglangChunk {
	model := "default"
	if j.c.Model != nil {
		model = *j.c.Model
	}
	return sglangChunk{ID: j.id, Object: "text_completion", Created: j.created, Model: model,
		Choices: []sglangChunkChoice{}}
}

// choiceOf returns the tokens from..to of a choice.
func choiceOf(j *job, index, from, to int) sglangChunkChoice {
	choice := sglangChunkChoice{Index: index, Text: j.text(from, to), Logprobs: j.logprobs(from, to)}
	if l, ok := choice.Logprobs.(*logprobs); ok {
		for i := range l.TextOffset {
			l.TextOffset[i] = -1 // SGLang does not tell them
		}
	}
	if isTrue(j.c.ReturnTokenIDs) {
		ids := list(j.gen.ids[from:to])
		choice.TokenIDs = &ids
		if from == 0 {
			choice.PromptTokenIDs = &j.c.ids
		}
	}
	if to == len(j.gen.ids) {
		choice.FinishReason = &j.gen.finish
		if j.gen.finish == "stop" {
			choice.MatchedStop = matched(j)
		}
	}
	return choice
}

// trailing is the usage, whose chunk lacks what is null.
func (k sglangCompletions) trailing(j *job) []byte {
	if !j.c.wantsUsage() {
		return nil
	}
	c := k.chunk(j)
	c.Usage = usageOf(j)
	return frame(c)
}

func usageOf(j *job) *sglangUsage {
	u := j.allUsage()
	return &sglangUsage{PromptTokens: u.PromptTokens, TotalTokens: u.TotalTokens, CompletionTokens: u.CompletionTokens,
		Details: u.Details}
}

func (k sglangCompletions) whole(j *job) []byte {
	c := k.chunk(j)
	c.Usage = usageOf(j)
	for i := range j.c.choices() {
		c.Choices = append(c.Choices, choiceOf(j, i, 0, len(j.gen.ids)))
	}
	return mustJSON(struct {
		sglangChunk
		Metadata map[string]string `json:"metadata"`
	}{c, map[string]string{"weight_version": "default"}})
}
