package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ResponsesRequest holds the used members of a body of POST /v1/responses.
type ResponsesRequest struct {
	Model        string
	Instructions string
	Input        []InputItem
	// Ignored counts the items of the input whose meaning the model does not get. Entries is what [MaxEntries] limits.
	Ignored Ignored
	Entries int
	// Dropped describes the parts of Input that were replaced by notes.
	Dropped Dropped
	// Tools are the tools that the model may call, those in namespaces included, and those that the input begins with.
	Tools []Tool
	// Declared are tools that stand in the input, in its order. OwnTools reports whether Tools are exactly what the
	// request's own tools say.
	Declared []Declaration
	OwnTools bool
	// Withdrawn are the tools among them that were withdrawn in the end, by what they are known by.
	Withdrawn map[string]bool
	// Leading is how many elements the input begins with that are instructions or declare tools, up to the last that
	// declares some.
	Leading int
	// Lasting are the elements that count for all that comes after them, in their order. The first Front of them declare
	// tools in front, if they declare any. Turned is how many elements there are up to the last
	// one that changes what stands before it.
	Lasting []Lasting
	Front   int
	Turned  int
	// Updates are the elements that change the effort or the form of the answer, or say what these are.
	Updates []int
	// Counted are the elements in which something was counted. What else is counted stands beside the input.
	Counted []Counted
	// BuiltIns are the names of the declared built-in tools, also of those that Choice removes from Tools.
	BuiltIns []string
	// Choice determines which of the tools must be called, if any. Tools that may not be called are not in Tools.
	Choice ToolChoice
	// Format is the form of the answer.
	Format   TextFormat
	Sampling Sampling
	Stream   bool
	// OneCall is parallel_tool_calls false: the answer has at most one call.
	OneCall bool
	// Effort is the client's reasoning.effort, or empty if there is none. EffortAt is its place in the request.
	Effort, EffortAt string
	// Logprobs asks for the logprob of each token of messages, and of the TopLogprobs likeliest tokens in its
	// place.
	Logprobs    bool
	TopLogprobs int
	// Truncate is truncation "auto": the oldest turns of a conversation that is too long are left out.
	Truncate bool
	// SealedReasoning asks for encrypted reasoning, which the client can send back but not read.
	SealedReasoning bool
	// SampledIDs asks for the ids with which the model has written its answer ([IncludeSampledIDs]).
	SampledIDs bool
	// MessagesAt is the place in the request that asks for [HarmonyMessages], or empty. It is the place of
	// [IncludeMessages], or of vLLM's enable_response_messages.
	MessagesAt string
	// Echo holds the members that the answer repeats.
	Echo ResponsesEcho
	// ServerForm is the inference servers' own parameter for the form of the answer, if the client has sent one. Its value
	// lies in the body.
	ServerForm RawMember
	// keepsMedia reports whether Input keeps media. values is the number of values of the body, or 0 if it is not known.
	keepsMedia bool
	values     int
	// searched reports whether deferred tools can be found by something else than a tool_search.
	searched bool
	guided   guided
	memory   ToolMemory
	// toolBytes is the length of all tools, in bytes of JSON. declared is what is known of them while the input is read.
	toolBytes int
	declared  declaredNames
	follows   *Follows
}

// ResponsesEcho holds, as JSON text, the members of a Response object that repeat the request. An empty field was not
// given; the answer has its default.
type ResponsesEcho struct {
	Instructions, MaxOutputTokens, MaxToolCalls, Metadata, PromptCacheKey, Summary, SafetyIdentifier,
	ParallelToolCalls, Tools, ToolChoice, TextFormat, TopLogprobs, Truncation, User, Verbosity string
	PresencePenalty, FrequencyPenalty, Temperature, TopP Number
	// ReasoningContext and ReasoningMode report whether the client named a context and a mode for the reasoning. The
	// answer then names those in effect.
	ReasoningContext, ReasoningMode bool
}

// DecodeResponsesRequest reads a body. It can be called once for each body: it overwrites the body, and the texts of
// the conversation lie in the body's memory. They are valid until the caller changes it. Everything else is copied.
func DecodeResponsesRequest(b *Body) (*ResponsesRequest, *Error) {
	r := &ResponsesRequest{Model: b.Model, values: b.Values, follows: b.follows}
	return r.decode(b)
}

// DecodeResponsesConversation is [DecodeResponsesRequest] for servers that take conversations. It keeps media.
func DecodeResponsesConversation(b *Body) (*ResponsesRequest, *Error) {
	r := &ResponsesRequest{Model: b.Model, values: b.Values, keepsMedia: true}
	return r.decode(b)
}

func (r *ResponsesRequest) decode(b *Body) (*ResponsesRequest, *Error) {
	var input value
	r.memory = b.memory
	if err := b.requireOneState(); err != nil {
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
	if err = r.Format.setGuided(&r.guided, "text.format"); err != nil {
		return nil, err
	}
	r.ServerForm, r.guided.member = r.guided.member, RawMember{}
	if !input.given() {
		return nil, missing("input")
	}
	if err = r.readInput(input); err != nil {
		return nil, err
	}
	if err = r.settleTools(); err != nil {
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

// RawMember is a member of the body. JSON is its value as it is spelled.
type RawMember struct {
	Name string
	JSON []byte
}

// minOutputTokens is the limit of OpenAI's API.
const minOutputTokens = 16

// The limits of echoed members, in bytes of JSON. An echo is held as long as the answer lasts, and three of its events
// contain it. Six streams with 15 MB of metadata each would end the VM (RATIONALE.md#76).
const (
	maxInstructions = 1 << 20
	maxMetadata     = 64 << 10 // OpenAI allows 16 pairs of 64 and 512 characters
	maxLabel        = 4 << 10
)

func tooLong(param string, limit int) *Error {
	return Invalid(param, "Invalid '"+param+"': longer than the limit of "+strconv.Itoa(limit)+" bytes.")
}

// requireOneState refuses a request that continues both a response and a conversation, because the two may differ.
func (b *Body) requireOneState() *Error {
	previous, conversation := false, false
	err := b.root.members("", func(key []byte, v value) *Error {
		switch rawjson.View(key) {
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

// stateless refuses a member that needs a memory or a second call, unless its value switches it off.
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
		// Status 400 and these words are OpenAI's own. Clients take a 404 on this path for an unknown model.
		return badRequest(contract.CodePreviousResponseNotFound, name, "Previous response with id '"+clip(id)+
			"' not found. Nothing is stored here: send the whole conversation in 'input', or ask the gateway's operator "+
			"for a store (harmony up --store).")
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
		return v.maxTokens(name, minOutputTokens, &r.Sampling.MaxTokens)
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
	case cacheKeyName:
		return r.echoed(name, v, nil, &r.Echo.PromptCacheKey)
	case "safety_identifier":
		return r.echoed(name, v, nil, &r.Echo.SafetyIdentifier)
	case "user":
		return r.echoed(name, v, nil, &r.Echo.User)
	default:
		return r.readRest(name, v)
	}
}

// echoed reads a string into *dst, and its JSON text for the answer into *echo.
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
			r.EffortAt = at
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

// quotedWord is word, with the result as JSON text.
func (v value) quotedWord(param string, dst *string, words ...string) *Error {
	got := ""
	if err := v.word(param, &got, words...); err != nil || got == "" {
		return err
	}
	*dst = `"` + got + `"`
	return nil
}
