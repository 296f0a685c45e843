package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// NewResponsesReader returns a reader of the events that a server's own /v1/responses sends. The gateway asks no server
// by that path. It reads such answers only where they pass untouched.
func NewResponsesReader() Reader {
	r := &responsesReader{}
	return &eventStream{read: r.read}
}

// NewWholeResponsesReader returns a reader of a response that is one JSON object. The object is one event.
func NewWholeResponsesReader() Reader {
	r := &responsesReader{}
	return &wholeReader{read: r.readWhole}
}

// responsesReader reads the events of one response that have text, calls or counts.
type responsesReader struct{}

// read reads the data of one event. It reports whether it understood the data.
func (r *responsesReader) read(data []byte, e *Event) bool {
	e.resetConversing()
	if rawjson.View(data) == "[DONE]" { // some servers send Chat's end too
		e.Done = true
		return true
	}
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	name, kind := rawjson.Find(data, "type")
	if kind != rawjson.String {
		value, kind := rawjson.Find(data, "error")
		if kind == 0 || kind == rawjson.Null {
			return false
		}
		e.Error = readErrorValue(value, kind)
		return true
	}
	switch rawjson.View(name) {
	case "response.output_text.delta", "response.refusal.delta":
		e.Text = appendString(e.Text, data, "delta")
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		e.Reasoning = appendString(e.Reasoning, data, "delta")
	case "response.output_item.added":
		item, _ := rawjson.Find(data, "item")
		if call, ok := readResponsesCall(item, e); ok {
			call.Index, call.Arguments = indexOf(data), nil // they come in deltas
			e.Calls = append(e.Calls, call)
		}
	case "response.function_call_arguments.delta":
		delta, kind := rawjson.Find(data, "delta")
		if kind == rawjson.String {
			e.Calls = append(e.Calls, CallPiece{Index: indexOf(data), Arguments: e.keep(delta)})
		}
	case "response.completed", "response.incomplete", "response.failed":
		response, _ := rawjson.Find(data, "response")
		r.readEnd(response, e)
	case "error":
		e.Error = readErrorValue(data, rawjson.Object)
	}
	return true
}

// readWhole reads a whole response. It reports whether it is one.
func (r *responsesReader) readWhole(data []byte, e *Event) bool {
	e.resetConversing()
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	output, kind := rawjson.Find(data, "output")
	if kind != rawjson.Array {
		return false
	}
	it := rawjson.Elements(output)
	for index := 0; it.Next(); index++ {
		name, _ := rawjson.Find(it.Value, "type")
		switch rawjson.View(name) {
		case "message":
			content, _ := rawjson.Find(it.Value, "content")
			e.Text = appendParts(e.Text, content)
		case "reasoning":
			content, _ := rawjson.Find(it.Value, "content")
			e.Reasoning = appendParts(e.Reasoning, content)
		case "function_call":
			if call, ok := readResponsesCall(it.Value, e); ok && len(e.Calls) < maxChatCalls {
				call.Index = index
				e.Calls = append(e.Calls, call)
			}
		}
	}
	r.readEnd(data, e)
	return true
}

// readEnd reads how a response ended, and its usage.
func (r *responsesReader) readEnd(response []byte, e *Event) {
	e.Done = true
	status, _ := rawjson.Find(response, "status")
	switch rawjson.View(status) {
	case "completed":
		e.Finish = Stopped
	case "incomplete":
		e.Finish = Length
		details, _ := rawjson.Find(response, "incomplete_details")
		if reason, _ := rawjson.Find(details, "reason"); rawjson.View(reason) == "content_filter" {
			e.Finish = Filtered
		}
	case "failed":
		e.Finish, e.Error = Aborted, &Error{}
		if value, kind := rawjson.Find(response, "error"); kind != 0 {
			e.Error = readErrorValue(value, kind)
		}
	}
	if usage, kind := rawjson.Find(response, "usage"); kind == rawjson.Object {
		e.HasUsage = true
		readUsage(usage, &e.Usage)
	}
}

// readResponsesCall reads an item that is a call of a function, and reports whether it is one.
func readResponsesCall(item []byte, e *Event) (call CallPiece, ok bool) {
	it := rawjson.Members(item)
	for it.Next() {
		if it.Kind != rawjson.String {
			continue
		}
		switch rawjson.View(it.Key) {
		case "type":
			ok = rawjson.View(it.Value) == "function_call"
		case "call_id":
			call.ID = e.keep(it.Value)
		case "name":
			call.Name = e.keep(it.Value)
		case "arguments":
			call.Arguments = e.keep(it.Value)
		}
	}
	return call, ok && len(call.Name) > 0
}

// indexOf returns the output_index of an event, or -1.
func indexOf(data []byte) int {
	value, kind := rawjson.Find(data, "output_index")
	return readIndex(value, kind)
}

func appendString(dst, data []byte, name string) []byte {
	if value, kind := rawjson.Find(data, name); kind == rawjson.String {
		dst = rawjson.AppendUnescaped(dst, value)
	}
	return dst
}

// appendParts appends the texts of an item's content.
func appendParts(dst, content []byte) []byte {
	it := rawjson.Elements(content)
	for it.Next() {
		dst = appendString(appendString(dst, it.Value, "text"), it.Value, "refusal")
	}
	return dst
}
