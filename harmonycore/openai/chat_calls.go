package openai

// The types of tools and of calls.
const (
	typeFunction = "function"
	typeCustom   = "custom"
)

// CallKind is what a call of an answer is made to.
type CallKind uint8

// The kinds of calls. The zero CallKind is a function's.
const (
	FunctionCall CallKind = iota
	CustomCall
)

func (k CallKind) name() string {
	if k == CustomCall {
		return typeCustom
	}
	return typeFunction
}

// open is what stands before the name of what is called, text what before the text that it is called with.
func (k CallKind) open() string {
	if k == CustomCall {
		return `,"type":"custom","custom":{"name":`
	}
	return `,"type":"function","function":{"name":`
}

func (k CallKind) text() string {
	if k == CustomCall {
		return `"input":"`
	}
	return `"arguments":"`
}

// piece is what stands before a piece of that text in a chunk.
func (k CallKind) piece() string {
	if k == CustomCall {
		return `,"custom":{"input":"`
	}
	return `,"function":{"arguments":"`
}

// readToolCall reads a call of the past. One without a type is a function's.
func readToolCall(at string, v value) (ToolCall, *Error) {
	var call ToolCall
	var id, function, custom value
	kind := typeFunction
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "id":
			id = v
		case "type":
			return v.text(join(at, "type"), &kind)
		case "function":
			function = v
		case "custom":
			custom = v
		}
		return nil
	})
	if err != nil {
		return call, err
	}
	called, text := function, "arguments"
	switch kind {
	case typeFunction:
	case typeCustom:
		called, text = custom, "input"
		call.Custom = true
	default:
		return call, notOneOf(join(at, "type"), kind, "'function' and 'custom'")
	}
	if !id.given() {
		return call, missing(join(at, "id"))
	}
	if err := id.text(join(at, "id"), &call.ID); err != nil {
		return call, err
	}
	at = join(at, kind)
	if !called.given() {
		return call, missing(at)
	}
	err = called.readCalled(at, text, &call)
	return call, err
}

// readCalled reads what was called, and with what: the member called text.
func (v value) readCalled(at, text string, call *ToolCall) *Error {
	var name, written value
	err := v.members(at, func(key []byte, v value) *Error {
		switch string(key) {
		case "name":
			name = v
		case text:
			written = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := name.calledName(join(at, "name"), &call.Name); err != nil {
		return err
	}
	if !written.given() {
		return missing(join(at, text))
	}
	return written.borrow(join(at, text), &call.Arguments)
}
