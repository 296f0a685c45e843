package exchange

import (
	"bytes"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// callReader makes messages of the calls that a server sends in pieces. A call ends where the next begins, so its pieces
// must come in one run: a message cannot be continued once another was opened.
type callReader struct {
	sink    *conversationSink
	request *translate.Request
	// reading reports whether a call is being read, and named whether its message is open.
	reading, named bool
	// index and id are those of the call. seen are the indices of all calls so far.
	index int
	id    []byte
	seen  []int
	// held are arguments that wait: for the name, or for the end if they hold the input of a custom tool.
	held  []byte
	waits bool
}

// maxHeldArguments is how many bytes of arguments are held of one call.
const maxHeldArguments = 8 << 20

// maxFunctionName is the maximum length of the name in a call, in bytes. No function can be declared with a longer one.
const maxFunctionName = 256

func (r *callReader) take(piece *backend.CallPiece) *openai.Error {
	if r.isNext(piece) {
		if failure := r.begin(piece); failure != nil {
			return failure
		}
	}
	if !r.named && len(piece.Name) > 0 {
		if len(piece.Name) > maxFunctionName {
			return errNotUnderstood()
		}
		r.open(piece.Name)
	}
	if len(piece.Arguments) == 0 {
		return nil
	}
	if r.named && !r.waits {
		r.sink.add(piece.Arguments)
		return nil
	}
	if len(r.held)+len(piece.Arguments) > maxHeldArguments {
		return errNotUnderstood()
	}
	r.held = append(r.held, piece.Arguments...)
	return nil
}

// isNext reports whether a piece begins a call. Some servers repeat the id in each piece of a call, and some give all
// calls one index but different ids.
func (r *callReader) isNext(piece *backend.CallPiece) bool {
	switch {
	case !r.reading || r.sink.source != fromCalls:
		return true
	case piece.Index != r.index:
		return true
	case len(piece.ID) > 0 && len(r.id) > 0:
		return !bytes.Equal(piece.ID, r.id)
	default:
		return piece.Index < 0 && len(piece.Name) > 0
	}
}

// begin ends the call before, and notes the one that the piece begins. A piece of a call that has ended is an error.
func (r *callReader) begin(piece *backend.CallPiece) *openai.Error {
	repeated := piece.Index >= 0 && slices.Contains(r.seen, piece.Index)
	if repeated && len(piece.ID) == 0 || len(r.seen) > maxMessages {
		return errNotUnderstood()
	}
	if failure := r.missing(); failure != nil {
		return failure
	}
	switch r.sink.source {
	case fromCalls:
		r.close(harmony.EndedByCall)
	case fromReasoning:
		r.sink.end(harmony.EndedByEnd)
	case fromText, fromNothing:
	}
	if !repeated {
		r.seen = append(r.seen, piece.Index)
	}
	r.sink.source = fromCalls
	r.reading, r.named, r.index, r.id = true, false, piece.Index, append(r.id[:0], piece.ID...)
	return nil
}

// open opens the message of the call, and passes on what was held for the name.
func (r *callReader) open(name []byte) {
	r.named, r.waits = true, r.request.TakesText(string(name))
	r.sink.CallID(r.id)
	r.sink.begin(fromCalls, harmony.Header{
		Role: harmony.Assistant, Channel: harmony.Commentary, ContentType: "json",
		Recipient: translate.FunctionPrefix + string(name),
	})
	if !r.waits && len(r.held) > 0 {
		r.sink.add(r.held)
		r.held = r.held[:0]
	}
}

// close ends the call. The input of a custom tool is sent now, if it is whole.
func (r *callReader) close(end harmony.End) {
	if r.named {
		if r.waits {
			r.sink.add(translate.CustomInput(r.held, end == harmony.Cut))
		}
		r.sink.end(end)
	}
	r.reading, r.waits, r.held = false, false, r.held[:0]
	r.sink.source = fromNothing
}

// missing returns an error if the call that is being read has no name.
func (r *callReader) missing() *openai.Error {
	if r.reading && !r.named {
		return errNotUnderstood()
	}
	return nil
}
