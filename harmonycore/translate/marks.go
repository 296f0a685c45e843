package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"math"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Past is what came before the end of a conversation that is read alone.
type Past struct {
	// Follows says what of it stands before that end. To [Head.Follow] that is nothing: its request has it.
	openai.Follows
	// Left is how many more ids of messages as the model has written them may be read.
	Left int
	// Counts are those of its elements.
	openai.Counts
}

// Mark is a place in a conversation at which it may be continued: what follows is read as if nothing came before it but
// the [Past]. It is behind the leading instructions, behind a user's message or behind a result.
type Mark struct {
	// Element is the index of the last element before it, or -1, and Messages how many messages those before it are.
	Element, Messages int
	// Left is that of the [Past]. Until is when the first of the sealed texts before it expires, in Unix seconds, or 0.
	Left  int
	Until int64
	// counts is the index of what was counted before it, or -1.
	counts int
}

// marks are the places of one request.
type marks struct {
	wanted  bool
	entries int
	list    []Mark
	expires int64
	// counted are the elements in which something was counted that is not in the request yet, and counts what was counted
	// before marks.
	counted []openai.Counted
	counts  []openai.Counts
}

// beginMarks begins to note places, and to count what the reader has counted.
func (r *Request) beginMarks(entries int, counted []openai.Counted) {
	r.marks = marks{wanted: r.env.Marks, entries: entries, counted: counted}
	r.Counts = openai.Counts{}
	if past := r.env.Past; past != nil {
		r.Counts = past.Counts
	}
}

// mark notes a place behind an element.
func (r *Request) mark(element int, b *builder) {
	r.countTo(element)
	m := &r.marks
	if !m.wanted {
		return
	}
	at := len(m.counts) - 1
	if at < 0 && r.Counts != (openai.Counts{}) || at >= 0 && m.counts[at] != r.Counts {
		m.counts, at = append(m.counts, r.Counts), at+1
	}
	m.list = append(m.list, Mark{element, len(b.messages), b.writing.left, m.expires, at})
}

// markBorder notes a place behind an item, and one behind each update that follows it directly: updates add nothing.
func (r *Request) markBorder(element int, b *builder) {
	r.mark(element, b)
	for ; len(r.updates) > 0 && r.updates[0] <= element+1; r.updates = r.updates[1:] {
		if r.updates[0] == element+1 {
			element++
			r.mark(element, b)
		}
	}
}

// countTo counts what the reader has counted up to an element.
func (r *Request) countTo(element int) {
	for m := &r.marks; len(m.counted) > 0 && m.counted[0].Element <= element; m.counted = m.counted[1:] {
		r.Counts.Add(&m.counted[0].Counts)
	}
}

// countAll counts the rest, and what was counted beside the elements.
func (r *Request) countAll() {
	r.countTo(math.MaxInt)
	r.Counts.Add(&r.beside)
}

// CountsAt returns what was counted up to a mark.
func (r *Request) CountsAt(m *Mark) openai.Counts {
	if m.counts < 0 || m.counts >= len(r.marks.counts) {
		return openai.Counts{}
	}
	return r.marks.counts[m.counts]
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
	if past.Joins && first > 0 {
		return 0, openai.Invalid("", "The instructions go on.")
	}
	b.writing.left = past.Left
	return 0, nil
}

// takeLasting takes over what counts for the whole conversation. To one that follows another one, it must not change
// what came before it.
func (r *Request) takeLasting(in *openai.ResponsesRequest) {
	r.lasting, r.front, r.turned, r.updates = in.Lasting, in.Front, in.Turned, in.Updates
	if past := r.env.Past; past != nil {
		r.changes = in.Turned > 0 || in.Front > 0
	}
}

// Lasting returns the elements that the reader of what follows them must see, in their order. The first front of them
// stand in front.
func (r *Request) Lasting() (all []openai.Lasting, front int) { return r.lasting, r.front }

// Turned returns how many elements there are up to the last one that changes what stands before it in the prompt. What
// comes before that one cannot be continued.
func (r *Request) Turned() int { return r.turned }

// Changes reports whether the end of a conversation, which is read alone, changes what came before it, or may do so.
func (r *Request) Changes() bool { return r.changes }

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
	h.request.env, h.request.lasting, h.request.updates = Env{}, nil, nil
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
		if err := r.readEnd(m, in.Entries, &in.Dropped, in.Counted); err != nil {
			return nil, err
		}
		first := 0
		for first < len(in.Messages) && isInstructions(in.Messages[first].Role) {
			first++
		}
		err = b.chatMessages(in.Messages, first, &r)
		return &r, err
	}
	if r.API == MessagesAPI {
		err := r.followMessages(body, m, &b)
		return &r, err
	}
	body.Follow(&openai.Follows{Joins: env.Past.Joins})
	in, err := openai.DecodeResponsesRequest(body)
	if err != nil {
		return nil, err
	}
	if err := r.readEnd(m, in.Entries, &in.Dropped, in.Counted); err != nil {
		return nil, err
	}
	r.changes, r.updates = len(in.Lasting) > 0, in.Updates
	err = b.items(in.Input, leadingInstructions(in.Input), &r, nil)
	return &r, err
}

// followMessages is [Head.Follow] of a request to Messages.
func (r *Request) followMessages(body *openai.Body, m *contract.Model, b *builder) (err *openai.Error) {
	t := messagesRequest{in: openai.NewItemsRequest(r.Model, body.Values, false), sealing: &r.env.Sealing}
	t.follow(&openai.Follows{Joins: r.env.Past.Joins})
	if t.Request, err = anthropic.DecodeRequest(body); err != nil {
		return err
	}
	if err = t.readMessages(); err != nil {
		return err
	}
	in := t.in
	if err = r.readEnd(m, in.Entries, &in.Dropped, in.Counted); err != nil {
		return err
	}
	r.changes = t.refers || t.EffortChanged
	return b.items(in.Input, leadingInstructions(in.Input), r, nil)
}

// leadingInstructions returns how many instructions an input begins with.
func leadingInstructions(input []openai.InputItem) (n int) {
	for n < len(input) && input[n].Kind == openai.ItemMessage && isInstructions(input[n].Role) {
		n++
	}
	return n
}
