package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// The types of tools and of calls.
const (
	typeFunction = "function"
	typeCustom   = "custom"
)

// CallKind is the kind of tool that a call in an answer is for.
type CallKind uint8

// The values of [CallKind]. The zero value is a call of a function.
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

// open returns the JSON before the name of the called tool.
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

// piece returns the JSON before a piece of the arguments or the input in a chunk.
func (k CallKind) piece() string {
	if k == CustomCall {
		return `,"custom":{"input":"`
	}
	return `,"function":{"arguments":"`
}

// readToolCall reads a call in the history. A call without a type is a function's.
func readToolCall(at string, v value) (ToolCall, *Error) {
	var call ToolCall
	f, err := v.chatToolFields(at, typeFunction)
	if err != nil {
		return call, err
	}
	called, text := f.function, "arguments"
	switch f.kind {
	case typeFunction:
	case typeCustom:
		called, text = f.custom, "input"
		call.Custom = true
	default:
		return call, notOneOf(join(at, "type"), f.kind, "'function' and 'custom'")
	}
	if !f.id.given() {
		return call, missing(join(at, "id"))
	}
	if err := f.id.text(join(at, "id"), &call.ID); err != nil {
		return call, err
	}
	at = join(at, f.kind)
	if !called.given() {
		return call, missing(at)
	}
	err = called.readCalled(at, text, &call)
	return call, err
}

// readCalled reads the name of the called tool, and its arguments or input from the member with the name in text.
func (v value) readCalled(at, text string, call *ToolCall) *Error {
	var name, written value
	err := v.members(at, func(key []byte, v value) *Error {
		switch rawjson.View(key) {
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
