package sim

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
)

// completion is a request, as far as the server supports it. Other fields are ignored, as in vLLM.
type completion struct {
	Model            *string            `json:"model"`
	Prompt           json.RawMessage    `json:"prompt"`
	PromptEmbeds     json.RawMessage    `json:"prompt_embeds"`
	MaxTokens        *int               `json:"max_tokens"`
	MinTokens        int                `json:"min_tokens"`
	N                *int               `json:"n"`
	Stream           *bool              `json:"stream"`
	StreamOptions    *streamOptions     `json:"stream_options"`
	Stop             stopStrings        `json:"stop"`
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
	Structured       *structuredOutputs `json:"structured_outputs"`
	ThinkingBudget   *int               `json:"thinking_token_budget"`
	Seed             *int64             `json:"seed"`
	TopK             *int               `json:"top_k"`
	MinP             *float64           `json:"min_p"`
	RepeatPenalty    *float64           `json:"repetition_penalty"`
	// LogitBias is checked. It has no effect, since the built-in model has no probabilities.
	LogitBias map[string]float64 `json:"logit_bias"`

	// KVTransferParams say who else works on a request to vLLM, and bootstrap who does on one to SGLang.
	KVTransferParams *transferParams `json:"kv_transfer_params"`
	bootstrap        bootstrap

	ids []uint32 // the prompt
	// holds is what the answer is held to. declared are functions that the request declares beside the prompt.
	holds    constraint
	declared []tool
	// splitsReasoning reports whether [Ollama] takes the reasoning out of its text.
	splitsReasoning bool
	// holdsLeast reports whether only text is held back with which a stop string begins.
	holdsLeast bool

	// callsGoOn reports whether an answer may go on after a call, so that it has several.
	callsGoOn bool

	// own is what only the kind knows of the request.
	own any
}

type streamOptions struct {
	IncludeUsage    *bool `json:"include_usage"`
	ContinuousUsage *bool `json:"continuous_usage_stats"`
}

// stopStrings is a string or a list of them.
type stopStrings []string

func (s *stopStrings) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*s = make(stopStrings, 1)
		return json.Unmarshal(b, &(*s)[0])
	}
	return json.Unmarshal(b, (*[]string)(s))
}

func isTrue(b *bool) bool { return b != nil && *b }

func (c *completion) streams() bool { return isTrue(c.Stream) }
func (c *completion) tokenLimit() int {
	if c.MaxTokens == nil {
		return 16 // vLLM's default on this path, for null too
	}
	return *c.MaxTokens
}
func (c *completion) choices() int {
	if c.N == nil {
		return 1
	}
	return *c.N
}

// wantsUsage reports whether the stream ends with the usage.
func (c *completion) wantsUsage() bool {
	return c.StreamOptions != nil && isTrue(c.StreamOptions.IncludeUsage)
}

// decode reads and checks a request in vLLM's order: the body's form, the model, the length, the sampling parameters,
// the ids.
func (s *Server) decode(h http.Header, body []byte) (*completion, *refusal) {
	if r := checkContentType(h); r != nil {
		return nil, r
	}
	c := &completion{}
	if r := decodeBody(body, c); r != nil {
		return nil, r
	}
	if c.Model != nil && *c.Model != "" && !s.serves(*c.Model) {
		return nil, notFound("model", "The model `"+*c.Model+"` does not exist.")
	}
	if c.UseBeamSearch && c.streams() {
		return nil, badRequest("", "Streaming is not currently supported with beam search")
	}
	if r := s.readPromptField(c); r != nil {
		return nil, r
	}
	if r := s.checkLength(c); r != nil {
		return nil, r
	}
	return c, s.checkEngine(c)
}

// checkContentType refuses what is not JSON by its header.
func checkContentType(h http.Header) *refusal {
	if media, _, _ := mime.ParseMediaType(h.Get("Content-Type")); media != "application/json" {
		return invalid("", "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed")
	}
	return nil
}

// checkEngine makes vLLM's checks of the sampling parameters and the ids. It also reads the structural tag.
func (s *Server) checkEngine(c *completion) (refused *refusal) {
	if r := checkSampling(c); r != nil {
		return r
	}
	if r := s.checkThinkingBudget(c); r != nil {
		return r
	}
	if c.holds.tag, refused = c.Structured.readTag(); refused != nil {
		return refused
	}
	return checkVocabulary(c.ids)
}

// decodeObject decodes a body, and returns its members too. Its errors are those of vLLM's request models.
func decodeObject(body []byte, into any) (fields map[string]json.RawMessage, refused *refusal) {
	err := json.Unmarshal(body, &fields)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at := strconv.FormatInt(syntax.Offset, 10)
		return nil, invalid("body."+at, pydantic("json_invalid", "body."+at, "JSON decode error"))
	case errors.As(err, &wrong) && fields == nil:
		return nil, invalid("body", pydantic("model_attributes_type", "body",
			"Input should be a valid dictionary or object to extract fields from"))
	case errors.As(err, &wrong):
		return nil, invalid("body."+wrong.Field, pydantic(
			"type_error", "body."+wrong.Field, "Input should be a valid "+wrong.Type.String()))
	case err != nil:
		return nil, invalid("body", pydantic("value_error", "body", "JSON decode error"))
	}
	return fields, nil
}

func decodeBody(body []byte, c *completion) *refusal {
	fields, refused := decodeObject(body, c)
	if refused != nil {
		return refused
	}
	empty := func(name string) bool {
		v := fields[name]
		return v == nil || string(v) == "null"
	}
	options := fields["stream_options"]
	if !empty("stream_options") && string(bytes.TrimSpace(options)) != "{}" && !c.streams() {
		return invalidValue("stream_options", "Stream options can only be defined when `stream=True`.", len(fields))
	}
	if (empty("prompt") || string(c.Prompt) == `""`) && empty("prompt_embeds") {
		return invalidValue("prompt", "Either prompt or prompt_embeds must be provided and non-empty.", len(fields))
	}
	if c.PromptLogprobs != nil && c.streams() && *c.PromptLogprobs != 0 {
		return invalidValue("prompt_logprobs", "`prompt_logprobs` are not available when `stream=True`.", len(fields))
	}
	if c.CacheSalt != nil && (*c.CacheSalt == "" || len(*c.CacheSalt) > 1024) {
		return invalidValue("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided.", len(fields))
	}
	return nil
}

// readPromptField accepts ids, a list with one list of ids, a text, or a list with one text.
func (s *Server) readPromptField(c *completion) *refusal {
	raw := c.Prompt
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		if first := bytes.TrimSpace(list[0]); len(first) > 0 && (first[0] == '[' || first[0] == '"') {
			raw = list[0]
		}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if s.opt.TextSpecials {
			c.ids = s.tok.AppendEncodeSpecial(nil, text)
		} else {
			c.ids = s.tok.AppendEncode(nil, text)
		}
		return nil
	}
	var refused *refusal
	c.ids, refused = readIDs("prompt", raw)
	if refused != nil && len(list) > 1 && refused.Param != nil && *refused.Param == "body.prompt" {
		return badRequest("prompt", "The simulator answers one prompt in a request.")
	}
	return refused
}

// readIDs reads the member with this name as a list of ids.
func readIDs(name string, raw json.RawMessage) ([]uint32, *refusal) {
	var numbers []json.Number
	at := "body." + name
	if err := json.Unmarshal(raw, &numbers); err != nil || strings.Contains(string(raw), `"`) {
		return nil, invalid(at, pydantic("list_type", at, "Input should be a valid list"))
	}
	if len(numbers) == 0 {
		return nil, badRequest("", "The decoder prompt cannot be empty")
	}
	var ids []uint32
	for i, n := range numbers {
		at := at + "." + strconv.Itoa(i)
		id, err := strconv.ParseInt(string(n), 10, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return nil, invalid(at, pydantic("int_type", at, "Input should be a valid integer"))
		case id < 0:
			return nil, invalid(at, pydantic("greater_than_equal", at, "Input should be greater than or equal to 0"))
		case id > 1<<32-1:
			return nil, badRequest("", "Token id "+string(n)+" is out of vocabulary")
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}

func (s *Server) checkLength(c *completion) *refusal {
	maximum, want, have := s.opt.MaxModelLen, c.tokenLimit(), len(c.ids)
	if want > maximum {
		return badRequest("max_tokens", fmt.Sprintf("max_tokens=%d cannot be greater than max_model_len=%d. "+
			"Please request fewer output tokens. (parameter=max_tokens, value=%d)", want, maximum, want))
	}
	if have+max(want, 0) > maximum {
		return badRequest("input_tokens", fmt.Sprintf("This model's maximum context length is %d tokens. However, you "+
			"requested "+
			"%d output tokens and your prompt contains at least %d input tokens, for a total of at least %d tokens. "+
			"Please reduce the length of the input prompt or the number of requested output tokens. "+
			"(parameter=input_tokens, value=%d)", maximum, want, have, have+want, have))
	}
	return nil
}

func checkSampling(c *completion) *refusal {
	value := func(name string, v any, rule string) *refusal {
		return badRequest(name, fmt.Sprintf("%s must be %s, got %v. (parameter=%s, value=%v)", name, rule, v, name, v))
	}
	out := func(f *float64, low, high float64) bool { return f != nil && (*f < low || *f > high) }
	switch {
	case c.tokenLimit() < 1:
		return value("max_tokens", c.tokenLimit(), "at least 1")
	case c.choices() < 1:
		return value("n", c.choices(), "at least 1")
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
	case c.MinTokens < 0 || c.MinTokens > c.tokenLimit():
		return value("min_tokens", c.MinTokens, fmt.Sprintf("between 0 and max_tokens=%d", c.tokenLimit()))
	case c.Priority != 0:
		return badRequest("", fmt.Sprintf("Got priority %d but Priority scheduling is not enabled.", c.Priority))
	case isTrue(c.Echo):
		return badRequest("echo", "The simulator does not echo prompts.")
	}
	if r := checkLogprobs(c); r != nil {
		return r
	}
	return checkBiases(c.LogitBias)
}

// checkBiases refuses ids that are not in the vocabulary. vLLM clamps biases beyond 100, so they are not errors.
func checkBiases(biases map[string]float64) *refusal {
	for _, key := range slices.Sorted(maps.Keys(biases)) {
		id, err := strconv.Atoi(key)
		if err != nil {
			return badRequest("logit_bias", "Found token_id `"+key+"` in logit_bias but token_id must be an integer or "+
				"string representing an integer")
		}
		if id < 0 || id >= tokenizer.LastSpecial {
			return badRequest("logit_bias", fmt.Sprintf("token_id(s) [%d] in logit_bias contain out-of-vocab token ids. "+
				"Vocabulary size: %d", id, tokenizer.LastSpecial))
		}
	}
	return nil
}

// checkVocabulary refuses prompts with ids that the model does not have.
func checkVocabulary(ids []uint32) *refusal {
	for _, id := range ids {
		if id >= tokenizer.LastSpecial { // the model has 201,088 ids
			return badRequest("", fmt.Sprintf("Token id %d is out of vocabulary", id))
		}
	}
	return nil
}
