package anthropic

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// OutputKind is the kind of a block of an answer's content.
type OutputKind uint8

// The values of [OutputKind].
const (
	OutputText OutputKind = iota + 1
	OutputThinking
	// OutputRedacted is reasoning that the client is not shown.
	OutputRedacted
	OutputToolUse
)

// OutputBlock is one block of an answer's content.
type OutputBlock struct {
	Kind OutputKind
	// ID and Name belong to a [OutputToolUse].
	ID, Name string
	// Text is the text of a [OutputText] or a [OutputThinking]. It is escaped, as [rawjson.AppendEscaped] writes it.
	Text []byte
	// Arguments are what the model has called the tool of a [OutputToolUse] with. They need not be JSON.
	Arguments []byte
	// Sealed is the signature of a [OutputThinking] or the data of a [OutputRedacted], as JSON text.
	Sealed []byte
}

// blockForm is the form in which a block with deltas is written.
type blockForm struct {
	// open is the block when it begins, up to the members that it alone has, and rest is what follows them.
	open, rest string
	// delta is the delta of a piece, up to the piece.
	delta string
}

var blockForms = [...]blockForm{
	OutputText:     {`{"type":"text","text":""`, `}`, `{"type":"text_delta","text":"`},
	OutputThinking: {`{"type":"thinking","thinking":"","signature":""`, `}`, `{"type":"thinking_delta","thinking":"`},
	OutputRedacted: {},
	OutputToolUse:  {`{"type":"tool_use"`, `,"input":{}}`, `{"type":"input_json_delta","partial_json":"`},
}

// AppendOutput appends a whole block.
func AppendOutput(dst []byte, b *OutputBlock) []byte {
	switch b.Kind {
	case OutputThinking:
		dst = append(append(append(dst, `{"type":"thinking","thinking":"`...), b.Text...), `","signature":`...)
		return append(append(dst, b.Sealed...), '}')
	case OutputRedacted:
		return append(append(append(dst, `{"type":"redacted_thinking","data":`...), b.Sealed...), '}')
	case OutputToolUse:
		dst = append(b.appendCall(append(dst, blockForms[b.Kind].open...)), `,"input":`...)
		return append(appendInput(dst, b.Arguments), '}')
	default:
		return append(append(append(dst, `{"type":"text","text":"`...), b.Text...), `"}`...)
	}
}

// appendCall appends the members that only calls have.
func (b *OutputBlock) appendCall(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `,"id":`...), b.ID)
	return rawjson.AppendString(append(dst, `,"name":`...), b.Name)
}

// UnparsedInput is the member of an input whose text is no JSON object. Claude Code sends such calls back with it.
const UnparsedInput = "__unparsedToolInput"

// appendInput appends the input of a call, which must be an object. Without arguments it is an empty one. Arguments
// that are no JSON object are its member [UnparsedInput] (RATIONALE.md#238).
func appendInput(dst, arguments []byte) []byte {
	at := rawjson.Space(arguments, 0)
	if at == len(arguments) {
		return append(dst, "{}"...)
	}
	if arguments[at] == '{' && rawjson.Validate(arguments, rawjson.MaxDepth) == nil {
		return append(dst, arguments[at:]...)
	}
	dst = rawjson.AppendEscaped(append(dst, UnparsedOpen...), rawjson.View(arguments))
	return AppendUnparsedClose(dst, LengthOf(arguments))
}

// UnparsedOpen is an input with [UnparsedInput] up to the text, which is escaped.
const UnparsedOpen = `{"` + UnparsedInput + `":{"raw":"`

// AppendUnparsedClose appends what comes behind the text of an input with [UnparsedInput]. length is the text's by
// [LengthOf].
func AppendUnparsedClose(dst []byte, length int) []byte {
	return append(rawjson.AppendInt(append(dst, `","len":`...), int64(length)), "}}"...)
}

// LengthOf returns the length of a text as JavaScript counts it.
func LengthOf(text []byte) int {
	n := 0
	for _, r := range rawjson.View(text) {
		if n++; r >= 1<<16 {
			n++
		}
	}
	return n
}
