package openai

import "github.com/harmonyedge/harmonyedge/harmonycore/jsontext"

// ItemKind tells the items of a Responses input apart.
type ItemKind uint8

// The kinds of input items.
const (
	ItemMessage ItemKind = iota + 1
	ItemReasoning
	ItemCall
	ItemCallOutput
)

// The phases of an assistant's message.
const (
	PhaseCommentary  = "commentary"
	PhaseFinalAnswer = "final_answer"
)

// InputItem is one item of a Responses input.
type InputItem struct {
	Kind ItemKind
	// Role is that of an ItemMessage, and Phase too, which says whether an assistant's text was the answer or led to
	// a call. Clients may leave Phase out.
	Role, Phase string
	// Content are the text parts of a message, a reasoning or a call's output, in their order.
	Content []string
	// Sealed is an ItemReasoning's encrypted_content. It lies in the body, and may be overwritten.
	Sealed []byte
	// CallID binds an ItemCallOutput to its ItemCall.
	CallID string
	// Name, Namespace and Arguments are those of an ItemCall, and Custom says that the Arguments are a custom tool's input.
	Name, Namespace, Arguments string
	Custom                     bool
}

// readInput reads the input: a user's text, or items.
func readInput(v value) ([]InputItem, *Error) {
	switch v.kind {
	case jsontext.String:
		return []InputItem{{Kind: ItemMessage, Role: RoleUser, Content: []string{jsontext.Borrow(v.raw)}}}, nil
	case jsontext.Array:
	default:
		return nil, wrongType("input", "one of a string or an array of items", v)
	}
	var items []InputItem
	err := v.elements("input", func(_ int, at string, v value) *Error {
		if len(items) >= maxTurns {
			return tooManyTurns("input")
		}
		item, err := readItem(at, v)
		items = append(items, item)
		return err
	})
	if err == nil && len(items) == 0 {
		err = Invalid("input", "Invalid 'input': empty array. Expected an array with minimum length 1.")
	}
	return items, err
}

// itemFields are an item's members before its type says which of them count. Ids, statuses and whatever else is sent
// back from an earlier answer are passed over.
type itemFields struct {
	kind                                                                                        string
	role, content, phase, summary, encrypted, callID, name, namespace, arguments, input, output value
}

func readItem(at string, v value) (InputItem, *Error) {
	var f itemFields
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "type":
			return v.text(join(at, "type"), &f.kind)
		case "role":
			f.role = v
		case "content":
			f.content = v
		case "phase":
			f.phase = v
		case "summary":
			f.summary = v
		case "encrypted_content":
			f.encrypted = v
		case "call_id":
			f.callID = v
		case "name":
			f.name = v
		case "namespace":
			f.namespace = v
		case "arguments":
			f.arguments = v
		case "input":
			f.input = v
		case "output":
			f.output = v
		}
		return nil
	})
	if err != nil {
		return InputItem{}, err
	}
	switch f.kind {
	case "message":
		return f.readMessage(at)
	case "reasoning":
		return f.readReasoning(at)
	case "function_call":
		return f.readCall(at, "arguments", f.arguments)
	case "custom_tool_call":
		item, err := f.readCall(at, "input", f.input)
		item.Custom = true
		return item, err
	case "function_call_output", "custom_tool_call_output":
		return f.readCallOutput(at)
	case "":
		if f.role.given() {
			return f.readMessage(at)
		}
		return InputItem{}, missing(join(at, "type"))
	default:
		return InputItem{}, notOneOf(at, f.kind, "'message', 'reasoning', 'function_call', 'function_call_output', 'custom_tool_call', and 'custom_tool_call_output'")
	}
}

func (f *itemFields) readMessage(at string) (item InputItem, err *Error) {
	item.Kind = ItemMessage
	if !f.role.given() {
		return item, missing(join(at, "role"))
	}
	if err := f.role.text(join(at, "role"), &item.Role); err != nil {
		return item, err
	}
	switch item.Role {
	case RoleSystem, RoleDeveloper, RoleUser:
	case RoleAssistant:
		if f.phase.kind == jsontext.String {
			item.Phase = jsontext.Unescape(f.phase.raw)
		}
		if !f.content.given() {
			return item, nil
		}
	default:
		return item, badRequest(CodeUnknownRole, join(at, "role"), "Invalid value: '"+clip(item.Role)+
			"'. Supported values are: 'system', 'developer', 'user', and 'assistant'.")
	}
	if f.content.kind == 0 {
		return item, missing(join(at, "content"))
	}
	item.Content, err = f.content.readParts(join(at, "content"), itemParts)
	return item, err
}

// readReasoning prefers the reasoning itself to its summary. Encrypted reasoning is none of ours and is passed over.
func (f *itemFields) readReasoning(at string) (item InputItem, err *Error) {
	item.Kind = ItemReasoning
	if f.encrypted.given() {
		if err = f.encrypted.bytes(join(at, "encrypted_content"), &item.Sealed); err != nil {
			return item, err
		}
	}
	if f.content.given() {
		if item.Content, err = f.content.readParts(join(at, "content"), reasoningParts); err != nil || len(item.Content) > 0 {
			return item, err
		}
	}
	if f.summary.given() {
		item.Content, err = f.summary.readParts(join(at, "summary"), summaryParts)
	}
	return item, err
}

// readCall reads a call whose text is in the member with this name.
func (f *itemFields) readCall(at, member string, text value) (InputItem, *Error) {
	item := InputItem{Kind: ItemCall}
	if err := f.readCallID(at, &item); err != nil {
		return item, err
	}
	if err := f.name.calledName(join(at, "name"), &item.Name); err != nil {
		return item, err
	}
	if f.namespace.given() {
		if err := f.namespace.calledName(join(at, "namespace"), &item.Namespace); err != nil {
			return item, err
		}
	}
	if !text.given() {
		return item, missing(join(at, member))
	}
	err := text.borrow(join(at, member), &item.Arguments)
	return item, err
}

func (f *itemFields) readCallOutput(at string) (item InputItem, err *Error) {
	item.Kind = ItemCallOutput
	if err := f.readCallID(at, &item); err != nil {
		return item, err
	}
	if f.output.kind == 0 {
		return item, missing(join(at, "output"))
	}
	item.Content, err = f.output.readParts(join(at, "output"), itemParts)
	return item, err
}

func (f *itemFields) readCallID(at string, item *InputItem) *Error {
	if !f.callID.given() {
		return missing(join(at, "call_id"))
	}
	return f.callID.text(join(at, "call_id"), &item.CallID)
}
