package chatserver

import (
	"unicode/utf8"
	"unsafe"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Call is a call of a function in an assistant's message.
type Call struct {
	ID, Name  string
	arguments string
	// wrapped reports whether the arguments are the only member of an object.
	wrapped bool
}

// InputMember is the only parameter of the function that stands for a custom tool. Its value is the tool's input.
const InputMember = "input"

// NewCall returns a call. custom reports whether the tool takes text.
//
// Most servers parse arguments, and refuse a whole conversation for a call whose arguments are no object. So any other
// text becomes the one member of an object, as the input of a custom tool does.
func NewCall(id, name, arguments string, custom bool) Call {
	if arguments == "" && !custom {
		arguments = "{}"
	}
	return Call{ID: id, Name: name, arguments: arguments, wrapped: custom || !isObject(arguments)}
}

func isObject(text string) bool {
	data := unsafe.Slice(unsafe.StringData(text), len(text))
	at := rawjson.Space(data, 0)
	return at < len(data) && data[at] == '{' && rawjson.Validate(data, rawjson.MaxDepth) == nil
}

// Growth returns how much longer the arguments may become than they are as a JSON string, in bytes.
func (c *Call) Growth() int {
	if !c.wrapped {
		return 0
	}
	growth := 0
	for i := range len(c.arguments) {
		if b := c.arguments[i]; b < ' ' || b == '"' || b == '\\' {
			growth += 2
		}
	}
	return growth
}

func appendCalls(dst []byte, calls []Call) []byte {
	if len(calls) == 0 {
		return dst
	}
	dst = append(dst, `,"tool_calls":[`...)
	for i := range calls {
		c := &calls[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMember(dst, `{"id":`, c.ID)
		dst = appendMember(dst, `,"type":"function","function":{"name":`, c.Name)
		dst = append(c.appendArguments(append(dst, `,"arguments":"`...)), `"}}`...)
	}
	return append(dst, ']')
}

// appendArguments appends the arguments as the inside of a JSON string.
func (c *Call) appendArguments(dst []byte) []byte {
	if !c.wrapped {
		return rawjson.AppendEscaped(dst, c.arguments)
	}
	dst = append(dst, `{\"`+InputMember+`\":\"`...)
	return append(appendTwiceEscaped(dst, c.arguments), `\"}`...)
}

// appendTwiceEscaped appends a text as the inside of a string in JSON that is itself the inside of a string.
func appendTwiceEscaped(dst []byte, text string) []byte {
	var once [256]byte
	for len(text) > 0 {
		n := pieceOf(text, len(once)/maxEscape)
		dst = rawjson.AppendEscaped(dst, rawjson.View(rawjson.AppendEscaped(once[:0], text[:n])))
		text = text[n:]
	}
	return dst
}

// pieceOf returns the length of a text's beginning that has at most limit bytes and does not end within a character.
func pieceOf(text string, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	n := limit
	for n > limit-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
