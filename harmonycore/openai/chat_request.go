package openai

// ChatRequest holds the used members of a body of POST /v1/chat/completions.
type ChatRequest struct {
	Model    string
	Messages []ChatMessage
	// Entries is what [MaxEntries] limits.
	Entries int
	Tools   []Tool
	// Choice determines which of the tools must be called, if any. Tools that may not be called are not in Tools.
	Choice ToolChoice
	// Format is the form of the answer.
	Format TextFormat
	// OneCall is parallel_tool_calls false: the answer has at most one call.
	OneCall      bool
	Sampling     Sampling
	Stream       bool
	IncludeUsage bool
	// Stop are the stop sequences. The answer ends before the first one that appears.
	Stop []string
	// Choices is the number of answers to generate.
	Choices int
	// Logprobs asks for the logprob of each token, and of the TopLogprobs likeliest tokens in its place.
	Logprobs    bool
	TopLogprobs int
	// Effort is the client's reasoning_effort or reasoning.effort, or empty if there is none. EffortInObject reports
	// whether it is the latter.
	Effort         string
	EffortInObject bool
	// ReasoningOff is reasoning.enabled false.
	ReasoningOff bool
	// Dropped describes the parts of Messages that were replaced by notes.
	Dropped Dropped
	// Counted are the messages in which something was counted.
	Counted []Counted
	// HideReasoning is include_reasoning false: the answer has no reasoning.
	HideReasoning bool
	// TierRequested reports whether the client named a service tier. The answer then names the one in use.
	TierRequested bool

	guided guided
	memory ToolMemory
	// tokenized reports whether the body is a [TokenizeRequest]. Then [DecodeTokenizeRequest] has read
	// add_generation_prompt.
	tokenized bool
}

// The maximum number of choices in a request, and of alternatives for each of their tokens.
const (
	MaxChoices     = 128
	MaxTopLogprobs = 20
)

// DecodeChatRequest reads a body. It can be called once for each body: it overwrites the body, and the texts of the
// conversation lie in the body's memory. They are valid until the caller changes it. Everything else is copied.
func DecodeChatRequest(b *Body) (*ChatRequest, *Error) {
	r := &ChatRequest{Model: b.Model, Choices: 1, tokenized: b.tokenized, memory: b.memory}
	var messages, streamOptions, reasoning value
	limit := 0
	err := b.root.members("", func(key []byte, v value) *Error {
		switch name := string(key); name {
		case "messages":
			messages = v
			return nil
		case "stream_options":
			streamOptions = v
			return v.readStreamOptions(name, &r.IncludeUsage)
		case "max_tokens":
			return v.maxTokens(name, 1, &limit)
		case "max_completion_tokens":
			return v.maxTokens(name, 1, &r.Sampling.MaxTokens)
		case "reasoning":
			reasoning = v
			return nil
		default:
			return r.readOption(name, v)
		}
	})
	if err == nil {
		err = r.readReasoning("reasoning", reasoning)
	}
	if err != nil {
		return nil, err
	}
	if r.Sampling.MaxTokens == 0 {
		r.Sampling.MaxTokens = limit
	}
	if streamOptions.given() && !r.Stream {
		return nil, Invalid("stream_options", "Invalid 'stream_options': only allowed when 'stream' is true.")
	}
	if r.Tools, err = r.Choice.filter(r.Tools, nil, nil); err != nil {
		return nil, err
	}
	if err = r.Format.setGuided(&r.guided, "response_format"); err != nil {
		return nil, err
	}
	if r.TopLogprobs > 0 && !r.Logprobs {
		return nil, Invalid("top_logprobs", "Invalid 'top_logprobs': 'logprobs' must be true when 'top_logprobs' is set.")
	}
	if !messages.given() {
		return nil, missing("messages")
	}
	if err = r.readMessages(messages); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *ChatRequest) readOption(name string, v value) *Error {
	switch name {
	case "stream":
		return v.boolean(name, &r.Stream)
	case "reasoning_effort":
		return v.effort(name, &r.Effort)
	case "tools":
		r.Tools = nil
		if known := recall(r.memory, v); known != nil {
			r.Tools = known.Tools
			return nil
		}
		if !v.given() {
			return nil
		}
		if err := v.toolsFit(name); err != nil {
			return err
		}
		var names toolNames
		return v.elements(name, func(_ int, at string, v value) *Error {
			return r.readTool(at, v, &names)
		})
	case "tool_choice":
		return r.Choice.read(name, v, true)
	case "parallel_tool_calls":
		parallel := true
		err := v.boolean(name, &parallel)
		r.OneCall = !parallel
		return err
	case "n":
		n := int64(1)
		if err := v.within(name, 1, MaxChoices, &n); err != nil {
			return err
		}
		r.Choices = int(n)
		return nil
	case "logprobs":
		return v.boolean(name, &r.Logprobs)
	case "top_logprobs":
		n := int64(0)
		if err := v.within(name, 0, MaxTopLogprobs, &n); err != nil {
			return err
		}
		r.TopLogprobs = int(n)
		return nil
	case "stop":
		return v.readStop(name, &r.Stop)
	case "response_format":
		return r.Format.read(name, v, true)
	default:
		return r.readRest(name, v)
	}
}
