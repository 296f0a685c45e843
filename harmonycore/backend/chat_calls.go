package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// chatCalls are the calls of one choice so far.
type chatCalls struct {
	calls []chatCall
	// heldIndex, heldID and held are of a call whose name has not come yet: its index, its id and its arguments.
	heldIndex    int32
	heldID, held []byte
}

// chatCall is what is kept of a call to find its further pieces. Zero stands for no index, id or name.
type chatCall struct {
	// index is one more than the server's index. also is the other index at which the server has repeated the id.
	index, also int32
	// id and name are hashes.
	id, name uint64
	// chunk is the number of the chunk that named the call last.
	chunk int32
	// complete reports whether the first piece had all of the arguments.
	complete bool
	// arguments are those so far.
	arguments jsonEnd
}

// The bounds of an answer: how many calls it may have, how many pieces of calls one event may have, and how much of a
// call may come before its name, in bytes.
const (
	maxChatCalls  = 256
	maxChatPieces = 1024
	maxHeldCall   = 64 << 10
)

// chatPiece is a piece of a call.
type chatPiece struct {
	// index is one more than the server's index, or 0 if there is none.
	index int32
	// id and name are as the server spells them.
	id, name []byte
	// arguments is a string as the server spells it, or text that is not escaped.
	arguments, text []byte
}

func errNamelessCall() *Error {
	return &Error{Status: 502, Message: "the inference server sent a call without a name"}
}

func errTooManyCalls() *Error {
	return &Error{Status: 502, Message: "the inference server sent too many calls"}
}

// readCalls reads tool_calls: a list, or one call as TGI has sent it.
func (r *chatReader) readCalls(value []byte, kind rawjson.Kind, e *Event) {
	if kind == rawjson.Object {
		r.readPiece(value, e)
		return
	}
	it := rawjson.Elements(value)
	for n := 0; e.Error == nil && it.Next(); n++ {
		e.unique = e.unique || n > 0
		r.readPiece(it.Value, e)
	}
}

func (r *chatReader) readPiece(value []byte, e *Event) {
	var p chatPiece
	p.read(value)
	e.unique = e.unique || len(p.id) > 0 || len(p.name) > 0
	e.pieceIndex = int(p.index)
	r.add(&p, e)
}

// callIndex returns what is kept of a server's index of a call: one more, or 0 for no index.
func callIndex(index int) int32 { return int32(min(max(index, -1), maxCallIndex)) + 1 }

// maxCallIndex is the greatest index of a call that is told from greater ones.
const maxCallIndex = 1 << 30

func (p *chatPiece) read(value []byte) {
	it := rawjson.Members(value)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			p.index = callIndex(readIndex(it.Value, it.Kind))
		case "id":
			if it.Kind == rawjson.String && rawjson.View(it.Value) != "null" { // Mistral's first servers
				p.id = it.Value
			}
		case "function", "custom":
			p.readFunction(it.Value)
		}
	}
}

// readFunction reads the function or the custom tool that a call names, and its arguments or its input.
func (p *chatPiece) readFunction(value []byte) {
	it := rawjson.Members(value)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "name":
			if it.Kind == rawjson.String {
				p.name = it.Value
			}
		case "arguments", "input":
			switch it.Kind {
			case rawjson.Null:
			case rawjson.String:
				p.arguments = it.Value
			default:
				p.text = it.Value // an object that should have been a string
			}
		}
	}
}

// add adds the piece to its call, or begins a call with it.
func (r *chatReader) add(p *chatPiece, e *Event) {
	if e.Index < 0 {
		return
	}
	if len(e.Calls) >= maxChatPieces {
		e.Error = errTooManyCalls()
		return
	}
	for len(r.calls) <= e.Index {
		r.calls = append(r.calls, chatCalls{})
	}
	c := &r.calls[e.Index]
	arguments := p.text
	if len(p.arguments) > 0 {
		arguments = e.keep(p.arguments)
	}
	if at, begins := c.find(p, arguments, r.chunk); !begins {
		call := &c.calls[at]
		if len(arguments) > 0 && !call.repeats(arguments) {
			call.arguments.add(arguments)
			e.Calls = append(e.Calls, CallPiece{Index: at, Arguments: arguments, Whole: call.arguments.ended})
		}
		return
	}
	switch {
	case len(p.name) == 0:
		if !c.hold(p, arguments) {
			e.Error = errNamelessCall()
		}
	case len(c.calls) >= maxChatCalls:
		e.Error = errTooManyCalls()
	default:
		c.begin(p, arguments, r.chunk, e)
	}
}

// begin begins a call.
func (c *chatCalls) begin(p *chatPiece, arguments []byte, chunk int32, e *Event) {
	piece := CallPiece{Index: len(c.calls), ID: e.keep(p.id), Name: e.keep(p.name), Arguments: arguments}
	call := chatCall{index: p.index, id: hashOf(p.id), name: hashOf(p.name), chunk: chunk}
	if c.heldIndex == p.index {
		if len(piece.ID) == 0 {
			piece.ID, call.id = c.heldID, hashOf(c.heldID)
		}
		if len(c.held) > 0 {
			piece.Arguments = append(c.held, arguments...)
		}
		c.heldIndex, c.heldID, c.held = 0, nil, nil
	}
	a := piece.Arguments
	call.complete = len(a) > 0 && a[len(a)-1] == '}' && rawjson.Validate(a, rawjson.MaxDepth) == nil
	call.arguments.add(a)
	piece.Whole = call.arguments.ended
	c.calls = append(c.calls, call)
	e.Calls = append(e.Calls, piece)
}

// repeats reports whether arguments only repeat the call's own, which are whole.
func (c *chatCall) repeats(arguments []byte) bool {
	return c.complete || c.arguments.ended && hashOf(arguments) == c.arguments.hash
}

// hold keeps a piece of a call until its name comes. It reports whether it could.
func (c *chatCalls) hold(p *chatPiece, arguments []byte) bool {
	if len(p.id)+len(arguments) == 0 {
		return true
	}
	if len(c.held) > 0 && c.heldIndex != p.index || len(c.held)+len(arguments)+len(p.id) > maxHeldCall {
		return false
	}
	c.heldIndex = p.index
	c.held = append(c.held, arguments...)
	if len(c.heldID) == 0 {
		c.heldID = rawjson.AppendUnescaped(nil, p.id)
	}
	return true
}

// holds reports whether a choice has arguments whose call has no name.
func (r *chatReader) holds(index int) bool {
	return index >= 0 && index < len(r.calls) && len(r.calls[index].held) > 0
}

// find returns the call that the piece with these arguments belongs to, or reports that it begins another.
//
// Servers number and name calls in many ways. Gemini and Ollama give all calls the index 0, and some give none. MiniMax
// and Fireworks repeat a call's id or name in each of its pieces. LM Studio gives each piece another id. So the name
// decides: a piece without one belongs to the last call with its index. The same id at another index is the same call,
// unless that call is whole and the piece brings other arguments.
func (c *chatCalls) find(p *chatPiece, arguments []byte, chunk int32) (at int, begins bool) {
	id, name := hashOf(p.id), hashOf(p.name)
	at = -1
	if id != 0 {
		if at = c.last(p.index, id); at < 0 {
			at = c.moved(p, arguments)
		}
	}
	sameID := at >= 0
	if at < 0 {
		at = c.last(p.index, 0)
	}
	if at < 0 {
		return 0, true
	}
	call := &c.calls[at]
	if name != 0 {
		if call.name != name || !sameID && (call.complete || call.chunk == chunk || id != 0 && call.id != 0) {
			return at, true
		}
		call.chunk = chunk
	}
	return at, false
}

// last returns the last call with this index and this id, where 0 is any. It returns -1 if there is none.
func (c *chatCalls) last(index int32, id uint64) int {
	for i := len(c.calls) - 1; i >= 0; i-- {
		call := &c.calls[i]
		if (index == 0 || call.index == index || call.also == index) && (id == 0 || call.id == id) {
			return i
		}
	}
	return -1
}

// moved returns the call that goes on with the piece at another index, or -1 if there is none.
func (c *chatCalls) moved(p *chatPiece, arguments []byte) int {
	at := c.last(0, hashOf(p.id))
	if at < 0 {
		return -1
	}
	call := &c.calls[at]
	otherName := len(p.name) > 0 && call.name != hashOf(p.name)
	if otherName || call.arguments.ended && len(arguments) > 0 && hashOf(arguments) != call.arguments.hash {
		return -1
	}
	call.also = p.index
	return at
}

// keep copies a string without its quotes into the event's memory, unescaped.
func (e *Event) keep(raw []byte) []byte {
	from := len(e.memory)
	e.memory = rawjson.AppendUnescaped(e.memory, raw)
	return e.memory[from:len(e.memory):len(e.memory)]
}
