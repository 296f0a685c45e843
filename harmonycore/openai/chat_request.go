package openai

import "github.com/harmonyedge/harmonyedge/harmonycore/jsontext"

// ChatRequest is what is used of a body of POST /v1/chat/completions.
type ChatRequest struct {
	Model    string
	Messages []ChatMessage
	Tools    []Tool
	// Choice says which of the tools must be called, if any. Those that may not be called are not among Tools.
	Choice ToolChoice
	// Format is the form of the answer.
	Format       TextFormat
	Sampling     Sampling
	Stream       bool
	IncludeUsage bool
	// Choices is how many answers are wanted.
	Choices int
	// Effort is low, medium or high, or empty when the client names none.
	Effort string
}

// MaxChoices is the most answers that a request may ask for.
const MaxChoices = 128

// DecodeChatRequest reads a body, once. The texts of the conversation lie in the body's memory, which is overwritten,
// and are valid as long as it is left alone; everything else is copied.
func DecodeChatRequest(b *Body) (*ChatRequest, *Error) {
	r := &ChatRequest{Model: b.Model, Choices: 1}
	var messages value
	limit := 0
	err := b.root.members("", func(key []byte, v value) *Error {
		switch name := string(key); name {
		case "messages":
			messages = v
			return nil
		case "max_tokens":
			return v.maxTokens(name, &limit)
		case "max_completion_tokens":
			return v.maxTokens(name, &r.Sampling.MaxTokens)
		default:
			return r.readOption(name, v)
		}
	})
	if err != nil {
		return nil, err
	}
	if r.Sampling.MaxTokens == 0 {
		r.Sampling.MaxTokens = limit
	}
	if r.Tools, err = r.Choice.of(r.Tools); err != nil {
		return nil, err
	}
	if !messages.given() {
		return nil, missing("messages")
	}
	if r.Messages, err = readChatMessages(messages); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *ChatRequest) readOption(name string, v value) *Error {
	switch name {
	case "stream":
		return v.boolean(name, &r.Stream)
	case "stream_options":
		return v.readStreamOptions(name, &r.IncludeUsage)
	case "reasoning_effort":
		return v.effort(name, &r.Effort)
	case "tools":
		r.Tools = nil
		if !v.given() {
			return nil
		}
		if err := v.toolsFit(name); err != nil {
			return err
		}
		return v.elements(name, func(_ int, at string, v value) *Error {
			return r.readTool(at, v)
		})
	case "tool_choice":
		return r.Choice.read(name, v, true)
	case "functions":
		if v.given() {
			return unsupported(name, "Unsupported parameter: 'functions' is deprecated; use 'tools' instead.")
		}
		return nil
	case "n":
		n := int64(1)
		if err := v.within(name, 1, MaxChoices, &n); err != nil {
			return err
		}
		r.Choices = int(n)
		return nil
	case "logprobs":
		asked := false
		if err := v.boolean(name, &asked); err != nil || !asked {
			return err
		}
		return unsupported(name, "Unsupported parameter: 'logprobs' cannot be true.")
	case "top_logprobs":
		n := int64(0)
		if err := v.integer(name, 0, &n); err != nil || n == 0 {
			return err
		}
		return unsupported(name, "Unsupported parameter: 'top_logprobs' can only be 0.")
	case "logit_bias":
		return v.readLogitBias(name)
	case "stop":
		return v.readStop(name)
	case "response_format":
		return r.Format.read(name, v, true)
	case "modalities":
		return v.readModalities(name)
	default:
		return r.Sampling.read(name, v)
	}
}

// readLogitBias accepts what asks for nothing.
func (v value) readLogitBias(param string) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func([]byte, value) *Error {
		return unsupported(param, "Unsupported parameter: 'logit_bias' can only be empty.")
	})
}

func (v value) readStreamOptions(param string, includeUsage *bool) *Error {
	if !v.given() {
		return nil
	}
	return v.members(param, func(key []byte, v value) *Error {
		if string(key) == "include_usage" {
			return v.boolean(join(param, "include_usage"), includeUsage)
		}
		return nil
	})
}

func (r *ChatRequest) readTool(at string, v value) *Error {
	var kind string
	var function value
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "type":
			return v.text(join(at, "type"), &kind)
		case "function":
			function = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	if kind == "" {
		return missing(join(at, "type"))
	}
	if kind != "function" {
		return notOneOf(join(at, "type"), kind, "'function'")
	}
	at = join(at, "function")
	if !function.given() {
		return missing(at)
	}
	tool := Tool{}
	var name value
	err = function.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "name":
			name = v
			return nil
		case "description":
			return v.text(join(at, "description"), &tool.Description)
		case "parameters":
			return v.schema(join(at, "parameters"), &tool.Parameters)
		case "strict":
			return v.boolean(join(at, "strict"), &tool.Strict)
		default:
			return nil
		}
	})
	if err != nil {
		return err
	}
	if err := name.functionName(join(at, "name"), &tool.Name); err != nil {
		return err
	}
	r.Tools = append(r.Tools, tool)
	return nil
}

func (v value) readStop(param string) *Error {
	switch v.kind {
	case jsontext.String:
		if len(v.raw) == 0 {
			return nil
		}
	case jsontext.Array:
		n := 0
		if err := v.elements(param, func(int, string, value) *Error { n++; return nil }); err != nil || n == 0 {
			return err
		}
	default:
		if !v.given() {
			return nil
		}
		return wrongType(param, "one of a string or an array of strings", v)
	}
	return unsupported(param, "Unsupported parameter: '"+param+"' sequences are not supported.")
}

func (v value) readModalities(param string) *Error {
	if !v.given() {
		return nil
	}
	return v.elements(param, func(_ int, at string, v value) *Error {
		kind := ""
		if err := v.text(at, &kind); err != nil || kind == "text" {
			return err
		}
		return unsupported(param, "Unsupported value: '"+param+"' can only be 'text'.")
	})
}
