package anthropic

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Events writes the events of a streamed message. Each call appends a whole event: the name, the data line and an empty
// line. The caller must call the methods in the API's order. One block is open at a time.
type Events struct {
	// blocks is the number of blocks that have been closed.
	blocks int
	// piece is what the deltas of the open block have before their piece.
	piece []byte
}

const eventEnd = "}\n\n"

// appendName appends an event up to the members that it alone has.
func appendName(dst []byte, name string) []byte {
	dst = append(append(append(dst, "event: "...), name...), "\ndata: {\"type\":\""...)
	return append(append(dst, name...), '"')
}

// appendIndex appends an event of a block up to the members that it alone has.
func (w *Events) appendIndex(dst []byte, name string) []byte {
	return appendCount(appendName(dst, name), `,"index":`, w.blocks)
}

// AppendStart appends the first event. It has the message as it is when it begins.
func (w *Events) AppendStart(dst []byte, m *Message) []byte {
	dst = append(appendName(dst, "message_start"), `,"message":`...)
	return append(m.AppendJSON(dst), eventEnd...)
}

// AppendBlockOpened appends the event with which a block begins that has deltas.
func (w *Events) AppendBlockOpened(dst []byte, b *OutputBlock) []byte {
	form := &blockForms[b.Kind]
	dst = append(append(w.appendIndex(dst, "content_block_start"), `,"content_block":`...), form.open...)
	switch b.Kind {
	case OutputToolUse, OutputServerUse, OutputMCPUse:
		dst = b.appendCall(dst)
	}
	w.piece = append(append(w.appendIndex(w.piece[:0], "content_block_delta"), `,"delta":`...), form.delta...)
	return append(append(dst, form.rest...), eventEnd...)
}

// AppendDelta appends a piece of the open block's text or arguments.
func (w *Events) AppendDelta(dst, piece []byte) []byte {
	dst = rawjson.AppendEscaped(append(dst, w.piece...), rawjson.View(piece))
	return append(dst, `"}`+eventEnd...)
}

// AppendSignature appends the signature of the open block as its last delta.
func (w *Events) AppendSignature(dst []byte, b *OutputBlock) []byte {
	dst = w.appendIndex(dst, "content_block_delta")
	dst = append(append(dst, `,"delta":{"type":"signature_delta","signature":`...), b.Sealed...)
	return append(dst, "}"+eventEnd...)
}

// AppendCited appends a citation of the open text, as [AppendCitation] writes it.
func (w *Events) AppendCited(dst, citation []byte) []byte {
	dst = append(w.appendIndex(dst, "content_block_delta"), `,"delta":{"type":"citations_delta","citation":`...)
	return append(append(dst, citation...), "}"+eventEnd...)
}

// AppendBlockClosed appends the event with which the open block ends.
func (w *Events) AppendBlockClosed(dst []byte) []byte {
	dst = append(w.appendIndex(dst, "content_block_stop"), eventEnd...)
	w.blocks++
	return dst
}

// AppendWholeBlock appends the events of a block without deltas.
func (w *Events) AppendWholeBlock(dst []byte, b *OutputBlock) []byte {
	dst = append(w.appendIndex(dst, "content_block_start"), `,"content_block":`...)
	return w.AppendBlockClosed(append(AppendOutput(dst, b), eventEnd...))
}

// AppendEnd appends the last two events, which say how the message has ended.
func (w *Events) AppendEnd(dst []byte, m *Message) []byte {
	dst = m.appendStop(append(appendName(dst, "message_delta"), `,"delta":{`...))
	dst = m.Usage.append(append(dst, `},"usage":`...))
	return append(appendName(append(dst, eventEnd...), "message_stop"), eventEnd...)
}

// AppendFailure appends the last event of a stream that failed. A block may still be open: what it has is not whole.
func (w *Events) AppendFailure(dst []byte, e *openai.Error) []byte {
	dst = append(dst, "event: error\ndata: "...)
	return append(AppendError(dst, e, ""), "\n\n"...)
}

// AppendPing appends an event that says nothing.
func AppendPing(dst []byte) []byte { return append(appendName(dst, "ping"), eventEnd...) }
