package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// apiTool is a tool with special items in the API. The model sees its calls as calls of a function.
type apiTool struct {
	// name is the function's name. argumentsMember holds the arguments.
	name, argumentsMember string
	// inlineResult reports whether a call has no separate output item, but holds its result or its status itself.
	inlineResult bool
}

// apiToolOf returns the tool of a type of call. ok reports whether there is one.
func apiToolOf(kind string) (tool apiTool, ok bool) {
	switch kind {
	case "local_shell_call":
		return apiTool{name: typeLocalShell, argumentsMember: "action"}, true
	case "shell_call":
		return apiTool{name: "shell", argumentsMember: "action"}, true
	case "apply_patch_call":
		return apiTool{name: "apply_patch", argumentsMember: "operation"}, true
	case "web_search_call":
		return apiTool{name: "web_search", argumentsMember: "action", inlineResult: true}, true
	case "mcp_call":
		return apiTool{argumentsMember: "arguments", inlineResult: true}, true
	}
	return apiTool{}, false
}

// apiToolFields holds the members of such items.
type apiToolFields struct{ id, callID, name, arguments, output, failure, status value }

func (v value) apiToolFields(at, argumentsMember string) (f apiToolFields, err *Error) {
	err = v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
		case "id":
			f.id = v
		case "call_id":
			f.callID = v
		case "name":
			f.name = v
		case argumentsMember:
			f.arguments = v
		case "output":
			f.output = v
		case "error":
			f.failure = v
		case "status":
			f.status = v
		}
		return nil
	})
	return f, err
}

// readAPIToolCall reads a call of such a tool. The model does not see a search without a query.
func (v value) readAPIToolCall(at string, tool apiTool) (item InputItem, err *Error) {
	f, err := v.apiToolFields(at, tool.argumentsMember)
	if err != nil || tool.name == "web_search" && !f.arguments.given() {
		return item, err
	}
	item.Kind, item.Name, item.Answered = ItemCall, tool.name, tool.inlineResult
	if tool.name == "" {
		if err := f.name.calledName(join(at, "name"), &item.Name); err != nil {
			return item, err
		}
	}
	if !f.arguments.given() {
		return item, missing(join(at, tool.argumentsMember))
	}
	if tool.name == typeLocalShell {
		item.Arguments, err = f.arguments.shellArguments(join(at, tool.argumentsMember))
	} else {
		item.Arguments, err = f.arguments.textOrJSON(join(at, tool.argumentsMember))
	}
	if err != nil {
		return item, err
	}
	if tool.inlineResult {
		item.Content, err = f.result(at)
		return item, err
	}
	err = f.readCallID(at, &item)
	return item, err
}

// readAPIToolOutput reads the output of a call of such a tool.
func (v value) readAPIToolOutput(at string) (item InputItem, err *Error) {
	f, err := v.apiToolFields(at, "")
	if err != nil {
		return item, err
	}
	item.Kind = ItemCallOutput
	if err := f.readCallID(at, &item); err != nil {
		return item, err
	}
	item.Content, err = f.result(at)
	return item, err
}

// readCallID takes the item's own id if there is no call_id. The output of a local shell has been documented with
// either.
func (f *apiToolFields) readCallID(at string, item *InputItem) *Error {
	if !f.callID.given() && f.id.given() {
		return f.id.text(join(at, "id"), &item.CallID)
	}
	if !f.callID.given() {
		return missing(join(at, "call_id"))
	}
	return f.callID.text(join(at, "call_id"), &item.CallID)
}

// result returns the result of a call: its output or its error, or its status if it has neither. A failure that the
// output does not show comes before it.
func (f *apiToolFields) result(at string) ([]string, *Error) {
	status := StatusCompleted
	if err := f.status.text(join(at, "status"), &status); err != nil {
		return nil, err
	}
	if f.failure.given() {
		text, err := f.failure.textOrJSON(join(at, "error"))
		return []string{text}, err
	}
	if !f.output.given() {
		return []string{status}, nil
	}
	text, err := f.output.textOrJSON(join(at, "output"))
	if status == StatusFailed {
		return []string{status, "\n", text}, err
	}
	return []string{text}, err
}

// textOrJSON is borrow for strings. For an object or an array it returns the JSON text without white space, compacted
// in place.
func (v value) textOrJSON(param string) (text string, err *Error) {
	switch v.kind {
	case rawjson.Object, rawjson.Array:
		return rawjson.Keep(rawjson.AppendCompact(v.raw[:0], v.raw)), nil
	case rawjson.String:
		err = v.borrow(param, &text)
		return text, err
	default:
		return "", wrongType(param, "one of a string, an array or an object", v)
	}
}
