package vllm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/server"
)

// rust is vLLM's Rust front end (VLLM_USE_RUST_FRONTEND=1) where it differs from the Python one: what it refuses,
// with its texts, and the form of its streams. `make rust-frontend` checks it against the real one.
type rust struct{ completions }

// Rust returns vLLM's /v1/completions behind its Rust front end.
func Rust() server.Protocol { return rust{} }

func (rust) StreamType() string { return "text/event-stream" }

// Decode does not imitate the texts of the JSON errors, which are serde's.
func (rust) Decode(s *server.Server, _ http.Header, body []byte) (*server.Completion, *server.Refusal) {
	c := &server.Completion{}
	if err := json.Unmarshal(body, c); err != nil {
		return nil, server.Invalid("", "Failed to parse the request body as JSON: "+err.Error())
	}
	var only struct {
		Spaces *bool   `json:"spaces_between_special_tokens"`
		Suffix *string `json:"suffix"`
	}
	_ = json.Unmarshal(body, &only) // its errors have been seen before
	unsupported := func(name string) (*server.Completion, *server.Refusal) {
		return nil, server.BadRequest(name, name+" is not supported.")
	}
	switch {
	case c.Model != nil && *c.Model != "" && !s.Serves(*c.Model):
		return nil, server.NotFound("model", "The model `"+*c.Model+"` does not exist.")
	case c.Choices() > 1:
		return nil, server.BadRequest("n", "Only n=1 is supported.")
	case c.UseBeamSearch:
		return unsupported("use_beam_search")
	case only.Spaces != nil && !*only.Spaces:
		return unsupported("spaces_between_special_tokens")
	case c.StreamOptions != nil && !c.Streams():
		return nil, server.BadRequest("stream_options", "stream_options are only supported when stream=true.")
	case c.MaxTokens != nil && *c.MaxTokens == 0:
		return nil, server.BadRequest("max_tokens", "max_tokens=0 is only supported when echo=true.")
	case only.Suffix != nil:
		return unsupported("suffix")
	}
	if r := s.ReadPromptField(c); r != nil {
		return nil, r
	}
	if r := checkRust(s, c); r != nil {
		return nil, r
	}
	var refused *server.Refusal
	if c.Holds.Tag, refused = c.Structured.ReadTag(); refused != nil {
		return nil, refused
	}
	return c, nil
}

// checkRust checks what the front end checks before the engine gets the request. It shortens an answer without enough
// room.
func checkRust(s *server.Server, c *server.Completion) *server.Refusal {
	maximum := s.Options.MaxModelLen
	room := maximum - len(c.IDs)
	if room <= 0 {
		// The front end has different texts for a prompt that fills the context and for one that is longer.
		how := fmt.Sprintf("fills it with %d input tokens, leaving no room for output tokens", len(c.IDs))
		if room < 0 {
			how = fmt.Sprintf("contains %d input tokens, which exceeds this limit even without any output tokens", len(c.IDs))
		}
		return server.BadRequest("input_tokens",
			fmt.Sprintf("This model's maximum context length is %d tokens. However, your "+
				"prompt %s. "+
				"Please reduce the length of the input prompt.", maximum, how))
	}
	want := min(c.TokenLimit(), room)
	c.MaxTokens = &want
	for _, id := range c.IDs {
		if id >= tokenizer.LastSpecial {
			return server.BadRequest("", fmt.Sprintf("token_id(s) [%d] in prompt are out of vocabulary. Vocabulary size: %d", id,
				tokenizer.LastSpecial))
		}
	}
	for key := range c.LogitBias {
		if id, err := strconv.Atoi(key); err != nil || id >= tokenizer.LastSpecial {
			return server.BadRequest("", fmt.Sprintf("token_id(s) [%s] in logit_bias are out of vocabulary. Vocabulary size: %d",
				key,
				tokenizer.LastSpecial))
		}
	}
	between := func(name string, f *float64, low, high float64) *server.Refusal {
		if f == nil || *f >= low && *f <= high {
			return nil
		}
		return server.BadRequest("", fmt.Sprintf("%s must be in [%g, %g], got %g", name, low, high, *f))
	}
	for _, r := range []*server.Refusal{
		between("temperature", c.Temperature, 0, 2), between("presence_penalty", c.PresencePenalty, -2, 2),
		between("frequency_penalty", c.FrequencyPenalty, -2, 2), between("min_p", c.MinP, 0, 1),
	} {
		if r != nil {
			return r
		}
	}
	switch {
	case c.TopP != nil && (*c.TopP <= 0 || *c.TopP > 1):
		return server.BadRequest("", fmt.Sprintf("top_p must be in (0, 1], got %g", *c.TopP))
	case c.RepeatPenalty != nil && *c.RepeatPenalty <= 0:
		return server.BadRequest("", fmt.Sprintf("repetition_penalty must be in (0, inf), got %g", *c.RepeatPenalty))
	case c.MinTokens > want:
		return server.BadRequest("",
			fmt.Sprintf("`min_tokens` must be less than or equal to `max_tokens`, got min_tokens=%d, "+
				"max_tokens=%d", c.MinTokens, want))
	case c.Logprobs != nil && *c.Logprobs > server.MaxLogprobs:
		return server.BadRequest("", fmt.Sprintf("requested logprobs of %d, which is greater than max allowed: %d",
			*c.Logprobs,
			server.MaxLogprobs))
	case c.ThinkingBudget != nil && *c.ThinkingBudget < -1:
		return server.BadRequest("", "`thinking_token_budget` must be a non-negative integer or -1 for unlimited.")
	}
	return nil
}

// The forms of the Rust front end's streams. It leaves out empty members.
type (
	rustChunk struct {
		ID      string       `json:"id"`
		Object  string       `json:"object"`
		Created int64        `json:"created"`
		Model   string       `json:"model"`
		Choices []rustChoice `json:"choices"`
		Usage   *rustUsage   `json:"usage,omitempty"`
	}
	rustChoice struct {
		Index          int           `json:"index"`
		Text           string        `json:"text"`
		Logprobs       *rustLogprobs `json:"logprobs,omitempty"`
		FinishReason   *string       `json:"finish_reason,omitempty"`
		StopReason     any           `json:"stop_reason,omitempty"`
		TokenIDs       *[]uint32     `json:"token_ids,omitempty"`
		PromptTokenIDs []uint32      `json:"prompt_token_ids,omitempty"`
	}
	// rustLogprobs has logprobs's members in another order.
	rustLogprobs struct {
		Tokens        []string          `json:"tokens"`
		TokenLogprobs []float64         `json:"token_logprobs"`
		TopLogprobs   []json.RawMessage `json:"top_logprobs"`
		TextOffset    []int             `json:"text_offset"`
	}
	rustUsage struct {
		server.Usage
		Completion struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

func rustFrame(j *server.Job, choices ...rustChoice) []byte {
	return server.Frame(rustChunk{ID: j.ID, Object: "text_completion", Created: j.Created,
		Model:   j.Server.Options.Models[0],
		Choices: choices})
}

// rustIDs returns ids if the request asks for them.
func rustIDs(j *server.Job, ids []uint32) *[]uint32 {
	if !server.IsTrue(j.Asked.ReturnTokenIDs) {
		return nil
	}
	ids = server.List(ids)
	return &ids
}

// Leading returns the event before the first token, which repeats the prompt. It returns nil if the request does not
// ask for that.
func (rust) Leading(j *server.Job) []byte {
	if !server.IsTrue(j.Asked.ReturnTokenIDs) {
		return nil
	}
	return rustFrame(j, rustChoice{TokenIDs: rustIDs(j, nil), PromptTokenIDs: j.Asked.IDs})
}

// Event returns no finish reason, which comes in an event of its own. The last character is sent even if its tokens are
// not complete.
func (rust) Event(j *server.Job, _, from, to int) []byte {
	choice := rustChoice{TokenIDs: rustIDs(j, j.Answer.IDs[from:to]), Text: j.Text(from, to)}
	if to == len(j.Answer.IDs) {
		choice.Text += j.Answer.Rest
	}
	if l, ok := j.Logprobs(from, to).(*server.Logprobs); ok {
		choice.Logprobs = &rustLogprobs{l.Tokens, l.TokenLogprobs, l.TopLogprobs, l.TextOffset}
	}
	return rustFrame(j, choice)
}

func (rust) Trailing(j *server.Job) []byte {
	finish := rustFrame(j, rustChoice{FinishReason: &j.Answer.Finish, StopReason: j.Answer.Stop, TokenIDs: rustIDs(j,
		nil)})
	if !j.Asked.WantsUsage() {
		return finish
	}
	return append(finish, server.Frame(rustChunk{ID: j.ID, Object: "text_completion", Created: j.Created,
		Model: j.Server.Options.Models[0], Choices: []rustChoice{}, Usage: &rustUsage{Usage: *j.AllUsage()}})...)
}
