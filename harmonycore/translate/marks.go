package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Past is what came before the end of a conversation that is read alone.
type Past struct {
	// Leading reports whether that was nothing but instructions, which more of them would join.
	Leading bool
	// Left is how many more ids of messages as the model has written them may be read.
	Left int
}

// Mark is a place in a conversation at which it may be continued: what follows is read as if nothing came before it but
// the [Past]. It is behind the leading instructions, behind a user's message or behind a result.
type Mark struct {
	// Element is the index of the last element before it, or -1, and Messages how many messages those before it are.
	Element, Messages int
	// Left is that of the [Past]. Until is when the first of the sealed texts before it expires, in Unix seconds, or 0.
	Left  int
	Until int64
}

// marks are the places of one request.
type marks struct {
	wanted  bool
	entries int
	list    []Mark
	expires int64
}

func (m *marks) add(element int, b *builder) {
	if m.wanted {
		m.list = append(m.list, Mark{element, len(b.messages), b.writing.left, m.expires})
	}
}

// until notes that a text was opened that cannot be opened from this time on.
func (m *marks) until(at int64) {
	if m.expires == 0 || at < m.expires {
		m.expires = at
	}
}

// Marks returns the places at which the conversation may be continued, the first of them behind its head.
func (r *Request) Marks() []Mark { return r.marks.list }

// Entries returns how many messages, calls and parts the conversation has, as [openai.MaxEntries] counts them.
func (r *Request) Entries() int { return r.marks.entries }

// follow makes the conversation one that follows the [Past], if there is one. first is how many instructions it begins
// with. A result of an earlier call, or instructions that would join those at the beginning, are errors that no client
// sees: the conversation is read as a whole then.
func (r *Request) follow(b *builder, first int) (int, *openai.Error) {
	past := r.env.Past
	if past == nil {
		return first, nil
	}
	if past.Leading && first > 0 {
		return 0, openai.Invalid("", "The instructions go on.")
	}
	b.writing.left = past.Left
	return 0, nil
}

// declaresIn notes whether tools are declared behind the beginning of the input. To a conversation that follows another
// one, all of them are.
func (r *Request) declaresIn(in *openai.ResponsesRequest) {
	r.laterTools = in.LaterTools || r.env.Past != nil && in.Leading > 0
}

// LeadingTools returns the length of the tools that the input begins with, in bytes of JSON, or -1 if it does not begin
// with tools. What is kept of a request without its conversation has them ([Request.Head]).
func (r *Request) LeadingTools() int {
	if r.leading == 0 {
		return -1
	}
	return r.leadingBytes
}

// Head is a request without its conversation. It never changes.
type Head struct{ request Request }

// Head returns what of the request may be kept for others that differ from it in the conversation alone, or nil: the
// schemas of what an answer must be can take many times the memory of the request. It is to be called before anything is
// done with the request.
func (r *Request) Head() *Head {
	if !r.Constraint.Free() && !r.Constraint.Loose || !r.Continues() {
		return nil
	}
	h := &Head{*r}
	h.request.Conversation, h.request.marks = harmony.Conversation{}, marks{}
	h.request.env = Env{}
	return h
}

// Follow reads the conversation of a body that has nothing else. It follows the [Past].
func (h *Head) Follow(body *openai.Body, m *contract.Model, env Env) (*Request, *openai.Error) {
	r := h.request
	r.env = env
	b := newBuilder(m, &env)
	b.builtIns = r.builtIns
	if r.API == ChatAPI {
		in, err := openai.DecodeChatRequest(body)
		if err != nil {
			return nil, err
		}
		if err := r.readEnd(m, in.Entries, &in.Dropped); err != nil {
			return nil, err
		}
		first := 0
		for first < len(in.Messages) && isInstructions(in.Messages[first].Role) {
			first++
		}
		err = b.chatMessages(in.Messages, first, &r)
		return &r, err
	}
	in, err := openai.DecodeResponsesRequest(body)
	if err != nil {
		return nil, err
	}
	if err := r.readEnd(m, in.Entries, &in.Dropped); err != nil {
		return nil, err
	}
	r.Ignored, r.updated = in.Ignored, in.Updated
	r.declaresIn(in)
	err = b.items(in.Input, leadingInstructions(in.Input), &r, nil)
	return &r, err
}

// leadingInstructions returns how many instructions an input begins with.
func leadingInstructions(input []openai.InputItem) (n int) {
	for n < len(input) && input[n].Kind == openai.ItemMessage && isInstructions(input[n].Role) {
		n++
	}
	return n
}
