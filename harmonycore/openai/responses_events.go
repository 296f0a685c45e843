package openai

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// ResponsesEvents writes the events of a streamed response and numbers them. Each call appends whole events: the name,
// the data line and an empty line. The caller must call the methods in the API's order.
type ResponsesEvents struct {
	sequence int64
	// name and place are what the deltas of the item opened last have before their number and after it.
	name, place []byte
}

// open begins an event. It writes the name, which comes in two pieces, and the members that all events have.
func (w *ResponsesEvents) open(dst []byte, name, suffix string) []byte {
	return w.number(appendEventName(dst, name, suffix))
}

// appendEventName begins an event, up to its number.
func appendEventName(dst []byte, name, suffix string) []byte {
	dst = append(dst, "event: "...)
	dst = append(append(dst, name...), suffix...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(append(dst, name...), suffix...)
	return append(dst, `","sequence_number":`...)
}

// number appends the number of an event.
func (w *ResponsesEvents) number(dst []byte) []byte {
	dst = rawjson.AppendInt(dst, w.sequence)
	w.sequence++
	return dst
}

const eventEnd = "}\n\n"

// The suffixes of events that come in pairs.
const (
	added = ".added"
	done  = ".done"

	deltaSuffix = ".delta"
)

// AppendResponse appends an event about the whole response: created, in_progress, completed, incomplete or failed.
func (w *ResponsesEvents) AppendResponse(dst []byte, name string, r *Response) []byte {
	dst = w.open(dst, name, "")
	dst = append(dst, `,"response":`...)
	return append(r.AppendJSON(dst), eventEnd...)
}

// AppendError appends the event that goes before response.failed, and says the same. It has the members of OpenAI's
// event, and the error once more as an object: clients that read no response.failed raise the object
// (RATIONALE.md#200).
func (w *ResponsesEvents) AppendError(dst []byte, e *Error) []byte {
	dst = appendStringOrNull(append(w.open(dst, "error", ""), `,"code":`...), e.Code)
	dst = rawjson.AppendString(append(dst, `,"message":`...), e.Message)
	dst = appendStringOrNull(append(dst, `,"param":`...), e.Param)
	return append(e.appendMembers(append(dst, ',')), eventEnd...)
}

// AppendItemOpened appends the events with which an item begins.
func (w *ResponsesEvents) AppendItemOpened(dst []byte, index int, o *OutputItem) []byte {
	dst = w.open(dst, "response.output_item", added)
	dst = appendCount(dst, `,"output_index":`, index)
	dst = o.append(append(dst, `,"item":`...), false)
	dst = append(dst, eventEnd...)
	w.name = appendEventName(w.name[:0], o.shape().text, deltaSuffix)
	w.place = append(appendPlace(w.place[:0], index, o), `,"delta":"`...)
	if o.shape().part == "" || o.Hidden {
		return dst
	}
	dst = w.openInside(dst, o.shape().part, added, index, o)
	dst = o.appendPart(append(dst, `,"part":`...), nil)
	return append(dst, eventEnd...)
}

// AppendDelta appends a piece of the text of o, the item opened last. The piece is escaped, as [rawjson.AppendEscaped]
// writes it. logprobs are for its tokens, as [AppendLogprob] writes them.
func (w *ResponsesEvents) AppendDelta(dst []byte, o *OutputItem, piece, logprobs []byte) []byte {
	dst = w.number(append(dst, w.name...))
	dst = append(append(append(dst, w.place...), piece...), '"')
	if o.Kind == OutputMessage {
		dst = append(appendWithoutBytes(append(dst, `,"logprobs":[`...), logprobs), ']')
	}
	return append(dst, eventEnd...)
}

// AppendItemClosed appends the events with which an item ends.
func (w *ResponsesEvents) AppendItemClosed(dst []byte, index int, o *OutputItem) []byte {
	if !o.Hidden && o.shape().text != "" {
		dst = w.appendTextDone(dst, index, o)
	}
	dst = w.open(dst, "response.output_item", done)
	dst = appendCount(dst, `,"output_index":`, index)
	dst = o.AppendJSON(append(dst, `,"item":`...))
	return append(dst, eventEnd...)
}

func (w *ResponsesEvents) appendTextDone(dst []byte, index int, o *OutputItem) []byte {
	shape := o.shape()
	dst = w.openInside(dst, shape.text, done, index, o)
	if o.Kind == OutputMessage {
		dst = append(appendWithoutBytes(append(dst, `,"logprobs":[`...), o.Logprobs), ']')
	}
	dst = appendEscapedString(append(dst, shape.member...), o.Text)
	if o.Kind == OutputCall {
		dst = appendMember(dst, `,"name":`, o.Name)
	}
	dst = append(dst, eventEnd...)
	if shape.part == "" {
		return dst
	}
	dst = w.openInside(dst, shape.part, done, index, o)
	dst = o.appendPart(append(dst, `,"part":`...), o.Text)
	return append(dst, eventEnd...)
}

// openInside begins an event about the text of an item, or about the part that holds the text.
func (w *ResponsesEvents) openInside(dst []byte, name, suffix string, index int, o *OutputItem) []byte {
	return appendPlace(w.open(dst, name, suffix), index, o)
}

// appendPlace appends the members that say which text an event is about.
func appendPlace(dst []byte, index int, o *OutputItem) []byte {
	dst = appendMember(dst, `,"item_id":`, o.ID)
	dst = appendCount(dst, `,"output_index":`, index)
	return append(dst, o.shape().index...)
}
