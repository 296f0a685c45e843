package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// NewMessagesReader returns a reader of the events that a server's own /v1/messages sends. The gateway asks no server
// by that path. It reads such answers only where they pass untouched.
func NewMessagesReader() Reader {
	r := &messagesReader{}
	return &eventStream{read: r.read}
}

// NewWholeMessagesReader returns a reader of a message that is one JSON object. The object is one event.
func NewWholeMessagesReader() Reader {
	r := &messagesReader{}
	return &wholeReader{read: r.readWhole}
}

// messagesReader reads the events of one message that have text, calls or counts.
type messagesReader struct {
	// input, cacheRead and created are the tokens of the prompt so far, which the API counts apart.
	input, cacheRead, created int
	// bare reports whether a call is open that has no input yet.
	bare bool
}

// read reads the data of one event. It reports whether it understood the data.
func (r *messagesReader) read(data []byte, e *Event) bool {
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
		return false
	}
	switch rawjson.View(name) {
	case "message_start":
		message, _ := rawjson.Find(data, "message")
		r.readUsage(message, e)
	case "content_block_start":
		block, _ := rawjson.Find(data, "content_block")
		r.bare = readMessagesBlock(block, e, false)
		for i := range e.Calls {
			e.Calls[i].Index = blockIndex(data)
		}
	case "content_block_delta":
		delta, _ := rawjson.Find(data, "delta")
		r.readDelta(data, delta, e)
	case "content_block_stop":
		if r.bare { // a call without deltas has no input
			r.bare = false
			e.Calls = append(e.Calls, CallPiece{Index: blockIndex(data), Arguments: append([]byte(nil), "{}"...)})
		}
	case "message_delta":
		delta, _ := rawjson.Find(data, "delta")
		readStopReason(delta, e)
		r.readUsage(data, e)
	case "message_stop":
		e.Done = true
	case "error":
		value, kind := rawjson.Find(data, "error")
		e.Error = readErrorValue(value, kind)
	}
	return true
}

// readDelta reads more of a block.
func (r *messagesReader) readDelta(data, delta []byte, e *Event) {
	name, _ := rawjson.Find(delta, "type")
	switch rawjson.View(name) {
	case "text_delta":
		e.Text = appendString(e.Text, delta, "text")
	case "thinking_delta":
		e.Reasoning = appendString(e.Reasoning, delta, "thinking")
	case "input_json_delta":
		if piece, kind := rawjson.Find(delta, "partial_json"); kind == rawjson.String && len(piece) > 0 {
			r.bare = false
			e.Calls = append(e.Calls, CallPiece{Index: blockIndex(data), Arguments: e.keep(piece)})
		}
	}
}

// readWhole reads a whole message. It reports whether it is one.
func (r *messagesReader) readWhole(data []byte, e *Event) bool {
	e.resetConversing()
	if rawjson.Validate(data, rawjson.MaxDepth) != nil {
		return false
	}
	content, kind := rawjson.Find(data, "content")
	if kind != rawjson.Array {
		return false
	}
	it := rawjson.Elements(content)
	for index := 0; it.Next(); index++ {
		before := len(e.Calls)
		if readMessagesBlock(it.Value, e, true); len(e.Calls) > before {
			e.Calls[before].Index = index
		}
	}
	readStopReason(data, e)
	r.readUsage(data, e)
	e.Done = true
	return true
}

// readMessagesBlock reads a block, with its input if it is whole. It reports whether the block is a call.
func readMessagesBlock(block []byte, e *Event, whole bool) bool {
	name, _ := rawjson.Find(block, "type")
	switch rawjson.View(name) {
	case "text":
		e.Text = appendString(e.Text, block, "text")
	case "thinking":
		e.Reasoning = appendString(e.Reasoning, block, "thinking")
	case "tool_use":
		called, kind := rawjson.Find(block, "name")
		if kind != rawjson.String || len(called) == 0 || len(e.Calls) >= maxChatCalls {
			return false
		}
		call := CallPiece{Name: e.keep(called)}
		if id, kind := rawjson.Find(block, "id"); kind == rawjson.String {
			call.ID = e.keep(id)
		}
		if input, kind := rawjson.Find(block, "input"); whole && kind == rawjson.Object {
			call.Arguments = append([]byte(nil), input...)
		}
		e.Calls = append(e.Calls, call)
		return true
	}
	return false
}

// readStopReason reads why a message ended.
func readStopReason(data []byte, e *Event) {
	reason, kind := rawjson.Find(data, "stop_reason")
	if kind != rawjson.String {
		return
	}
	switch rawjson.View(reason) {
	case "max_tokens", "model_context_window_exceeded":
		e.Finish = Length
	case "refusal":
		e.Finish = Filtered
	default:
		e.Finish = Stopped
	}
}

// readUsage reads the usage of a message or of its end. A count of the prompt that is 0 there leaves the earlier one.
func (r *messagesReader) readUsage(data []byte, e *Event) {
	usage, kind := rawjson.Find(data, "usage")
	if kind != rawjson.Object {
		return
	}
	for _, c := range []struct {
		name string
		to   *int
	}{{"input_tokens", &r.input}, {"cache_read_input_tokens", &r.cacheRead}, {"cache_creation_input_tokens", &r.created}} {
		if n, ok := readCount(usage, c.name); ok && n > 0 {
			*c.to = n
		}
	}
	e.HasUsage = true
	e.Usage = Usage{Prompt: r.input + r.cacheRead + r.created, Cached: r.cacheRead, HasCached: true}
	e.Usage.Completion, _ = readCount(usage, "output_tokens")
	if details, kind := rawjson.Find(usage, "output_tokens_details"); kind == rawjson.Object {
		e.Usage.Reasoning, e.Usage.HasReasoning = readCount(details, "thinking_tokens")
	}
}

// blockIndex returns the index of an event's block, or -1.
func blockIndex(data []byte) int {
	value, kind := rawjson.Find(data, "index")
	return readIndex(value, kind)
}
