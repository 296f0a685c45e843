package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// readMessage reads a delta or a whole message.
func (r *chatReader) readMessage(message []byte, e *Event) {
	it := rawjson.Members(message)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "content":
			readChatContent(it.Value, it.Kind, e)
		case "refusal":
			if it.Kind == rawjson.String {
				e.Text = rawjson.AppendUnescaped(e.Text, it.Value)
			}
		case "reasoning_content", "reasoning", "reasoning_text":
			// Some servers send the same reasoning in two of them.
			if it.Kind == rawjson.String && len(e.Reasoning) == 0 {
				e.Reasoning = rawjson.AppendUnescaped(e.Reasoning, it.Value)
			}
		case "reasoning_details":
			if len(e.Reasoning) == 0 {
				readReasoningDetails(it.Value, e)
			}
		case "tool_calls":
			r.readCalls(it.Value, it.Kind, e)
		case "function_call":
			if it.Kind == rawjson.Object {
				r.readCall(it.Value, e)
			}
		}
	}
}

// readChatContent reads a message's content: a text, or Mistral's parts, in which reasoning is a part of its own.
func readChatContent(value []byte, kind rawjson.Kind, e *Event) {
	switch kind {
	case rawjson.String:
		e.Text = rawjson.AppendUnescaped(e.Text, value)
	case rawjson.Null:
	case rawjson.Array:
		it := rawjson.Elements(value)
		for it.Next() {
			if it.Kind == rawjson.String {
				e.Text = rawjson.AppendUnescaped(e.Text, it.Value)
			} else {
				readContentPart(it.Value, e)
			}
		}
	default:
		e.Error = &Error{Status: 502, Message: "the inference server sent content that is neither text nor a list of parts"}
	}
}

func readContentPart(part []byte, e *Event) {
	it := rawjson.Members(part)
	for it.Next() {
		switch rawjson.View(it.Key) {
		case "text", "refusal":
			if it.Kind == rawjson.String {
				e.Text = rawjson.AppendUnescaped(e.Text, it.Value)
			}
		case "thinking":
			if it.Kind == rawjson.String {
				e.Reasoning = rawjson.AppendUnescaped(e.Reasoning, it.Value)
				continue
			}
			e.Reasoning = appendTexts(e.Reasoning, it.Value)
		}
	}
}

// readReasoningDetails reads OpenRouter's list of reasoning, whose elements have a text, a summary, or encrypted data.
func readReasoningDetails(list []byte, e *Event) {
	e.Reasoning = appendTexts(e.Reasoning, list)
}

// appendTexts appends the texts of the parts in a list.
func appendTexts(dst, list []byte) []byte {
	it := rawjson.Elements(list)
	for it.Next() {
		text, kind := rawjson.Find(it.Value, "text")
		if kind == 0 {
			text, kind = rawjson.Find(it.Value, "summary")
		}
		if kind == rawjson.String {
			dst = rawjson.AppendUnescaped(dst, text)
		}
	}
	return dst
}
