package openai

import (
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/jsontext"
)

// The roles of messages, which both APIs share; RoleTool is Chat's alone.
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
	// Content are the text parts in their order: a plain string is one part.
	Content []string
	// Reasoning is what the client kept of the assistant's reasoning, whichever of its field names it uses.
	Reasoning string
	ToolCalls []ToolCall
	// ToolCallID says which call a message of RoleTool answers.
	ToolCallID string
}

// ToolCall is a function call of the past.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is the text that the model wrote, JSON or not.
	Arguments string
}

// maxTurns is the most messages and calls of a request: eight tokens each fill a context of 131,072. A new VM took 16 s
// to read 24,000 calls with ids of their own (1.7 MB), and half a second for 13,000.
const maxTurns = 1 << 14

func tooManyTurns(param string) *Error {
	return badRequest(CodeContextLengthExceeded, param, "Invalid '"+param+"': more than "+strconv.Itoa(maxTurns)+
		" messages and calls, which no context has room for.")
}

func readChatMessages(v value) ([]ChatMessage, *Error) {
	var messages []ChatMessage
	turns := 0
	err := v.elements("messages", func(_ int, at string, v value) *Error {
		m, err := readChatMessage(at, v)
		if err != nil {
			return err
		}
		messages = append(messages, m)
		if turns += 1 + len(m.ToolCalls); turns > maxTurns {
			return tooManyTurns("messages")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, Invalid("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	return messages, nil
}

// chatFields are a message's members before its role says what they mean.
type chatFields struct {
	role, content, refusal, toolCalls, functionCall, toolCallID value
	// reasoning are the three names that clients use for it, in the order of preference.
	reasoning [3]value
}

func readChatMessage(at string, v value) (ChatMessage, *Error) {
	var f chatFields
	m := ChatMessage{}
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "role":
			f.role = v
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
		err := f.readAssistant(at, &m)
		return m, err
	case "function":
		return m, badRequest(CodeUnknownRole, join(at, "role"), "The role 'function' is deprecated; use 'tool' instead.")
	default:
		return m, badRequest(CodeUnknownRole, join(at, "role"), "Invalid value: '"+clip(m.Role)+
			"'. Supported values are: 'system', 'developer', 'user', 'assistant', and 'tool'.")
	}
	if f.content.kind == 0 {
		return m, missing(join(at, "content"))
	}
	m.Content, err = f.content.readParts(join(at, "content"), chatParts)
	return m, err
}

// readAssistant is generous, since histories hold whatever other servers once answered: content may be absent, null
// or empty, and reasoning that is no string is passed over.
func (f *chatFields) readAssistant(at string, m *ChatMessage) (err *Error) {
	if f.functionCall.given() {
		return unsupported(join(at, "function_call"), "Unsupported parameter: 'function_call' is deprecated; use 'tool_calls' instead.")
	}
	if f.content.given() {
		if m.Content, err = f.content.readParts(join(at, "content"), assistantParts); err != nil {
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
		if v.kind == jsontext.String && len(v.raw) > 0 {
			m.Reasoning = jsontext.Borrow(v.raw)
			break
		}
	}
	if !f.toolCalls.given() {
		return nil
	}
	return f.toolCalls.elements(join(at, "tool_calls"), func(_ int, at string, v value) *Error {
		if len(m.ToolCalls) >= maxTurns {
			return tooManyTurns("messages")
		}
		call, err := readToolCall(at, v)
		m.ToolCalls = append(m.ToolCalls, call)
		return err
	})
}

func readToolCall(at string, v value) (ToolCall, *Error) {
	var call ToolCall
	var id, function, name, arguments value
	kind := "function"
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "id":
			id = v
		case "type":
			return v.text(join(at, "type"), &kind)
		case "function":
			function = v
		}
		return nil
	})
	if err != nil {
		return call, err
	}
	if kind != "function" {
		return call, notOneOf(join(at, "type"), kind, "'function'")
	}
	if !id.given() {
		return call, missing(join(at, "id"))
	}
	if err := id.text(join(at, "id"), &call.ID); err != nil {
		return call, err
	}
	at = join(at, "function")
	if !function.given() {
		return call, missing(at)
	}
	err = function.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "name":
			name = v
		case "arguments":
			arguments = v
		}
		return nil
	})
	if err != nil {
		return call, err
	}
	if err := name.calledName(join(at, "name"), &call.Name); err != nil {
		return call, err
	}
	if !arguments.given() {
		return call, missing(join(at, "arguments"))
	}
	err = arguments.borrow(join(at, "arguments"), &call.Arguments)
	return call, err
}
