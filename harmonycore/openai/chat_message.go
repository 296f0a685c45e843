package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// The roles of messages. Both APIs share them, except [RoleTool], which only Chat has.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// ChatMessage is one message of a Chat history.
type ChatMessage struct {
	Role string
	// Name distinguishes users. It is read for [RoleUser] only.
	Name string
	// Content holds the text parts in their order. A plain string is one part.
	Content []string
	// Reasoning is the assistant's reasoning that the client kept, in whichever field it sends it.
	Reasoning string
	ToolCalls []ToolCall
	// ToolCallID is the id of the call that a message of [RoleTool] answers.
	ToolCallID string
	// TokenIDs are what an assistant's message was made of, if the client sends it. It is not checked. It lies in the
	// body.
	TokenIDs *TokenIDs
}

// ToolCall is a call in the history, of a function or of a custom tool.
type ToolCall struct {
	ID     string
	Name   string
	Custom bool
	// Arguments is the text that the model wrote, JSON or not. For a custom tool it is the input.
	Arguments string
}

// MaxEntries is the maximum number of messages, calls and content parts in a request. At eight tokens each they fill a
// context of 131,072. The limit exists because each of them takes memory and time in addition to its text.
const MaxEntries = 1 << 14

func tooManyTurns(param string) *Error {
	return badRequest(contract.CodeContextLengthExceeded, param, "Invalid '"+param+"': more than "+strconv.Itoa(MaxEntries)+
		" messages, calls and content parts, which no context has room for.")
}

// readMessages reads the messages. It counts what [MaxEntries] limits.
func (r *ChatRequest) readMessages(v value) *Error {
	err := v.elements("messages", func(i int, at string, v value) *Error {
		dropped := r.Dropped.Count
		m, err := readChatMessage(at, v, &r.Dropped)
		if err != nil {
			return err
		}
		if n := r.Dropped.Count - dropped; n > 0 {
			r.Counted = append(r.Counted, Counted{i, Counts{Dropped: n}})
		}
		r.Messages = append(r.Messages, m)
		if r.Entries += max(1, len(m.Content)) + len(m.ToolCalls); r.Entries > MaxEntries {
			return tooManyTurns("messages")
		}
		return nil
	})
	if err == nil && len(r.Messages) == 0 {
		err = Invalid("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	return err
}

// chatFields holds the members of a message before its role is known.
type chatFields struct {
	role, name, content, refusal, audio, toolCalls, functionCall, toolCallID value
	// reasoning holds the members that clients use for reasoning, the preferred one first.
	reasoning [4]value
	tokenIDs  *TokenIDs
}

func readChatMessage(at string, v value, d *Dropped) (ChatMessage, *Error) {
	var f chatFields
	m := ChatMessage{}
	err := v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "role":
			f.role = v
		case "name":
			f.name = v
		case "audio":
			f.audio = v
		case "content":
			f.content = v
		case "refusal":
			f.refusal = v
		case "tool_calls":
			f.toolCalls = v
		case "function_call":
			f.functionCall = v
		case "tool_call_id":
			f.toolCallID = v
		case "reasoning":
			f.reasoning[0] = v
		case "reasoning_content":
			f.reasoning[1] = v
		case "thinking":
			f.reasoning[2] = v
		case "reasoning_details":
			f.reasoning[3] = v
		default:
			readTokenIDs(&f.tokenIDs, key, v)
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	if !f.role.given() {
		return m, missing(join(at, "role"))
	}
	if err := f.role.text(join(at, "role"), &m.Role); err != nil {
		return m, err
	}
	if err := f.readName(join(at, "name"), &m); err != nil {
		return m, err
	}
	switch m.Role {
	case RoleSystem, RoleDeveloper, RoleUser:
	case RoleTool:
		if !f.toolCallID.given() {
			return m, missing(join(at, "tool_call_id"))
		}
		if err := f.toolCallID.text(join(at, "tool_call_id"), &m.ToolCallID); err != nil {
			return m, err
		}
	case RoleAssistant:
		m.TokenIDs = f.tokenIDs
		err := f.readAssistant(at, &m, d)
		return m, err
	case "function":
		return m, badRequest(contract.CodeUnknownRole, join(at, "role"),
			"The role 'function' is deprecated; use 'tool' and 'tool_call_id' instead.")
	default:
		return m, badRequest(contract.CodeUnknownRole, join(at, "role"), "Invalid value: '"+clip(m.Role)+
			"'. Supported values are: 'system', 'developer', 'user', 'assistant', and 'tool'.")
	}
	if f.content.kind == 0 {
		return m, missing(join(at, "content"))
	}
	m.Content, err = f.content.readParts(join(at, "content"), chatParts, d)
	return m, err
}

// readName reads a user's name. The name becomes a word of a header, so it must match the API's pattern. Names of other
// roles are not shown to the model: the assistant has none, and a tool's name is the name of the call it answers.
func (f *chatFields) readName(param string, m *ChatMessage) *Error {
	name := ""
	if err := f.name.text(param, &name); err != nil || m.Role != RoleUser || name == "" {
		return err
	}
	const maxBytes = 64
	ok := len(name) <= maxBytes
	for i := 0; ok && i < len(name); i++ {
		switch c := name[i]; c {
		case '<', '|', '\\', '/', '>', 0x7F:
			ok = false
		default:
			ok = c > ' '
		}
	}
	if !ok {
		return Invalid(param, "Invalid '"+param+"': expected 1 to 64 bytes without spaces and none of <, |, \\, / and >.")
	}
	m.Name = name
	return nil
}

// readAssistant accepts a content that is absent, null or empty, because a history holds answers of other servers.
func (f *chatFields) readAssistant(at string, m *ChatMessage, d *Dropped) (err *Error) {
	if f.functionCall.given() {
		return Unsupported(join(at, "function_call"),
			"Unsupported parameter: 'function_call' is deprecated; use 'tool_calls' instead.")
	}
	if f.audio.given() {
		return Unsupported(join(at, "audio"), "Unsupported parameter: 'audio' of an earlier answer cannot be heard by "+
			"this model, which reads text only.")
	}
	if f.content.given() {
		if m.Content, err = f.content.readParts(join(at, "content"), assistantParts, d); err != nil {
			return err
		}
	}
	refusal := ""
	if err := f.refusal.text(join(at, "refusal"), &refusal); err != nil {
		return err
	}
	if refusal != "" {
		m.Content = append(m.Content, refusal)
	}
	for _, v := range f.reasoning {
		if m.Reasoning = v.reasoning(); m.Reasoning != "" {
			break
		}
	}
	if !f.toolCalls.given() {
		return nil
	}
	return f.toolCalls.elements(join(at, "tool_calls"), func(_ int, at string, v value) *Error {
		if len(m.ToolCalls) >= MaxEntries {
			return tooManyTurns("messages")
		}
		call, err := readToolCall(at, v)
		m.ToolCalls = append(m.ToolCalls, call)
		return err
	})
}
