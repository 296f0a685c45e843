package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// readMessage reads a delta or a whole message.
func (r *chatReader) readMessage(message []byte, e *Event) {
	it := rawjson.Members(message)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "content":
			e.readContent(it.Value, it.Kind)
		case "refusal":
			e.addText(it.Value, it.Kind)
		case "reasoning_content", "reasoning", "reasoning_text":
			// Some servers send the same reasoning in several of them.
			if it.Kind == rawjson.String && len(e.Reasoning) == 0 {
				e.Reasoning = rawjson.AppendUnescaped(e.Reasoning, it.Value)
			}
		case "reasoning_details":
			if len(e.Reasoning) == 0 {
				e.readReasoningDetails(it.Value)
			}
		case "tool_calls":
			r.readCalls(it.Value, it.Kind, e)
		case "function_call":
			if it.Kind == rawjson.Object {
				e.unique = true
				var p chatPiece
				p.readFunction(it.Value)
				r.add(&p, e)
			}
		}
	}
}

// readContent reads a message's content: a text, or Mistral's parts, in which reasoning is a part of its own.
func (e *Event) readContent(value []byte, kind rawjson.Kind) {
	switch kind {
	case rawjson.String:
		e.Text = rawjson.AppendUnescaped(e.Text, value)
	case rawjson.Null:
	case rawjson.Array:
		it := rawjson.Elements(value)
		for it.Next() {
			if it.Kind == rawjson.String {
				e.addText(it.Value, it.Kind)
			} else {
				e.readPart(it.Value)
			}
		}
	default:
		e.Error = &Error{Status: 502, Message: "the inference server sent content that is neither text nor a list of parts"}
	}
}

func (e *Event) readPart(part []byte) {
	it := rawjson.Members(part)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "text", "refusal":
			e.addText(it.Value, it.Kind)
		case "thinking":
			e.unique = true
			if it.Kind == rawjson.String {
				e.Reasoning = rawjson.AppendUnescaped(e.Reasoning, it.Value)
			} else {
				e.addReasoning(it.Value, "text")
			}
		}
	}
}

// readReasoningDetails reads OpenRouter's list of reasoning, whose elements have a text, a summary, or encrypted data.
func (e *Event) readReasoningDetails(list []byte) {
	it := rawjson.Elements(list)
	it.Next()
	if e.addReasoning(list, "text"); len(e.Reasoning) == 0 {
		e.unique = true
		e.addReasoning(list, "summary")
	}
	e.unique = e.unique || it.Next()
}

// addText adds text from a place that no template has.
func (e *Event) addText(value []byte, kind rawjson.Kind) {
	if kind == rawjson.String && len(value) > 0 {
		e.Text = rawjson.AppendUnescaped(e.Text, value)
		e.unique = true
	}
}

// addReasoning adds the texts that the objects of a list have as their member name.
func (e *Event) addReasoning(list []byte, name string) {
	it := rawjson.Elements(list)
	for it.Next() {
		if text, kind := rawjson.Find(it.Value, name); kind == rawjson.String {
			e.Reasoning = rawjson.AppendUnescaped(e.Reasoning, text)
		}
	}
}
