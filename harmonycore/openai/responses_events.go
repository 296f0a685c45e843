package openai

import "github.com/harmonyedge/harmonyedge/harmonycore/jsontext"

// ResponsesEvents writes the events of a streamed response and numbers them. Each call appends whole events, name
// and data line and the empty line behind them. The order in which it is called is the caller's to keep.
type ResponsesEvents struct{ sequence int64 }

// open begins an event: its name, and the members that all events have.
func (w *ResponsesEvents) open(dst []byte, name string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, name...)
	dst = append(dst, `","sequence_number":`...)
	dst = jsontext.AppendInt(dst, w.sequence)
	w.sequence++
	return dst
}

const eventEnd = "}\n\n"

// AppendResponse appends an event of the response as a whole: created, in_progress, completed, incomplete, failed.
func (w *ResponsesEvents) AppendResponse(dst []byte, name string, r *Response) []byte {
	dst = w.open(dst, name)
	dst = append(dst, `,"response":`...)
	return append(r.AppendJSON(dst), eventEnd...)
}

// AppendItemOpened appends the events with which an item begins.
func (w *ResponsesEvents) AppendItemOpened(dst []byte, index int, o *OutputItem) []byte {
	dst = w.open(dst, "response.output_item.added")
	dst = appendCount(dst, `,"output_index":`, index)
	dst = o.append(append(dst, `,"item":`...), false)
	dst = append(dst, eventEnd...)
	if o.isCall() || o.Hidden {
		return dst
	}
	dst = w.openPart(dst, "response.content_part.added", index, o)
	dst = o.appendPart(append(dst, `,"part":`...), nil)
	return append(dst, eventEnd...)
}

// AppendDelta appends a piece of an item's text.
func (w *ResponsesEvents) AppendDelta(dst []byte, index int, o *OutputItem, text []byte) []byte {
	switch o.Kind {
	case OutputCall:
		dst = w.openItem(dst, "response.function_call_arguments.delta", index, o)
	case OutputCustomCall:
		dst = w.openItem(dst, "response.custom_tool_call_input.delta", index, o)
	case OutputReasoning:
		dst = w.openPart(dst, "response.reasoning_text.delta", index, o)
	default:
		dst = w.openPart(dst, "response.output_text.delta", index, o)
	}
	dst = append(dst, `,"delta":"`...)
	dst = append(jsontext.AppendEscaped(dst, string(text)), '"')
	if o.Kind == OutputMessage {
		dst = append(dst, `,"logprobs":[]`...)
	}
	return append(dst, eventEnd...)
}

// AppendItemClosed appends the events with which an item ends.
func (w *ResponsesEvents) AppendItemClosed(dst []byte, index int, o *OutputItem) []byte {
	switch {
	case o.Hidden:
	case o.Kind == OutputCall:
		dst = w.openItem(dst, "response.function_call_arguments.done", index, o)
		dst = appendEscapedString(append(dst, o.textMember()...), o.Text)
		dst = appendMember(dst, `,"name":`, o.Name)
		dst = append(dst, eventEnd...)
	case o.Kind == OutputCustomCall:
		dst = w.openItem(dst, "response.custom_tool_call_input.done", index, o)
		dst = appendEscapedString(append(dst, o.textMember()...), o.Text)
		dst = append(dst, eventEnd...)
	case o.Kind == OutputReasoning:
		dst = w.openPart(dst, "response.reasoning_text.done", index, o)
		dst = appendEscapedString(append(dst, `,"text":`...), o.Text)
		dst = append(dst, eventEnd...)
	default:
		dst = w.openPart(dst, "response.output_text.done", index, o)
		dst = append(dst, `,"logprobs":[]`...)
		dst = appendEscapedString(append(dst, `,"text":`...), o.Text)
		dst = append(dst, eventEnd...)
	}
	if !o.isCall() && !o.Hidden {
		dst = w.openPart(dst, "response.content_part.done", index, o)
		dst = o.appendPart(append(dst, `,"part":`...), o.Text)
		dst = append(dst, eventEnd...)
	}
	dst = w.open(dst, "response.output_item.done")
	dst = appendCount(dst, `,"output_index":`, index)
	dst = o.AppendJSON(append(dst, `,"item":`...))
	return append(dst, eventEnd...)
}

func (w *ResponsesEvents) openItem(dst []byte, name string, index int, o *OutputItem) []byte {
	dst = w.open(dst, name)
	dst = appendMember(dst, `,"item_id":`, o.ID)
	return appendCount(dst, `,"output_index":`, index)
}

func (w *ResponsesEvents) openPart(dst []byte, name string, index int, o *OutputItem) []byte {
	dst = w.openItem(dst, name, index, o)
	return append(dst, `,"content_index":0`...)
}
