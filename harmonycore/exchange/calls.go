package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// callReader makes messages of the calls that a server sends in pieces. A call ends where the next begins, so its
// pieces must come in one run: a message cannot be continued once another was opened.
type callReader struct {
	sink    *conversationSink
	request *translate.Request
	// index is that of the open call.
	index int
	// custom reports whether the open call is one of a custom tool, and held are its arguments, which hold the input.
	custom bool
	held   []byte
}

// maxHeldArguments is how many bytes of arguments are held of one call.
const maxHeldArguments = 8 << 20

// maxFunctionName is the maximum length of the name in a call, in bytes. No function can be declared with a longer one.
const maxFunctionName = 256

// take takes a piece of a call of p's answer.
func (r *callReader) take(piece *backend.CallPiece, p *conversationParser) *openai.Error {
	if r.sink.source != fromCalls || piece.Index != r.index {
		if failure := r.begin(piece, p); failure != nil {
			return failure
		}
	}
	switch {
	case len(piece.Arguments) == 0:
	case !r.custom:
		r.sink.Content(piece.Arguments, 0)
	case len(r.held)+len(piece.Arguments) > maxHeldArguments:
		return errNotUnderstood()
	default:
		r.held = append(r.held, piece.Arguments...)
	}
	return nil
}

// begin closes the open message and opens that of a call. Only the first piece of a call has a name. Any other is one
// of a call that has ended.
func (r *callReader) begin(piece *backend.CallPiece, p *conversationParser) *openai.Error {
	if len(piece.Name) == 0 || len(piece.Name) > maxFunctionName {
		return errNotUnderstood()
	}
	p.closeOpen()
	name := string(piece.Name)
	r.index, r.custom = piece.Index, r.request.TakesText(name)
	r.sink.CallID(piece.ID)
	r.sink.begin(fromCalls, harmony.Header{
		Role: harmony.Assistant, Channel: harmony.Commentary, ContentType: "json", Recipient: translate.FunctionPrefix + name,
	})
	return nil
}

// close ends the call. The input of a custom tool is sent now, if it is whole.
func (r *callReader) close(end harmony.End) {
	if r.custom {
		r.sink.Content(translate.CustomInput(r.held, end == harmony.Cut), 0)
		r.custom, r.held = false, r.held[:0]
	}
	r.sink.Close(end)
}
