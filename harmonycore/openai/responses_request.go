package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// ResponsesRequest is what is used of a body of POST /v1/responses.
type ResponsesRequest struct {
	Model        string
	Instructions string
	Input        []InputItem
	// UnknownItems is how many items were passed over, because nobody here knows their kind.
	UnknownItems int
	// Dropped are the parts that stand in Input as notes.
	Dropped Dropped
	// Tools are the functions offered, those out of namespaces included.
	Tools []Tool
	// Choice says which of the tools must be called, if any. Those that may not be called are not among Tools.
	Choice ToolChoice
	// Format is the form of the answer.
	Format   TextFormat
	Sampling Sampling
	Stream   bool
	// OneCall is parallel_tool_calls false: an answer has no second call.
	OneCall bool
	// Effort is the client's word, or empty when it names none.
	Effort string
	// Logprobs asks how likely the tokens of messages were, and which TopLogprobs others were most likely in their place.
	Logprobs    bool
	TopLogprobs int
	// Truncate lets the oldest turns be left out of a conversation that does not fit.
	Truncate bool
	// SealedReasoning asks for reasoning that the client can send back and not read.
	SealedReasoning bool
	// MessagesAt is the place of the wish for HarmonyMessages, empty without it.
	MessagesAt string
	// Echo is what the answer repeats of the request.
	Echo ResponsesEcho
	// localShell says that it is among the Tools.
	localShell bool
	guided     guided
	// names are those of the Tools, while they are read.
	names toolNames
}

// ResponsesEcho holds the members of a Response object that repeat the request, as JSON text. Empty ones were not
// given, and are answered by their default.
type ResponsesEcho struct {
	Instructions, MaxOutputTokens, MaxToolCalls, Metadata, PromptCacheKey, Summary, SafetyIdentifier,
	ParallelToolCalls, Tools, ToolChoice, TextFormat, TopLogprobs, Truncation, User, Verbosity string
	PresencePenalty, FrequencyPenalty, Temperature, TopP Number
	// ReasoningContext and ReasoningMode say that the client has named a context and a mode for the reasoning: it is told
	// those that are in effect.
	ReasoningContext, ReasoningMode bool
}

// DecodeResponsesRequest reads a body, once. The texts of the conversation lie in the body's memory, which is
// overwritten, and are valid as long as it is left alone; everything else is copied.
func DecodeResponsesRequest(b *Body) (*ResponsesRequest, *Error) {
	r := &ResponsesRequest{Model: b.Model}
	var input value
	if err := b.statesOnce(); err != nil {
		return nil, err
	}
	err := b.root.members("", func(key []byte, v value) *Error {
		switch name := string(key); name {
		case "input":
			input = v
			return nil
		case "background", "conversation", "previous_response_id", "prompt":
			return v.stateless(name)
		case "reasoning":
			return r.readReasoning(name, v)
		case "text":
			return r.readText(name, v)
		case "metadata":
			return r.readMetadata(name, v)
		case "include":
			return r.readInclude(name, v)
		default:
			return r.readOption(name, v)
		}
	})
	if err != nil {
		return nil, err
	}
	if r.Tools, err = r.Choice.of(r.Tools); err != nil {
		return nil, err
	}
	if err = r.Format.hold(&r.guided, "text.format"); err != nil {
		return nil, err
	}
	if !input.given() {
		return nil, missing("input")
	}
	if err = r.readInput(input); err != nil {
		return nil, err
	}
	e := &r.Echo
	e.Temperature, e.TopP = r.Sampling.Temperature, r.Sampling.TopP
	e.PresencePenalty, e.FrequencyPenalty = r.Sampling.PresencePenalty, r.Sampling.FrequencyPenalty
	e.TopLogprobs = strconv.Itoa(r.TopLogprobs)
	if r.Sampling.MaxTokens > 0 {
		e.MaxOutputTokens = strconv.Itoa(r.Sampling.MaxTokens)
	}
	return r, nil
}

// leastOutputTokens is the API's own limit.
const leastOutputTokens = 16

// What is echoed is held as long as the answer lasts, and stands in three of its events. These are the most that it may
// take, in bytes of JSON: six streams with 15 MB of metadata each would end the VM (RATIONALE.md#76).
const (
	maxInstructions = 1 << 20
	maxMetadata     = 64 << 10 // the API itself allows 16 pairs of 64 and 512 characters
	maxLabel        = 4 << 10
)

func tooLong(param string, limit int) *Error {
	return Invalid(param, "Invalid '"+param+"': longer than the limit of "+strconv.Itoa(limit)+" bytes.")
}

// statesOnce refuses a request that goes on from a response and from a conversation, which may differ.
func (b *Body) statesOnce() *Error {
	previous, conversation := false, false
	err := b.root.members("", func(key []byte, v value) *Error {
		switch string(key) {
		case "previous_response_id":
			previous = v.given()
		case "conversation":
			conversation = v.given()
		}
		return nil
	})
	if err == nil && previous && conversation {
		err = exclusive("conversation", "previous_response_id", "conversation")
	}
	return err
}

// stateless refuses what needs a memory or a second call, unless it is switched off.
func (v value) stateless(name string) *Error {
	if !v.given() {
		return nil
	}
	switch name {
	case "background":
		on := false
		if err := v.boolean(name, &on); err != nil || !on {
			return err
		}
		return Unsupported(name, "Unsupported value: 'background' cannot be true.")
	case "previous_response_id":
		id := ""
		if err := v.text(name, &id); err != nil {
			return err
		}
		// 400 and these words are OpenAI's own: clients take a 404 of this path for a model that is not there.
		return badRequest(contract.CodePreviousResponseNotFound, name, "Previous response with id '"+clip(id)+
			"' not found. Nothing is stored here: send the whole conversation in 'input'.")
	default:
		return Unsupported(name, "Unsupported parameter: '"+name+"' is not supported.")
	}
}

func (r *ResponsesRequest) readOption(name string, v value) *Error {
	switch name {
	case "stream":
		return v.boolean(name, &r.Stream)
	case "instructions":
		return r.echoed(name, v, &r.Instructions, &r.Echo.Instructions)
	case "tools":
		return r.readTools(v)
	case "tool_choice":
		if err := r.Choice.read(name, v, false); err != nil || !v.given() {
			return err
		}
		r.Echo.ToolChoice = v.compact()
		if r.Choice.Name != "" {
			r.Echo.ToolChoice = r.Choice.responsesJSON()
		}
		return nil
	case "max_output_tokens":
		return v.maxTokens(name, leastOutputTokens, &r.Sampling.MaxTokens)
	case "max_tool_calls":
		n := int64(0)
		if err := v.integer(name, 0, &n); err != nil || !v.given() {
			return err
		}
		r.Echo.MaxToolCalls = strconv.FormatInt(n, 10)
		return nil
	case "parallel_tool_calls":
		on := true
		if err := v.boolean(name, &on); err != nil {
			return err
		}
		r.OneCall, r.Echo.ParallelToolCalls = !on, strconv.FormatBool(on)
		return nil
	case "store":
		on := false
		return v.boolean(name, &on)
	case "prompt_cache_key":
		return r.echoed(name, v, nil, &r.Echo.PromptCacheKey)
	case "safety_identifier":
		return r.echoed(name, v, nil, &r.Echo.SafetyIdentifier)
	case "user":
		return r.echoed(name, v, nil, &r.Echo.User)
	default:
		return r.readRest(name, v)
	}
}

// echoed reads a string, both for itself and as it shall be repeated.
func (r *ResponsesRequest) echoed(param string, v value, dst, echo *string) *Error {
	text := ""
	if err := v.text(param, &text); err != nil || !v.given() {
		return err
	}
	if dst != nil {
		*dst = text
	}
	if dst != &r.Instructions && len(v.raw) > maxLabel {
		return tooLong(param, maxLabel)
	}
	if len(v.raw) > maxInstructions {
		return tooLong(param, maxInstructions)
	}
	*echo = v.compact()
	return nil
}

func (r *ResponsesRequest) readReasoning(param string, v value) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		switch at := join(param, string(key)); string(key) {
		case "effort":
			return v.effort(at, &r.Effort)
		case "summary":
			return v.quotedWord(at, &r.Echo.Summary, "auto", "concise", "detailed")
		case "generate_summary":
			return v.oneOf(at, "auto", "concise", "detailed")
		case "context":
			r.Echo.ReasoningContext = v.given()
			return v.oneOf(at, "auto", "current_turn", "all_turns")
		case "mode":
			r.Echo.ReasoningMode = v.given()
			return v.label(at, maxLabel)
		default:
			return nil
		}
	})
}

func (r *ResponsesRequest) readText(param string, v value) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		switch at := join(param, string(key)); string(key) {
		case "format":
			if err := r.Format.read(at, v, false); err != nil || !v.given() {
				return err
			}
			r.Echo.TextFormat = v.compact()
			return nil
		case "verbosity":
			return v.quotedWord(at, &r.Echo.Verbosity, "low", "medium", "high")
		default:
			return nil
		}
	})
}

func (r *ResponsesRequest) readMetadata(param string, v value) *Error {
	if !v.given() {
		return nil
	}
	if len(v.raw) > maxMetadata {
		return tooLong(param, maxMetadata)
	}
	r.Echo.Metadata = v.compact()
	return v.checkMetadata(param)
}

// quotedWord is word as JSON text.
func (v value) quotedWord(param string, dst *string, words ...string) *Error {
	got := ""
	if err := v.word(param, &got, words...); err != nil || got == "" {
		return err
	}
	*dst = `"` + got + `"`
	return nil
}
