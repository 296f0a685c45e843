package anthropic

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Request holds the used members of a body of POST /v1/messages.
type Request struct {
	Model  string
	Stream bool
	// MaxTokens is the maximum number of tokens of the answer, reasoning included. 0 means that the client has not said.
	MaxTokens int
	// System are the texts of the system prompt.
	System []string
	Choice Choice
	// Thinking is what the client is shown of the reasoning. ThinkingDisabled reports whether it wants none. Budget is
	// the maximum number of tokens of the reasoning, or nil if there is none.
	Thinking         Thinking
	ThinkingDisabled bool
	Budget           *int
	// Effort is one of [Efforts], or empty if the client has not said. EffortAt is its place in the request. EffortChanged
	// reports whether a message has changed it.
	Effort, EffortAt string
	EffortChanged    bool
	// Schema is the JSON schema of the answer, or absent. SchemaAt is the place of it.
	Schema   rawjson.Part
	SchemaAt string
	// Stop are the stop sequences.
	Stop []string
	// Sampling are the client's sampling parameters as they are spelled.
	Sampling []Parameter
	// Ignored counts what was passed over beside the messages.
	Ignored Ignored

	messages, tools, mcpServers rawjson.Part
}

// Parameter is a parameter that OpenAI's API or inference servers have under the same name.
type Parameter struct {
	Name  string
	Value rawjson.Part
}

// Ignored counts what of a request the model does not get.
type Ignored struct {
	// Billing are the lines that say who pays, in the system prompt. Unknown are blocks, and Members members of the body,
	// that the gateway does not know.
	Billing, Unknown, Members int
}

// DecodeRequest reads a body. [Request.EachBlock] reads its messages, and [Request.Tools] its tools.
func DecodeRequest(b *openai.Body) (*Request, *openai.Error) {
	r := &Request{Model: b.Model, Stream: b.Streams}
	root := b.Root()
	var system, format rawjson.Part
	members := root.Items()
	for members.Next() {
		v := members.Part()
		var err *openai.Error
		switch name := rawjson.View(members.Key); name {
		case "messages":
			r.messages = v
		case "tools":
			r.tools = v
		case "system":
			system = v
		case "output_format":
			format = v
		default:
			err = r.readOption(name, &v)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.messages.Kind == 0 {
		return nil, missing(top("messages"))
	}
	if !r.Schema.Given() { // the older name
		if err := r.readFormat(top("output_format"), &format); err != nil {
			return nil, err
		}
	}
	if err := r.readSystem(&system); err != nil {
		return nil, err
	}
	return r, nil
}

// RequireMaxTokens returns an error if the client has not said how long the answer may be. The API requires it of every
// request for an answer.
func (r *Request) RequireMaxTokens() *openai.Error {
	if r.MaxTokens > 0 {
		return nil
	}
	return missing(top("max_tokens"))
}

func (r *Request) readOption(name string, v *rawjson.Part) *openai.Error {
	switch name {
	case "model":
		return nil
	case "stream":
		return boolean(v, top("stream"), &r.Stream)
	case "max_tokens":
		return integer(v, top("max_tokens"), 1, &r.MaxTokens)
	case "tool_choice":
		return r.Choice.read(v)
	case "thinking":
		return r.readThinking(v)
	case "output_config":
		return r.readConfig(top("output_config"), v)
	case "stop_sequences":
		return r.readStop(v)
	case "temperature", "top_p", "top_k":
		if v.Given() {
			r.Sampling = append(r.Sampling, Parameter{strings.Clone(name), *v})
		}
	case "mcp_servers":
		r.mcpServers = *v
	case "metadata", "cache_control", "context_management", "service_tier", "inference_geo", "safeguards",
		"speed", "diagnostics", "tags", "betas", "user_profile_id":
	default:
		r.Ignored.Members++
	}
	return nil
}

// billing begins a line of the system prompt that says who pays. It changes from session to session, so with it no two
// sessions would have a prompt that begins alike.
const billing = "x-anthropic-billing-header:"

// withoutBilling returns a text of the system prompt without the line, and reports whether there was one.
func withoutBilling(text string) (rest string, had bool) {
	if len(text) < len(billing) || text[:len(billing)] != billing {
		return text, false
	}
	i := len(billing)
	for i < len(text) && text[i] != '\n' {
		i++
	}
	for i < len(text) && (text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return text[i:], true
}

// readSystem reads the system prompt: a text, or blocks of text.
func (r *Request) readSystem(v *rawjson.Part) *openai.Error {
	at := top("system")
	switch {
	case !v.Given():
		return nil
	case v.Kind == rawjson.String:
		r.addSystem(rawjson.Borrow(v.Value))
		return nil
	case v.Kind != rawjson.Array:
		return wrongType(at, "a valid string or array")
	}
	list := v.Items()
	for i := 0; list.Next(); i++ {
		block := list.Part()
		var f fields
		if err := f.read(&block, at); err != nil {
			return err
		}
		if rawjson.View(f.kind) != typeText {
			r.Ignored.Unknown++
			continue
		}
		text := ""
		if err := borrow(&f.text, at.in("text"), &text); err != nil {
			return err
		}
		if i >= openai.MaxEntries {
			return tooMany(at)
		}
		r.addSystem(text)
	}
	return nil
}

func (r *Request) addSystem(text string) {
	text, had := withoutBilling(text)
	if had {
		r.Ignored.Billing++
	}
	if text != "" {
		r.System = append(r.System, text)
	}
}
