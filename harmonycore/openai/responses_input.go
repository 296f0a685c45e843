package openai

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// ItemKind is the kind of an item of a Responses input.
type ItemKind uint8

// The values of [ItemKind].
const (
	ItemMessage ItemKind = iota + 1
	ItemReasoning
	ItemCall
	ItemCallOutput
	// itemUnknown is for the decoder alone: no [InputItem] in a request has it.
	itemUnknown
)

// The phases of an assistant's message.
const (
	PhaseCommentary  = "commentary"
	PhaseFinalAnswer = "final_answer"
)

// InputItem is one item of a Responses input.
type InputItem struct {
	Kind ItemKind
	// Index is the item's place among all items of the input. Items that the model does not see count as well.
	Index int
	// Block is the place of the item in its element, for an API whose elements hold several items.
	Block int
	// Role and Phase belong to an [ItemMessage]. Phase is whether an assistant's text was the answer or came before a
	// call. Clients may leave it out.
	Role, Phase string
	// Content holds the text parts of a message, a reasoning or a call's output, in their order. For an [ItemCall] that is
	// Answered it holds the output.
	Content []string
	// Media are the parts of Content that are no text. Only [DecodeResponsesConversation] keeps them.
	Media []Media
	// Sealed is the encrypted_content of an [ItemReasoning]. It lies in the body and may be overwritten.
	Sealed []byte
	// CallID connects an [ItemCallOutput] to its [ItemCall]. An output without a call has none.
	CallID   string
	Answered bool
	// Name, Namespace and Arguments belong to an [ItemCall]. Custom reports whether Arguments is a custom tool's input.
	// An [ItemCallOutput] has a name only if it has no call ([InputItem.Standalone]).
	Name, Namespace, Arguments string
	Custom                     bool
	// BuiltIn reports whether an [ItemCall] is of one of the model's own tools, also if the request does not declare it.
	BuiltIn bool
	// TokenIDs are what the answer that ended with this item was made of, if the client sends it. It is not checked. It
	// lies in the body.
	TokenIDs *TokenIDs
	// SampledIDs are the same without the prompt's, in the gateway's own form ([IncludeSampledIDs]). They lie in the body
	// and may be overwritten.
	SampledIDs []byte
}

// Standalone reports whether the item is the output of a tool that the model has not called: what another agent or a
// timer has sent it.
func (i *InputItem) Standalone() bool { return i.Kind == ItemCallOutput && i.Name != "" }

// readInput reads the input: a user's text, or items. It leaves out items that the model does not see.
func (r *ResponsesRequest) readInput(v value) *Error {
	switch v.kind {
	case rawjson.String:
		r.Input = []InputItem{{Kind: ItemMessage, Role: RoleUser, Content: []string{rawjson.Borrow(v.raw)}}}
		return nil
	case rawjson.Array:
	default:
		return wrongType("input", "one of a string or an array of items", v)
	}
	turns, read := 0, r.follows.read()
	var counts Counts
	err := v.elements("input", func(i int, at string, v value) *Error {
		r.declared.element = Lasting{i, v.at, v.at + len(v.raw)}
		item, err := r.readItem(at, v)
		if i < read {
			return err
		}
		if turns += max(1, len(item.Content)); turns > MaxEntries {
			return tooManyTurns("input")
		}
		switch item.Kind {
		case 0:
		case itemUnknown:
			r.Ignored[IgnoredUnknown]++
		default:
			item.Index = i
			r.Add(&item)
		}
		if now := (Counts{r.Ignored, r.Dropped.Count}); now != counts {
			r.Counted = append(r.Counted, Counted{i, now.Minus(&counts)})
			counts = now
		}
		return err
	})
	r.Entries = turns
	if err == nil && turns == 0 {
		err = Invalid("input", "Invalid 'input': empty array. Expected an array with minimum length 1.")
	}
	return err
}

// itemFields holds the members of an item before its type is known. Ids, statuses and other members of earlier answers
// are ignored.
type itemFields struct {
	kind                                                                                            string
	id, role, content, phase, summary, encrypted, callID, name, namespace, arguments, input, output value
	tokenIDs                                                                                        *TokenIDs
	sampledIDs, tools                                                                               value
}

// readItem reads an item. The model does not see an item whose Kind is 0.
func (r *ResponsesRequest) readItem(at string, v value) (InputItem, *Error) {
	f, err := readItemFields(at, v)
	if err != nil {
		return InputItem{}, err
	}
	item, err := r.itemOf(&f, at, v)
	item.TokenIDs = f.tokenIDs
	if f.sampledIDs.kind == rawjson.String {
		item.SampledIDs = f.sampledIDs.raw
	}
	return item, err
}

func readItemFields(at string, v value) (f itemFields, err *Error) {
	err = v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "type":
			return v.text(join(at, "type"), &f.kind)
		case "id":
			f.id = v
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
		case "tools":
			f.tools = v
		case memberSampled:
			f.sampledIDs = v
		default:
			readTokenIDs(&f.tokenIDs, key, v)
		}
		return nil
	})
	return f, err
}

// itemOf returns the item v, whose members f has.
func (r *ResponsesRequest) itemOf(f *itemFields, at string, v value) (InputItem, *Error) {
	switch f.kind {
	case "message":
		return f.readMessage(at, r)
	case "reasoning":
		return f.readReasoning(at)
	case "function_call":
		return f.readCall(at, "arguments", f.arguments)
	case "custom_tool_call":
		item, err := f.readCall(at, "input", f.input)
		item.Custom = true
		return item, err
	case "function_call_output", "custom_tool_call_output":
		return f.readCallOutput(at, r)
	case "":
		if f.refers() {
			return InputItem{}, f.notStored(at)
		}
		if f.role.given() {
			return f.readMessage(at, r)
		}
		return InputItem{}, missing(join(at, "type"))
	case "local_shell_call_output", "shell_call_output", "apply_patch_call_output":
		return v.readAPIToolOutput(at)
	case itemAdditionalTools:
		return InputItem{}, r.readAdditionalTools(at, f)
	case itemSearchCall:
		return r.readSearchCall(at, f)
	case itemSearchOutput:
		return r.readSearchOutput(at, f)
	case "item_reference":
		return InputItem{}, f.notStored(at)
	case itemCompactionTrigger:
		return InputItem{}, Unsupported(at, "Unsupported item: no conversation is compacted here. Send '"+itemCompactionTrigger+
			"' to a gateway with a responses service, or shorten the conversation yourself.")
	case "agent_message":
		return r.readAgentMessage(at, f)
	case itemCompaction, "compaction_summary", "context_compaction":
		r.Ignored[IgnoredCompaction]++
		return compactionNote(), nil
	case itemUpdate:
		return InputItem{}, r.readUpdate(at, v)
	case "computer_call_output":
		if r.keepsMedia {
			return InputItem{}, Unsupported(at, "Unsupported item: this model's servers have no form for a "+
				"'computer_call_output'.")
		}
		return InputItem{}, Unsupported(at, "Unsupported item: this model reads text only, not the screenshot of a "+
			"'computer_call_output'.")
	case "mcp_list_tools", "mcp_approval_request", "mcp_approval_response":
		return InputItem{}, nil // tools that cannot be called here
	default:
		if tool, ok := apiToolOf(f.kind); ok {
			return v.readAPIToolCall(at, tool)
		}
		return InputItem{Kind: itemUnknown}, nil
	}
}

// The types of items about a compacted conversation.
const (
	itemCompaction        = "compaction"
	itemCompactionTrigger = "compaction_trigger"
)

// itemUpdate changes the effort or the form of the answer.
const itemUpdate = "configuration_update"

// refers reports whether an item is only a reference to a stored one.
func (f *itemFields) refers() bool {
	return f.kind == "item_reference" || f.kind == "" && f.id.given() && !f.role.given()
}

// notStored returns the error for a reference to a stored item.
func (f *itemFields) notStored(at string) *Error {
	if !f.id.given() {
		return missing(join(at, "id"))
	}
	id := ""
	if err := f.id.text(join(at, "id"), &id); err != nil {
		return err
	}
	return Invalid(at, "Item with id '"+clip(id)+"' not found: nothing is stored here. Set 'store' to false and "+
		"'include' to ['reasoning.encrypted_content'], "+
		"and send the items themselves. Vercel's AI SDK does so with providerOptions: { openai: { store: false } }.")
}

func (f *itemFields) readMessage(at string, r *ResponsesRequest) (item InputItem, err *Error) {
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
		if f.phase.kind == rawjson.String {
			item.Phase = rawjson.Unescape(f.phase.raw)
		}
		if !f.content.given() {
			return item, nil
		}
	default:
		return item, badRequest(contract.CodeUnknownRole, join(at, "role"), "Invalid value: '"+clip(item.Role)+
			"'. Supported values are: 'system', 'developer', 'user', and 'assistant'.")
	}
	if f.content.kind == 0 {
		return item, missing(join(at, "content"))
	}
	err = r.readContent(join(at, "content"), f.content, &item)
	return item, err
}

// readReasoning reads the reasoning itself, or its summary if there is no reasoning text.
func (f *itemFields) readReasoning(at string) (item InputItem, err *Error) {
	item.Kind = ItemReasoning
	if f.encrypted.given() {
		if err = f.encrypted.bytes(join(at, "encrypted_content"), &item.Sealed); err != nil {
			return item, err
		}
	}
	if f.content.given() {
		if item.Content, err = f.content.readParts(join(at, "content"), reasoningParts, nil); err != nil ||
			len(item.Content) > 0 {
			return item, err
		}
	}
	if f.summary.given() {
		item.Content, err = f.summary.readParts(join(at, "summary"), summaryParts, nil)
	}
	return item, err
}

// readCall reads a call. text is the value of the member that holds the arguments or the input.
func (f *itemFields) readCall(at, member string, text value) (InputItem, *Error) {
	item := InputItem{Kind: ItemCall}
	if err := f.readCallID(at, &item); err != nil {
		return item, err
	}
	if err := f.readCalled(at, &item); err != nil {
		return item, err
	}
	if !text.given() {
		return item, missing(join(at, member))
	}
	err := text.borrow(join(at, member), &item.Arguments)
	return item, err
}

// readCalled reads the names of the called tool.
func (f *itemFields) readCalled(at string, item *InputItem) *Error {
	if err := f.name.calledName(join(at, "name"), &item.Name); err != nil || !f.namespace.given() {
		return err
	}
	return f.namespace.calledName(join(at, "namespace"), &item.Namespace)
}

// readCallOutput reads the output of a call, or one without a call, which says whose it is.
func (f *itemFields) readCallOutput(at string, r *ResponsesRequest) (item InputItem, err *Error) {
	item.Kind = ItemCallOutput
	if !f.callID.given() && f.name.given() {
		err = f.readCalled(at, &item)
	} else {
		err = f.readCallID(at, &item)
	}
	for _, unused := range [...]struct {
		name string
		v    value
	}{{"name", f.name}, {"namespace", f.namespace}} {
		text := ""
		if err == nil {
			err = unused.v.text(join(at, unused.name), &text)
		}
	}
	if err != nil {
		return item, err
	}
	if f.output.kind == 0 {
		return item, missing(join(at, "output"))
	}
	err = r.readContent(join(at, "output"), f.output, &item)
	return item, err
}

// readContent reads the content of a message or of a call's output. Users and tools may send media, if they are kept.
func (r *ResponsesRequest) readContent(param string, v value, item *InputItem) (err *Error) {
	switch {
	case !r.keepsMedia:
		item.Content, err = v.readParts(param, itemParts, &r.Dropped)
	case item.Kind == ItemCallOutput || item.Role == RoleUser:
		err = v.readMixed(param, item)
	default:
		if item.Content, err = v.readParts(param, itemParts, nil); err != nil &&
			err.Code == contract.CodeUnsupportedParameter {
			err.Message = "Unsupported content: only a user's message and the result of a call may have parts that are no text."
		}
	}
	return err
}

func (f *itemFields) readCallID(at string, item *InputItem) *Error {
	if !f.callID.given() {
		return missing(join(at, "call_id"))
	}
	return f.callID.text(join(at, "call_id"), &item.CallID)
}
