package anthropic

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// BlockKind is the kind of a block of a message.
type BlockKind uint8

// The values of [BlockKind].
const (
	BlockText BlockKind = iota + 1
)

// Block is one block of a message. A content that is a string is one block of text.
type Block struct {
	Kind BlockKind
	// Role is the role of the message.
	Role string
	// Message is the index of the message, and Index that of the block in it.
	Message, Index int
	// Text is the text of a [BlockText].
	Text string
}

// message holds the members of a message.
type message struct{ role, content rawjson.Part }

// EachBlock calls f for the blocks of all messages, in their order. A block is valid only during the call. Its long
// texts lie in the body, which EachBlock overwrites: it can be called once.
func (r *Request) EachBlock(f func(b *Block) *openai.Error) *openai.Error {
	if r.messages.Kind != rawjson.Array {
		return wrongType(top("messages"), "a valid array")
	}
	var b Block
	list := r.messages.Items()
	for ; list.Next(); b.Message++ {
		v := list.Part()
		if err := b.readMessage(&v, f); err != nil {
			return err
		}
	}
	if b.Message == 0 {
		return invalid(top("messages"), "at least one message is required")
	}
	return nil
}

func (b *Block) readMessage(v *rawjson.Part, f func(b *Block) *openai.Error) *openai.Error {
	at := inMessage(b.Message)
	if v.Kind != rawjson.Object {
		return wrongType(at, "a valid object")
	}
	var m message
	members := v.Items()
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "role":
			m.role = members.Part()
		case "content":
			m.content = members.Part()
		}
	}
	if err := text(&m.role, at.in("role"), &b.Role); err != nil {
		return err
	}
	switch b.Role {
	case openai.RoleUser, openai.RoleAssistant, openai.RoleSystem:
	default:
		return invalid(at.in("role"), "Input should be 'user', 'assistant' or 'system'")
	}
	*b = Block{Kind: BlockText, Role: b.Role, Message: b.Message}
	if err := borrow(&m.content, at.in("content"), &b.Text); err != nil {
		return err
	}
	return f(b)
}
