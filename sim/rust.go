package sim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// rustVLLM is vLLM's Rust front end (VLLM_USE_RUST_FRONTEND=1) where it differs from the Python one: what it refuses,
// with its texts, and the form of its streams. `make rust-frontend` checks it against the real one.
type rustVLLM struct{ vllm }

// newRustVLLM returns vLLM's /v1/completions behind its Rust front end.
func newRustVLLM() protocol { return rustVLLM{} }

func (rustVLLM) streamType() string { return "text/event-stream" }

// decode does not imitate the texts of the JSON errors, which are serde's.
func (rustVLLM) decode(s *Server, _ http.Header, body []byte) (*completion, *refusal) {
	c := &completion{}
	if err := json.Unmarshal(body, c); err != nil {
		return nil, invalid("", "Failed to parse the request body as JSON: "+err.Error())
	}
	var only struct {
		Spaces *bool   `json:"spaces_between_special_tokens"`
		Suffix *string `json:"suffix"`
	}
	_ = json.Unmarshal(body, &only) // its errors have been seen before
	unsupported := func(name string) (*completion, *refusal) { return nil, badRequest(name, name+" is not supported.") }
	switch {
	case c.Model != nil && *c.Model != "" && !s.serves(*c.Model):
		return nil, notFound("model", "The model `"+*c.Model+"` does not exist.")
	case c.choices() > 1:
		return nil, badRequest("n", "Only n=1 is supported.")
	case c.UseBeamSearch:
		return unsupported("use_beam_search")
	case only.Spaces != nil && !*only.Spaces:
		return unsupported("spaces_between_special_tokens")
	case c.StreamOptions != nil && !c.streams():
		return nil, badRequest("stream_options", "stream_options are only supported when stream=true.")
	case c.MaxTokens != nil && *c.MaxTokens == 0:
		return nil, badRequest("max_tokens", "max_tokens=0 is only supported when echo=true.")
	case only.Suffix != nil:
		return unsupported("suffix")
	}
	if r := s.readPromptField(c); r != nil {
		return nil, r
	}
	if r := checkRust(s, c); r != nil {
		return nil, r
	}
	var refused *refusal
	if c.holds.tag, refused = c.Structured.readTag(); refused != nil {
		return nil, refused
	}
	return c, nil
}

// checkRust checks what the front end checks before the engine gets the request. It shortens an answer without enough
// room.
func checkRust(s *Server, c *completion) *refusal {
	maximum := s.opt.MaxModelLen
	room := maximum - len(c.ids)
	if room <= 0 {
		// The front end has different texts for a prompt that fills the context and for one that is longer.
		how := fmt.Sprintf("fills it with %d input tokens, leaving no room for output tokens", len(c.ids))
		if room < 0 {
			how = fmt.Sprintf("contains %d input tokens, which exceeds this limit even without any output tokens", len(c.ids))
		}
		return badRequest("input_tokens", fmt.Sprintf("This model's maximum context length is %d tokens. However, your "+
			"prompt %s. "+
			"Please reduce the length of the input prompt.", maximum, how))
	}
	want := min(c.tokenLimit(), room)
	c.MaxTokens = &want
	for _, id := range c.ids {
		if id >= tokenizer.LastSpecial {
			return badRequest("", fmt.Sprintf("token_id(s) [%d] in prompt are out of vocabulary. Vocabulary size: %d", id,
				tokenizer.LastSpecial))
		}
	}
	for key := range c.LogitBias {
		if id, err := strconv.Atoi(key); err != nil || id >= tokenizer.LastSpecial {
			return badRequest("", fmt.Sprintf("token_id(s) [%s] in logit_bias are out of vocabulary. Vocabulary size: %d", key,
				tokenizer.LastSpecial))
		}
	}
	between := func(name string, f *float64, low, high float64) *refusal {
		if f == nil || *f >= low && *f <= high {
			return nil
		}
		return badRequest("", fmt.Sprintf("%s must be in [%g, %g], got %g", name, low, high, *f))
	}
	for _, r := range []*refusal{
		between("temperature", c.Temperature, 0, 2), between("presence_penalty", c.PresencePenalty, -2, 2),
		between("frequency_penalty", c.FrequencyPenalty, -2, 2), between("min_p", c.MinP, 0, 1),
	} {
		if r != nil {
			return r
		}
	}
	switch {
	case c.TopP != nil && (*c.TopP <= 0 || *c.TopP > 1):
		return badRequest("", fmt.Sprintf("top_p must be in (0, 1], got %g", *c.TopP))
	case c.RepeatPenalty != nil && *c.RepeatPenalty <= 0:
		return badRequest("", fmt.Sprintf("repetition_penalty must be in (0, inf), got %g", *c.RepeatPenalty))
	case c.MinTokens > want:
		return badRequest("", fmt.Sprintf("`min_tokens` must be less than or equal to `max_tokens`, got min_tokens=%d, "+
			"max_tokens=%d", c.MinTokens, want))
	case c.Logprobs != nil && *c.Logprobs > maxLogprobs:
		return badRequest("", fmt.Sprintf("requested logprobs of %d, which is greater than max allowed: %d", *c.Logprobs,
			maxLogprobs))
	case c.ThinkingBudget != nil && *c.ThinkingBudget < -1:
		return badRequest("", "`thinking_token_budget` must be a non-negative integer or -1 for unlimited.")
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
		usage
		Completion struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

func rustFrame(j *job, choices ...rustChoice) []byte {
	return frame(rustChunk{ID: j.id, Object: "text_completion", Created: j.created, Model: j.s.opt.Models[0],
		Choices: choices})
}

// rustIDs returns ids if the request asks for them.
func rustIDs(j *job, ids []uint32) *[]uint32 {
	if !isTrue(j.c.ReturnTokenIDs) {
		return nil
	}
	ids = list(ids)
	return &ids
}

// leading returns the event before the first token, which repeats the prompt. It returns nil if the request does not
// ask for that.
func (rustVLLM) leading(j *job) []byte {
	if !isTrue(j.c.ReturnTokenIDs) {
		return nil
	}
	return rustFrame(j, rustChoice{TokenIDs: rustIDs(j, nil), PromptTokenIDs: j.c.ids})
}

// event returns no finish reason, which comes in an event of its own. The last character is sent even if its tokens are
// not complete.
func (rustVLLM) event(j *job, _, from, to int) []byte {
	choice := rustChoice{TokenIDs: rustIDs(j, j.gen.ids[from:to]), Text: j.text(from, to)}
	if to == len(j.gen.ids) {
		choice.Text += j.gen.rest
	}
	if l, ok := j.logprobs(from, to).(*logprobs); ok {
		choice.Logprobs = &rustLogprobs{l.Tokens, l.TokenLogprobs, l.TopLogprobs, l.TextOffset}
	}
	return rustFrame(j, choice)
}

func (rustVLLM) trailing(j *job) []byte {
	finish := rustFrame(j, rustChoice{FinishReason: &j.gen.finish, StopReason: j.gen.stop, TokenIDs: rustIDs(j, nil)})
	if !j.c.wantsUsage() {
		return finish
	}
	return append(finish, frame(rustChunk{ID: j.id, Object: "text_completion", Created: j.created,
		Model: j.s.opt.Models[0], Choices: []rustChoice{}, Usage: &rustUsage{usage: *j.allUsage()}})...)
}
