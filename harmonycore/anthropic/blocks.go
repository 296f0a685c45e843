package anthropic

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// BlockKind is the kind of a block of a message.
type BlockKind uint8

// The values of [BlockKind].
const (
	// BlockText is text, or an image or a document.
	BlockText BlockKind = iota + 1
	BlockThinking
	BlockToolUse
	BlockToolResult
	// BlockServerUse is a call that a server has run, and BlockServerResult what it has returned.
	BlockServerUse
	BlockServerResult
	// BlockTools makes deferred tools, or one of its own, known to the model.
	BlockTools
	// BlockRemoval withdraws a tool.
	BlockRemoval
	// BlockEnd is the end of a message. No client sends one.
	BlockEnd
)

// Block is one block of a message. A content that is a string is one block of text.
type Block struct {
	Kind BlockKind
	// Role is the role of the message: user, assistant or system.
	Role string
	// Message is the index of the message, and Index that of the block in it. From and To are where the message is in the
	// body.
	Message, Index, From, To int
	// Content holds the parts of text of a [BlockText], a [BlockToolResult] or a [BlockServerResult], with an empty one
	// where one of Media stands. It is overwritten by the next block.
	Content []string
	Media   []Media
	// Text is the text of a [BlockThinking], or the input of a [BlockToolUse] or a [BlockServerUse] as JSON, or what the
	// model has written in the place of that.
	Text string
	// Sealed is the signature of a [BlockThinking], or all of it if it is redacted, or what a [BlockServerResult] has
	// sealed. It lies in the body and may be overwritten.
	Sealed []byte
	// ID connects a [BlockToolResult] to its [BlockToolUse], and a [BlockServerResult] to its [BlockServerUse]. Name is
	// the called tool, and Server the label of the MCP server that has it, or empty.
	ID, Name, Server string
	// Failed reports whether the tool has failed.
	Failed bool
	// Found are the names of the tools that a [BlockTools], a [BlockRemoval] or a [BlockToolResult] refers to, and Refers
	// reports whether there are any. Tool is a tool that comes with the block, of Size bytes of JSON.
	Found  []string
	Refers bool
	Tool   *Tool
	Size   int
}

// reader reads the messages of a request.
type reader struct {
	*Request
	block Block
	// entries is what [openai.MaxEntries] limits.
	entries int
	f       func(b *Block) *openai.Error
}

// EachBlock calls f for the blocks of all messages, in their order, apart from those that the gateway does not know. A
// block is valid only during the call. Its long texts lie in the body, which EachBlock overwrites: it can be called
// once. entries is how many blocks and parts of them there are.
func (r *Request) EachBlock(f func(b *Block) *openai.Error) (entries int, err *openai.Error) {
	if r.messages.Kind != rawjson.Array {
		return 0, wrongType(top("messages"), "a valid array")
	}
	read := reader{Request: r, f: f}
	i := 0
	list := r.messages.Items()
	for ; list.Next(); i++ {
		v := list.Part()
		if err := read.message(i, &v); err != nil {
			return 0, err
		}
	}
	if i == 0 {
		return 0, invalid(top("messages"), "at least one message is required")
	}
	return read.entries, nil
}

// message reads one message.
func (r *reader) message(i int, v *rawjson.Part) *openai.Error {
	at := inMessage(i)
	if v.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	var role, content, config rawjson.Part
	members := v.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "role":
			role = members.Part()
		case "content":
			content = members.Part()
		case "output_config":
			config = members.Part()
		}
	}
	b := &r.block
	if err := readRole(&role, at.in("role"), &b.Role); err != nil {
		return err
	}
	if b.Role == openai.RoleSystem {
		if err := r.readConfig(at.in("output_config"), &config); err != nil {
			return err
		}
	}
	if err := r.count(1, at); err != nil {
		return err
	}
	b.Message, b.Index = i, 0
	b.From, b.To = v.Place()
	if err := r.content(&content, at); err != nil {
		return err
	}
	b.begin(BlockEnd)
	return r.f(b)
}

// content reads the content of a message.
func (r *reader) content(content *rawjson.Part, at place) *openai.Error {
	b := &r.block
	switch content.Kind {
	case rawjson.String:
		b.begin(BlockText)
		b.Content = append(b.Content, rawjson.Borrow(content.Value))
		return r.f(b)
	case rawjson.Array:
		return r.blocks(content, at)
	case 0:
		return missing(at.in("content"))
	default:
		return wrongType(at.in("content"), "a valid string or array")
	}
}

func readRole(v *rawjson.Part, at place, dst *string) *openai.Error {
	if err := requireText(v, at); err != nil {
		return err
	}
	switch rawjson.View(v.Value) {
	case openai.RoleUser:
		*dst = openai.RoleUser
	case openai.RoleAssistant:
		*dst = openai.RoleAssistant
	case openai.RoleSystem:
		*dst = openai.RoleSystem
	default:
		return invalid(at, "Input should be 'user', 'assistant' or 'system'")
	}
	return nil
}

// count counts more messages, blocks or parts.
func (r *reader) count(n int, at place) *openai.Error {
	if r.entries += n; r.entries > openai.MaxEntries {
		return tooMany(at)
	}
	return nil
}

// begin makes the block an empty one of a kind.
func (b *Block) begin(kind BlockKind) {
	*b = Block{
		Kind: kind, Role: b.Role, Message: b.Message, Index: b.Index, From: b.From, To: b.To,
		Content: b.Content[:0], Found: b.Found[:0],
	}
}

// blocks reads the blocks of a message.
func (r *reader) blocks(content *rawjson.Part, message place) *openai.Error {
	b := &r.block
	list := content.Items()
	for i := 0; list.Next(); i++ {
		v, at := list.Part(), message.at(i)
		if i > 0 { // the message counts for its first block
			if err := r.count(1, at); err != nil {
				return err
			}
		}
		var f fields
		if err := f.read(&v, at); err != nil {
			return err
		}
		b.Index = i
		known, err := r.read(&f, at)
		switch {
		case err != nil:
			return err
		case !known:
			r.Ignored.Unknown++
			continue
		}
		if err := r.f(b); err != nil {
			return err
		}
	}
	return nil
}

// The types of blocks.
const (
	typeText      = "text"
	typeImage     = "image"
	typeDocument  = "document"
	typeSearch    = "search_result"
	typeReference = "tool_reference"
)

// read reads a block. It reports whether it knows its type.
func (r *reader) read(f *fields, at place) (known bool, err *openai.Error) {
	b := &r.block
	switch rawjson.View(f.kind) {
	case "thinking":
		b.begin(BlockThinking)
		if f.thinking.Given() {
			err = borrow(&f.thinking, at.in("thinking"), &b.Text)
		}
		if err == nil && f.signature.Given() {
			b.Sealed, err = sealed(&f.signature, at.in("signature"))
		}
	case "redacted_thinking":
		b.begin(BlockThinking)
		b.Sealed, err = sealed(&f.data, at.in("data"))
	case "tool_use":
		b.begin(BlockToolUse)
		err = b.readCall(f, at)
	case "tool_result":
		b.begin(BlockToolResult)
		err = r.readResult(f, at)
	case "tool_addition":
		b.begin(BlockTools)
		return b.readAddition(f, at)
	case "tool_removal":
		if b.Role != openai.RoleSystem {
			return false, nil // only the operator says which tools there are
		}
		b.begin(BlockRemoval)
		return b.readRemoval(f, at)
	case typeReference:
		b.begin(BlockTools)
		return true, b.refer(f, at)
	case typeServerUse, typeSearchResult, typeMCPUse, typeMCPResult:
		return r.readServer(f, at)
	default:
		b.begin(BlockText)
		if known, err = r.readPart(f, at); known && err == nil && b.Role == openai.RoleSystem {
			b.dropBilling(r.Request)
		}
		return known, err
	}
	return true, err
}

// dropBilling drops what says who pays.
func (b *Block) dropBilling(r *Request) {
	for i := range b.Content {
		text, had := withoutBilling(b.Content[i])
		if b.Content[i] = text; had {
			r.Ignored.Billing++
		}
	}
}

// sealed reads a text that the gateway has sealed, or another service.
func sealed(v *rawjson.Part, at place) ([]byte, *openai.Error) {
	if err := requireText(v, at); err != nil {
		return nil, err
	}
	return v.Value, nil // no sealed text of ours has an escape
}

// fields holds the members of a block before its type is known. Members that clients keep for themselves, such as
// cache_control, are not among them.
type fields struct {
	kind                                                                 []byte
	text, thinking, signature, data, id, name, input, toolUseID, content rawjson.Part
	isError, source, title, tool, toolName, definition, serverName       rawjson.Part
}

func (f *fields) read(v *rawjson.Part, at place) *openai.Error {
	if v.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	kind := rawjson.Part{}
	members := v.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "type":
			kind = members.Part()
		case "text":
			f.text = members.Part()
		case "thinking":
			f.thinking = members.Part()
		case "signature":
			f.signature = members.Part()
		case "data":
			f.data = members.Part()
		case "id":
			f.id = members.Part()
		case "name":
			f.name = members.Part()
		case "input":
			f.input = members.Part()
		case "tool_use_id":
			f.toolUseID = members.Part()
		case "content":
			f.content = members.Part()
		case "is_error":
			f.isError = members.Part()
		case "source":
			f.source = members.Part()
		case "title":
			f.title = members.Part()
		case "tool":
			f.tool = members.Part()
		case "tool_name":
			f.toolName = members.Part()
		case "definition":
			f.definition = members.Part()
		case "server_name":
			f.serverName = members.Part()
		}
	}
	if err := requireText(&kind, at.in("type")); err != nil {
		return err
	}
	f.kind = kind.Value
	return nil
}
