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
	// OutputServerUse is a call that a server runs, and OutputMCPUse one of an MCP server's tool.
	OutputServerUse
	OutputMCPUse
	// OutputWhole is a block that is written whole, such as what a server's call has returned.
	OutputWhole
)

// OutputBlock is one block of an answer's content.
type OutputBlock struct {
	Kind OutputKind
	// ID and Name belong to a [OutputToolUse], a [OutputServerUse] or a [OutputMCPUse]. Server is the last one's MCP
	// server.
	ID, Name, Server string
	// Text is the text of a [OutputText] or a [OutputThinking]. It is escaped, as [rawjson.AppendEscaped] writes it. Of a
	// [OutputWhole] it is the block.
	Text []byte
	// Citations are those of a [OutputText], as [AppendCitation] writes them, with commas between them.
	Citations []byte
	// Arguments are what the model has called a tool with. They need not be JSON.
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

	OutputServerUse: {`{"type":"server_tool_use"`, `,"input":{}}`, `{"type":"input_json_delta","partial_json":"`},
	OutputMCPUse:    {`{"type":"mcp_tool_use"`, `,"input":{}}`, `{"type":"input_json_delta","partial_json":"`},
	OutputWhole:     {},
}

// AppendOutput appends a whole block.
func AppendOutput(dst []byte, b *OutputBlock) []byte {
	switch b.Kind {
	case OutputThinking:
		dst = append(append(append(dst, `{"type":"thinking","thinking":"`...), b.Text...), `","signature":`...)
		return append(append(dst, b.Sealed...), '}')
	case OutputRedacted:
		return append(append(append(dst, `{"type":"redacted_thinking","data":`...), b.Sealed...), '}')
	case OutputWhole:
		return append(dst, b.Text...)
	case OutputToolUse, OutputServerUse, OutputMCPUse:
		dst = append(b.appendCall(append(dst, blockForms[b.Kind].open...)), `,"input":`...)
		return append(appendInput(dst, b.Arguments), '}')
	default:
		dst = append(append(append(dst, `{"type":"text","text":"`...), b.Text...), '"')
		if len(b.Citations) > 0 {
			dst = append(append(append(dst, `,"citations":[`...), b.Citations...), ']')
		}
		return append(dst, '}')
	}
}

// appendCall appends the members that only calls have.
func (b *OutputBlock) appendCall(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `,"id":`...), b.ID)
	dst = rawjson.AppendString(append(dst, `,"name":`...), b.Name)
	if b.Kind == OutputMCPUse {
		dst = rawjson.AppendString(append(dst, `,"server_name":`...), b.Server)
	}
	return dst
}

// AppendInput appends the input of a call that is written in one piece, as an object.
func (b *OutputBlock) AppendInput(dst []byte) []byte { return appendInput(dst, b.Arguments) }

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
