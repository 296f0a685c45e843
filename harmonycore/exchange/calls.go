package exchange

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// callReader makes messages of the calls that a server sends in pieces. A message cannot be continued once another was
// opened, so a call's message stays open until its arguments are whole JSON or the choice has ended. Text for
// other messages until then is held, in the order in which it came. A call without arguments so far is held too, and
// text and reasoning do not wait for it.
type callReader struct {
	sink    *conversationSink
	request *translate.Request
	// index is the open call's, and whole reports whether its arguments are whole JSON.
	index int
	whole bool
	// custom reports whether the open call is one of a custom tool, and input are its arguments, which hold the input.
	custom bool
	input  []byte
	// held are parts that wait, and heldBytes is their length.
	held      []heldPart
	heldBytes int
}

// heldPart is a part of an answer that waits for the end of the open call.
type heldPart struct {
	source messageSource
	// text is the reasoning, the text, or the arguments of the call.
	text []byte
	// The other fields are a call's: its index, its id and its name, and whether its arguments are whole JSON.
	index    int
	id, name string
	whole    bool
}

// maxHeldArguments is how many bytes of one choice are held, and how many of a custom tool's arguments.
const maxHeldArguments = 8 << 20

// maxFunctionName is the maximum length of the name in a call, in bytes. No function can be declared with a longer one.
const maxFunctionName = 256

// take takes a piece of a call of p's answer.
func (r *callReader) take(piece *backend.CallPiece, p *conversationParser) *openai.Error {
	if r.sink.source == fromCalls && piece.Index == r.index {
		r.whole = r.whole || piece.Whole
		if failure := r.write(piece.Arguments); failure != nil {
			return failure
		}
		r.release(p)
		return nil
	}
	at := r.find(piece.Index)
	if at < 0 && len(piece.Name) == 0 && len(bytes.TrimSpace(piece.Arguments)) == 0 {
		return nil // white space after a call that is whole
	}
	if at < 0 {
		if len(piece.Name) == 0 || len(piece.Name) > maxFunctionName || len(r.held) >= maxMessages {
			return errNotUnderstood()
		}
		at = len(r.held)
		r.held = append(r.held, heldPart{
			source: fromCalls, index: piece.Index, id: string(piece.ID), name: string(piece.Name),
		})
		r.heldBytes += len(piece.ID) + len(piece.Name)
	}
	part := &r.held[at]
	part.whole = part.whole || piece.Whole
	if failure := r.keep(part, piece.Arguments); failure != nil {
		return failure
	}
	r.release(p)
	return nil
}

// find returns the place of the held call with this index, or -1 if there is none.
func (r *callReader) find(index int) int {
	for i := range r.held {
		if r.held[i].source == fromCalls && r.held[i].index == index {
			return i
		}
	}
	return -1
}

// keep adds text to a held part.
func (r *callReader) keep(part *heldPart, text []byte) *openai.Error {
	if r.heldBytes += len(text); r.heldBytes > maxHeldArguments {
		return errNotUnderstood()
	}
	part.text = append(part.text, text...)
	return nil
}

// holds reports whether text and reasoning have to wait: a call is open, and its arguments are not whole.
func (r *callReader) holds() bool { return r.sink.source == fromCalls && !r.whole }

// holdText holds text or reasoning.
func (r *callReader) holdText(source messageSource, text []byte) *openai.Error {
	if n := len(r.held); n == 0 || r.held[n-1].source != source {
		if n >= maxMessages {
			return errTooManyMessages()
		}
		r.held = append(r.held, heldPart{source: source})
	}
	return r.keep(&r.held[len(r.held)-1], text)
}

// release passes on what need not wait any longer.
func (r *callReader) release(p *conversationParser) {
	for !r.holds() && p.sink.opened <= maxMessages {
		at := r.next()
		if at < 0 {
			return
		}
		r.pass(at, p)
	}
}

// next returns the place of the held part that comes next, or -1 if it has to wait for its arguments.
func (r *callReader) next() int {
	for i := range r.held {
		part := &r.held[i]
		switch {
		case part.source != fromCalls:
			return i // text and reasoning overtake calls without arguments
		case i == 0 && len(part.text) > 0:
			return i
		}
	}
	return -1
}

// pass passes on a held part.
func (r *callReader) pass(at int, p *conversationParser) {
	part := r.held[at]
	r.held = append(r.held[:at], r.held[at+1:]...)
	if len(r.held) == 0 {
		r.held = nil
	}
	r.heldBytes -= len(part.text) + len(part.id) + len(part.name)
	switch part.source {
	case fromCalls:
		p.closeOpen()
		r.open(&part)
	case fromReasoning:
		p.reasoning(part.text)
	case fromText:
		for text := part.text; len(text) > 0 && p.sink.opened <= maxMessages; {
			n := pieceOf(text)
			p.text(text[:n])
			text = text[n:]
		}
	case fromNothing:
	}
}

// open opens the message of a call and writes its arguments so far.
func (r *callReader) open(part *heldPart) {
	name := r.request.CalledName(part.name)
	r.index, r.whole, r.custom = part.index, part.whole, r.request.TakesText(name)
	r.sink.CallID([]byte(part.id))
	r.sink.begin(fromCalls, harmony.Header{
		Role: harmony.Assistant, Channel: harmony.Commentary, ContentType: "json", Recipient: translate.FunctionPrefix + name,
	})
	if r.custom {
		r.input = append(r.input, part.text...)
		return
	}
	if len(part.text) > 0 {
		r.sink.Content(part.text, 0)
	}
}

// write writes arguments of the open call.
func (r *callReader) write(arguments []byte) *openai.Error {
	switch {
	case len(arguments) == 0:
	case !r.custom:
		r.sink.Content(arguments, 0)
	case len(r.input)+len(arguments) > maxHeldArguments:
		return errNotUnderstood()
	default:
		r.input = append(r.input, arguments...)
	}
	return nil
}

// flush passes on all that is held, at the end of the choice. ended reports whether the model has ended the choice by
// itself. Otherwise a call that is not whole is the last message, and calls that are not even open are left out if they
// are not whole.
func (r *callReader) flush(p *conversationParser, ended bool) {
	if !ended && r.holds() {
		r.held, r.heldBytes = nil, 0
	}
	for len(r.held) > 0 && p.sink.opened <= maxMessages {
		if part := &r.held[0]; !ended && part.source == fromCalls && !part.whole && len(r.held) > 1 {
			r.held = r.held[1:]
			continue
		}
		r.pass(0, p)
	}
	r.held, r.heldBytes = nil, 0
}

// close ends the call. The input of a custom tool is sent now, if it is whole.
func (r *callReader) close(end harmony.End) {
	if r.custom {
		r.sink.Content(translate.CustomInput(r.input, end == harmony.Cut), 0)
		r.custom, r.input = false, r.input[:0]
	}
	r.sink.Close(end)
}
