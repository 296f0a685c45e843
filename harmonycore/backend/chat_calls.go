package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// chatCalls are the calls of one choice so far.
type chatCalls []chatCall

// chatCall is what is kept of a call to find its further pieces. Zero stands for no index, id or name.
type chatCall struct {
	// index is one more than the server's index.
	index int
	// id and name are hashes.
	id, name uint64
	// chunk is the number of the chunk with the last piece.
	chunk int
	// complete reports whether the first piece had all of the arguments.
	complete bool
}

// maxChatCalls is how many calls an answer may have.
const maxChatCalls = 256

// chatPiece is a piece of a call as the server spells it. Strings have no quotes.
type chatPiece struct {
	index         int
	id, name      []byte
	arguments     []byte
	argumentsKind rawjson.Kind
}

func (r *chatReader) readCalls(value []byte, kind rawjson.Kind, e *Event) {
	if kind == rawjson.Object {
		r.readCall(value, e)
		return
	}
	it := rawjson.Elements(value)
	for it.Next() {
		if it.Kind == rawjson.Object {
			r.readCall(it.Value, e)
		}
	}
}

// readCall reads one element of tool_calls, or a function_call.
func (r *chatReader) readCall(value []byte, e *Event) {
	var p chatPiece
	p.read(value)
	r.add(&p, e)
}

func (p *chatPiece) read(value []byte) {
	it := rawjson.Members(value)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "index":
			p.index = max(readIndex(it.Value, it.Kind), -1) + 1
		case "id":
			if it.Kind == rawjson.String && rawjson.View(it.Value) != "null" { // Mistral's first servers
				p.id = it.Value
			}
		case "name":
			if it.Kind == rawjson.String {
				p.name = it.Value
			}
		case "arguments":
			if it.Kind != rawjson.Null {
				p.arguments, p.argumentsKind = it.Value, it.Kind
			}
		case "function":
			function := rawjson.Members(it.Value)
			for function.Next() {
				switch rawjson.View(function.Key) {
				case "name":
					if function.Kind == rawjson.String {
						p.name = function.Value
					}
				case "arguments":
					if function.Kind != rawjson.Null {
						p.arguments, p.argumentsKind = function.Value, function.Kind
					}
				}
			}
		}
	}
}

// add adds the piece to its call, or begins a call with it.
func (r *chatReader) add(p *chatPiece, e *Event) {
	if e.Index < 0 {
		return
	}
	for len(r.calls) <= e.Index {
		r.calls = append(r.calls, nil)
	}
	calls := &r.calls[e.Index]
	piece := CallPiece{}
	if p.argumentsKind == rawjson.String {
		piece.Arguments = e.keep(p.arguments)
	} else {
		piece.Arguments = p.arguments // an object that should have been text
	}
	at, begins := calls.find(p, r.chunk)
	if !begins {
		c := &(*calls)[at]
		c.chunk = r.chunk
		if c.complete {
			return // the server repeats the call
		}
		piece.Index = at
		e.Calls = append(e.Calls, piece)
		return
	}
	switch {
	case len(p.name) == 0 && len(piece.Arguments) == 0:
		return // the name is still to come
	case len(p.name) == 0:
		e.Error = &Error{Status: 502, Message: "the inference server sent a call without a name"}
		return
	case len(*calls) >= maxChatCalls:
		e.Error = &Error{Status: 502, Message: "the inference server sent too many calls"}
		return
	}
	piece.Index, piece.ID, piece.Name = len(*calls), e.keep(p.id), e.keep(p.name)
	*calls = append(*calls, chatCall{
		index: p.index, id: hashOf(p.id), name: hashOf(p.name), chunk: r.chunk,
		complete: len(piece.Arguments) > 0 && piece.Arguments[len(piece.Arguments)-1] == '}' &&
			rawjson.Validate(piece.Arguments, rawjson.MaxDepth) == nil,
	})
	e.Calls = append(e.Calls, piece)
}

// find returns the call that the piece belongs to, or reports that it begins another.
//
// Gemini and Ollama give all calls the index 0, and some servers give none. Some repeat a call's id and name in each of
// its pieces, and old vLLMs give each piece another id.
func (c chatCalls) find(p *chatPiece, chunk int) (at int, begins bool) {
	id, name := hashOf(p.id), hashOf(p.name)
	at = -1
	for i := len(c) - 1; i >= 0 && at < 0; i-- {
		if id != 0 && c[i].id == id && (p.index == 0 || c[i].index == p.index) {
			at = i
		}
	}
	same := at >= 0
	for i := len(c) - 1; i >= 0 && at < 0; i-- {
		if p.index == 0 || c[i].index == p.index {
			at = i
		}
	}
	switch {
	case at < 0:
		return 0, true
	case name == 0 || same && c[at].name == name:
		return at, false
	default:
		call := &c[at]
		return at, call.name != name || call.complete || call.chunk == chunk || id != 0 && call.id != 0
	}
}

// hashOf returns the FNV-1a hash of a text, or 0 for no text.
func hashOf(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	hash := uint64(14695981039346656037)
	for _, c := range text {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return max(hash, 1)
}

// keep copies a string without its quotes into the event's memory, unescaped.
func (e *Event) keep(raw []byte) []byte {
	from := len(e.memory)
	e.memory = rawjson.AppendUnescaped(e.memory, raw)
	return e.memory[from:len(e.memory):len(e.memory)]
}
