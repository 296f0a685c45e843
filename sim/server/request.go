package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/sim/gptoss"
)

// Completion has the fields of a request that the server supports. Other fields are ignored, as in vLLM.
type Completion struct {
	Model            *string            `json:"model"`
	Prompt           json.RawMessage    `json:"prompt"`
	PromptEmbeds     json.RawMessage    `json:"prompt_embeds"`
	MaxTokens        *int               `json:"max_tokens"`
	MinTokens        int                `json:"min_tokens"`
	N                *int               `json:"n"`
	Stream           *bool              `json:"stream"`
	StreamOptions    *StreamOptions     `json:"stream_options"`
	Stop             StopStrings        `json:"stop"`
	StopTokenIDs     []uint32           `json:"stop_token_ids"`
	IgnoreEOS        bool               `json:"ignore_eos"`
	IncludeStop      bool               `json:"include_stop_str_in_output"`
	SkipSpecial      *bool              `json:"skip_special_tokens"`
	ReturnTokenIDs   *bool              `json:"return_token_ids"`
	RequestID        string             `json:"request_id"`
	CacheSalt        *string            `json:"cache_salt"`
	UseBeamSearch    bool               `json:"use_beam_search"`
	Echo             *bool              `json:"echo"`
	Logprobs         *int               `json:"logprobs"`
	TokensAsTokenIDs *bool              `json:"return_tokens_as_token_ids"`
	PromptLogprobs   *int               `json:"prompt_logprobs"`
	Priority         int                `json:"priority"`
	Temperature      *float64           `json:"temperature"`
	TopP             *float64           `json:"top_p"`
	PresencePenalty  *float64           `json:"presence_penalty"`
	FrequencyPenalty *float64           `json:"frequency_penalty"`
	Structured       *StructuredOutputs `json:"structured_outputs"`
	ThinkingBudget   *int               `json:"thinking_token_budget"`
	Seed             *int64             `json:"seed"`
	TopK             *int               `json:"top_k"`
	MinP             *float64           `json:"min_p"`
	RepeatPenalty    *float64           `json:"repetition_penalty"`
	// LogitBias is checked. It has no effect, since the built-in model has no probabilities.
	LogitBias map[string]float64 `json:"logit_bias"`

	// KVTransferParams say who else works on a request to vLLM, and Bootstrap who does on one to SGLang.
	KVTransferParams *TransferParams `json:"kv_transfer_params"`
	Bootstrap        Bootstrap       `json:"-"`

	// IDs are the prompt.
	IDs []uint32 `json:"-"`
	// Holds is what the answer is held to. Declared are functions that the request declares beside the prompt.
	Holds    gptoss.Constraint `json:"-"`
	Declared []gptoss.Tool     `json:"-"`
	// SplitsReasoning reports whether [sim.Ollama] takes the reasoning out of its text.
	SplitsReasoning bool `json:"-"`
	// HoldsLeast reports whether only text is held back with which a stop string begins.
	HoldsLeast bool `json:"-"`

	// CallsGoOn reports whether an answer may go on after a call, so that it has several.
	CallsGoOn bool `json:"-"`

	// Own is what only the kind knows of the request.
	Own any `json:"-"`
}

// StreamOptions are a request's stream_options.
type StreamOptions struct {
	IncludeUsage    *bool `json:"include_usage"`
	ContinuousUsage *bool `json:"continuous_usage_stats"`
}

// StopStrings is a string or a list of them.
type StopStrings []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *StopStrings) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*s = make(StopStrings, 1)
		return json.Unmarshal(b, &(*s)[0])
	}
	return json.Unmarshal(b, (*[]string)(s))
}

// IsTrue reports whether a member is there and true.
func IsTrue(b *bool) bool { return b != nil && *b }

// Streams reports whether the answer is to be streamed.
func (c *Completion) Streams() bool { return IsTrue(c.Stream) }

// TokenLimit returns the greatest number of tokens of an answer.
func (c *Completion) TokenLimit() int {
	if c.MaxTokens == nil {
		return 16 // vLLM's default on this path, for null too
	}
	return *c.MaxTokens
}

// Choices returns how many answers are asked for.
func (c *Completion) Choices() int {
	if c.N == nil {
		return 1
	}
	return *c.N
}

// WantsUsage reports whether the stream ends with the usage.
func (c *Completion) WantsUsage() bool {
	return c.StreamOptions != nil && IsTrue(c.StreamOptions.IncludeUsage)
}

// Decode reads and checks a request in vLLM's order: the body's form, the model, the length, the sampling parameters,
// the ids.
func (s *Server) Decode(h http.Header, body []byte) (*Completion, *Refusal) {
	if r := CheckContentType(h); r != nil {
		return nil, r
	}
	c := &Completion{}
	if r := decodeBody(body, c); r != nil {
		return nil, r
	}
	if c.Model != nil && *c.Model != "" && !s.Serves(*c.Model) {
		return nil, NotFound("model", "The model `"+*c.Model+"` does not exist.")
	}
	if c.UseBeamSearch && c.Streams() {
		return nil, BadRequest("", "Streaming is not currently supported with beam search")
	}
	if r := s.ReadPromptField(c); r != nil {
		return nil, r
	}
	if r := s.CheckLength(c); r != nil {
		return nil, r
	}
	return c, s.CheckEngine(c)
}

// CheckContentType refuses what is not JSON by its header.
func CheckContentType(h http.Header) *Refusal {
	if media, _, _ := mime.ParseMediaType(h.Get("Content-Type")); media != "application/json" {
		return Invalid("", "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed")
	}
	return nil
}

// CheckEngine makes vLLM's checks of the sampling parameters and the ids. It also reads the structural tag.
func (s *Server) CheckEngine(c *Completion) (refused *Refusal) {
	if r := CheckSampling(c); r != nil {
		return r
	}
	if r := checkLogprobs(c); r != nil {
		return r
	}
	if r := CheckBiases(c.LogitBias); r != nil {
		return r
	}
	if r := s.checkThinkingBudget(c); r != nil {
		return r
	}
	if c.Holds.Tag, refused = c.Structured.ReadTag(); refused != nil {
		return refused
	}
	return CheckVocabulary(c.IDs)
}

// DecodeObject decodes a body, and returns its members too. Its errors are the same as from vLLM's request models.
func DecodeObject(body []byte, into any) (fields map[string]json.RawMessage, refused *Refusal) {
	err := json.Unmarshal(body, &fields)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at := strconv.FormatInt(syntax.Offset, 10)
		return nil, Invalid("body."+at, Pydantic("json_invalid", "body."+at, "JSON decode error"))
	case errors.As(err, &wrong) && fields == nil:
		return nil, Invalid("body", Pydantic("model_attributes_type", "body",
			"Input should be a valid dictionary or object to extract fields from"))
	case errors.As(err, &wrong):
		return nil, Invalid("body."+wrong.Field, Pydantic(
			"type_error", "body."+wrong.Field, "Input should be a valid "+wrong.Type.String()))
	case err != nil:
		return nil, Invalid("body", Pydantic("value_error", "body", "JSON decode error"))
	}
	return fields, nil
}

func decodeBody(body []byte, c *Completion) *Refusal {
	fields, refused := DecodeObject(body, c)
	if refused != nil {
		return refused
	}
	empty := func(name string) bool {
		v := fields[name]
		return v == nil || string(v) == "null"
	}
	options := fields["stream_options"]
	if !empty("stream_options") && string(bytes.TrimSpace(options)) != "{}" && !c.Streams() {
		return InvalidValue("stream_options", "Stream options can only be defined when `stream=True`.", len(fields))
	}
	if (empty("prompt") || string(c.Prompt) == `""`) && empty("prompt_embeds") {
		return InvalidValue("prompt", "Either prompt or prompt_embeds must be provided and non-empty.", len(fields))
	}
	if c.PromptLogprobs != nil && c.Streams() && *c.PromptLogprobs != 0 {
		return InvalidValue("prompt_logprobs", "`prompt_logprobs` are not available when `stream=True`.", len(fields))
	}
	if c.CacheSalt != nil && (*c.CacheSalt == "" || len(*c.CacheSalt) > 1024) {
		return InvalidValue("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.", len(fields))
	}
	return nil
}

// ReadPromptField accepts ids, a list with one list of ids, a text, or a list with one text.
func (s *Server) ReadPromptField(c *Completion) *Refusal {
	raw := c.Prompt
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		if first := bytes.TrimSpace(list[0]); len(first) > 0 && (first[0] == '[' || first[0] == '"') {
			raw = list[0]
		}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if s.Options.TextSpecials {
			c.IDs = s.Tokenizer.AppendEncodeSpecial(nil, text)
		} else {
			c.IDs = s.Tokenizer.AppendEncode(nil, text)
		}
		return nil
	}
	var refused *Refusal
	c.IDs, refused = ReadIDs("prompt", raw)
	if refused != nil && len(list) > 1 && refused.Param != nil && *refused.Param == "body.prompt" {
		return BadRequest("prompt", "The simulator answers one prompt in a request.")
	}
	return refused
}

// ReadIDs reads the member with this name as a list of ids.
func ReadIDs(name string, raw json.RawMessage) ([]uint32, *Refusal) {
	var numbers []json.Number
	at := "body." + name
	if err := json.Unmarshal(raw, &numbers); err != nil || strings.Contains(string(raw), `"`) {
		return nil, Invalid(at, Pydantic("list_type", at, "Input should be a valid list"))
	}
	if len(numbers) == 0 {
		return nil, BadRequest("", "The decoder prompt cannot be empty")
	}
	var ids []uint32
	for i, n := range numbers {
		at := at + "." + strconv.Itoa(i)
		id, err := strconv.ParseInt(string(n), 10, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return nil, Invalid(at, Pydantic("int_type", at, "Input should be a valid integer"))
		case id < 0:
			return nil, Invalid(at, Pydantic("greater_than_equal", at, "Input should be greater than or equal to 0"))
		case id > 1<<32-1:
			return nil, BadRequest("", "Token id "+string(n)+" is out of vocabulary")
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}

// CheckLength makes vLLM's checks of the length of prompt and answer. An answer for which there is less room is shortened.
// Of a prompt that fills the context the engine says that max_tokens is 0.
func (s *Server) CheckLength(c *Completion) *Refusal {
	maximum, want, have := s.Options.MaxModelLen, c.TokenLimit(), len(c.IDs)
	if want > maximum {
		return BadRequest("max_tokens", fmt.Sprintf("max_tokens=%d cannot be greater than max_model_len=%d. "+
			"Please request fewer output tokens. (parameter=max_tokens, value=%d)", want, maximum, want))
	}
	if r := checkPrompt(have, maximum); r != nil {
		return r
	}
	if room := maximum - have; want > room {
		c.MaxTokens = &room
	}
	return nil
}

// checkPrompt refuses a prompt that is longer than the context.
func checkPrompt(have, maximum int) *Refusal {
	least := ""
	if have <= maximum {
		return nil
	}
	if have == maximum+1 {
		least = "at least " // texts are encoded so far
	}
	return BadRequest("input_tokens", fmt.Sprintf("This model's maximum context length is %d tokens. However, your prompt "+
		"contains %s%d input tokens, which exceeds this limit even without any output tokens. Please reduce the length of "+
		"the input prompt. (parameter=input_tokens, value=%d)", maximum, least, have, have))
}

// CheckSampling makes vLLM's checks of the sampling parameters, which need no engine.
func CheckSampling(c *Completion) *Refusal {
	value := func(name string, v any, rule string) *Refusal {
		return BadRequest(name, fmt.Sprintf("%s must be %s, got %v. (parameter=%s, value=%v)", name, rule, v, name, v))
	}
	out := func(f *float64, low, high float64) bool { return f != nil && (*f < low || *f > high) }
	switch {
	case c.TokenLimit() < 1:
		return value("max_tokens", c.TokenLimit(), "at least 1")
	case c.Choices() < 1:
		return value("n", c.Choices(), "at least 1")
	case c.Temperature != nil && *c.Temperature < 0:
		return value("temperature", *c.Temperature, "non-negative")
	case c.Temperature != nil && *c.Temperature > 2:
		return value("temperature", *c.Temperature, "in [0, 2]")
	case c.TopP != nil && (*c.TopP <= 0 || *c.TopP > 1):
		return value("top_p", *c.TopP, "in (0, 1]")
	case out(c.PresencePenalty, -2, 2):
		return value("presence_penalty", *c.PresencePenalty, "in [-2, 2]")
	case out(c.FrequencyPenalty, -2, 2):
		return value("frequency_penalty", *c.FrequencyPenalty, "in [-2, 2]")
	case c.TopK != nil && *c.TopK < -1:
		return value("top_k", *c.TopK, "0 (disable), or at least 1")
	case out(c.MinP, 0, 1):
		return value("min_p", *c.MinP, "in [0, 1]")
	case c.RepeatPenalty != nil && *c.RepeatPenalty <= 0:
		return value("repetition_penalty", *c.RepeatPenalty, "greater than zero")
	case c.MinTokens < 0 || c.MinTokens > c.TokenLimit():
		return value("min_tokens", c.MinTokens, fmt.Sprintf("between 0 and max_tokens=%d", c.TokenLimit()))
	case c.Priority != 0:
		return BadRequest("", fmt.Sprintf("Got priority %d but Priority scheduling is not enabled.", c.Priority))
	case IsTrue(c.Echo):
		return BadRequest("echo", "The simulator does not echo prompts.")
	}
	return nil
}

// CheckBiases refuses ids that are not in the vocabulary. vLLM clamps biases beyond 100, so they are not errors.
func CheckBiases(biases map[string]float64) *Refusal {
	for _, key := range slices.Sorted(maps.Keys(biases)) {
		id, err := strconv.Atoi(key)
		if err != nil {
			return BadRequest("logit_bias", "Found token_id `"+key+"` in logit_bias but token_id must be an integer or "+
				"string representing an integer")
		}
		if id < 0 || id >= tokenizer.LastSpecial {
			return BadRequest("logit_bias", fmt.Sprintf("token_id(s) [%d] in logit_bias contain out-of-vocab token ids. "+
				"Vocabulary size: %d", id, tokenizer.LastSpecial))
		}
	}
	return nil
}

// CheckVocabulary refuses prompts with ids that the model does not have.
func CheckVocabulary(ids []uint32) *Refusal {
	for _, id := range ids {
		if id >= tokenizer.LastSpecial { // the model has 201,088 ids
			return BadRequest("", fmt.Sprintf("Token id %d is out of vocabulary", id))
		}
	}
	return nil
}
