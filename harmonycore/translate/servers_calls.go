package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// FunctionPrefix begins the recipient of a call of a function.
const FunctionPrefix = functions + "."

// TakesText reports whether a function at the model's servers stands for a custom tool, whose input is plain text.
func (r *Request) TakesText(function string) bool {
	tool := r.tools.byRecipient(FunctionPrefix + function)
	return tool != nil && tool.custom
}

// CalledName returns the name by which servers know the declared function that a call names. Some models write the
// namespaces of their own calls before it, or the client's: functions.f is f, and mcp__shop.list is list of the
// namespace mcp__shop. Any other name is returned as it is.
func (r *Request) CalledName(name string) string {
	if r.tools.find(name) != nil {
		return name
	}
	if tool := r.tools.missedBy(name); tool != nil {
		return tool.shown
	}
	return name
}

// CustomInput returns the input of a custom tool from the arguments of the function that stands for it. Models
// sometimes write the input itself: arguments of another form are the input. cut reports whether the end of the
// arguments is missing. The input is then what has come of it.
func CustomInput(arguments []byte, cut bool) []byte {
	if input, ok := inputOf(arguments); ok {
		return input
	}
	if !cut {
		return arguments
	}
	from := rawjson.Space(arguments, 0)
	if from == len(arguments) || arguments[from] != '{' {
		return arguments
	}
	for n := len(arguments); n > 0 && n > len(arguments)-maxTorn; n-- {
		if endsInHighSurrogate(arguments[:n]) {
			continue
		}
		closed := append(arguments[:n:n], `"}`...)
		if input, ok := inputOf(closed); ok {
			return input
		}
	}
	return nil
}

// maxTorn is more than the length of the longest escape, which is of two surrogates.
const maxTorn = len(`\ud83d\ude00`) + 1

// endsInHighSurrogate reports whether JSON text ends in the escape of the first half of a character.
func endsInHighSurrogate(text []byte) bool {
	n := len(text) - len(`\ud83d`)
	return n >= 0 && text[n] == '\\' && text[n+1] == 'u' && text[n+2]|0x20 == 'd' &&
		(text[n+3] == '8' || text[n+3] == '9' || text[n+3]|0x20 == 'a' || text[n+3]|0x20 == 'b')
}

// inputOf returns the input in arguments. It reports false if they have another form.
func inputOf(arguments []byte) ([]byte, bool) {
	if rawjson.Validate(arguments, rawjson.MaxDepth) != nil {
		return nil, false
	}
	value, kind := rawjson.Find(arguments, chatserver.InputMember)
	return []byte(rawjson.Unescape(value)), kind == rawjson.String
}

// Function returns the JSON schema of a function's arguments, or nothing if it is too long to be kept, and reports
// whether the request declares the function.
func (r *Request) Function(name string) (schema []byte, declared bool) {
	t := r.tools.byRecipient(name)
	switch {
	case t == nil:
		return nil, false
	case t.custom:
		return nil, true
	}
	return t.schema, true
}
