package responses

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// forModel returns the item as the model's gateway gets it. A compaction is the items that it stands for, and so is a
// call that the service has run. What is only between the service and its client is nothing.
func forModel(item *store.Item) []json.RawMessage {
	switch item.Type {
	case typeListTools, typeApprovalRequest:
		return nil
	case typeMCPCall, typeSearchCall, typeCodeCall, typeApprovalResponse, typeMessage, typeCompaction, typeReasoning:
	default:
		return []json.RawMessage{item.Body}
	}
	var fields map[string]json.RawMessage
	if !bytes.Contains(item.Body, []byte(`"`+hiddenPrefix)) || json.Unmarshal(item.Body, &fields) != nil {
		return visibleForModel(item)
	}
	text := ""
	hasText := fields[hiddenText] != nil && json.Unmarshal(fields[hiddenText], &text) == nil
	var items []json.RawMessage
	switch {
	case fields[hiddenItems] != nil && json.Unmarshal(fields[hiddenItems], &items) == nil:
		return items
	case hasText && item.Type == typeCompaction:
		return expand(text)
	case hasText && item.Type == typeReasoning:
		fields["content"] = mustMarshal([]map[string]string{{"type": "reasoning_text", "text": text}})
		delete(fields, "encrypted_content")
		delete(fields, hiddenText)
		return []json.RawMessage{mustMarshal(fields)}
	}
	return visibleForModel(item)
}

// visibleForModel is [forModel] for an item of which there is no more than its client sees.
func visibleForModel(item *store.Item) []json.RawMessage {
	switch item.Type {
	case typeApprovalResponse:
		return nil // the call that follows has its result
	case typeMCPCall:
		return plainCall(item.Body)
	case typeCodeCall:
		return plainCode(item.Body)
	case typeMessage:
		return []json.RawMessage{plainMessage(item.Body)}
	}
	return []json.RawMessage{item.Body}
}

// plainMessage returns a message as short as it can be said. Stored messages have ids and parts: a client that sends
// many short ones would reach the gateway's limit of a body with a quarter of it.
func plainMessage(body json.RawMessage) json.RawMessage {
	var role, text []byte
	members := rawjson.Members(body)
	for members.Next() {
		switch rawjson.View(members.Key) {
		case "role":
			if members.Kind != rawjson.String {
				return body
			}
			role = body[members.End-len(members.Value)-2 : members.End]
		case "content":
			if text = onlyText(members.Value, members.Kind); text == nil {
				return body
			}
		case "id", "type":
		case "status":
			if string(members.Value) != statusCompleted {
				return body
			}
		default:
			return body
		}
	}
	if role == nil || text == nil {
		return body
	}
	return slices.Concat([]byte(`{"role":`), role, []byte(`,"content":`), text, []byte("}"))
}

// onlyText returns the text of a content that is one part of text without anything else, with its quotes, or nil.
func onlyText(content []byte, kind rawjson.Kind) (text []byte) {
	parts := rawjson.Elements(content)
	if kind != rawjson.Array || !parts.Next() || parts.Kind != rawjson.Object {
		return nil
	}
	part := parts.Value
	if parts.Next() {
		return nil
	}
	members := rawjson.Members(part)
	for members.Next() {
		value := rawjson.View(members.Value)
		switch rawjson.View(members.Key) {
		case "text":
			if members.Kind != rawjson.String {
				return nil
			}
			text = part[members.End-len(members.Value)-2 : members.End]
		case "type":
			if value != "input_text" && value != "output_text" {
				return nil
			}
		case "annotations", "logprobs":
			if value != "[]" {
				return nil
			}
		default:
			return nil
		}
	}
	return text
}

// forClient returns the item as its client gets it. include lists the additions that the client asked for.
func (s *sealer) forClient(item *store.Item, bound *seal.Bound, include []string) json.RawMessage {
	switch {
	case item.Type == typeReasoning:
		return s.reasoningForClient(item, bound, slices.Contains(include, includeSealed))
	case item.Type == typeCompaction:
		return s.compactionForClient(item, bound)
	case item.Type == typeMessage && !slices.Contains(include, includeLogprobs):
		return withoutLogprobs(withoutHidden(item.Body, include))
	}
	return withoutHidden(item.Body, include)
}

// The values of include that stored items need.
const (
	includeSealed   = "reasoning.encrypted_content"
	includeLogprobs = "message.output_text.logprobs"
	// includeCodeOutputs shows what code has printed, and includeSources which pages were opened from a search.
	includeCodeOutputs = "code_interpreter_call.outputs"
	includeSources     = "web_search_call.action.sources"
)

func (s *sealer) reasoningForClient(item *store.Item, bound *seal.Bound, sealed bool) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(item.Body, &fields) != nil {
		return item.Body
	}
	text, hidden := "", fields[hiddenText]
	if hidden == nil || json.Unmarshal(hidden, &text) != nil {
		text = reasoningText(fields)
	}
	delete(fields, hiddenText)
	if sealed && s.keys != nil && bound.Model != "" {
		b, err := s.keys.Seal(nil, []byte(text), *bound, s.now().Add(s.lifetime).Unix())
		if err == nil {
			fields["encrypted_content"] = mustMarshal(string(b))
		}
	}
	return mustMarshal(fields)
}

// withoutLogprobs empties the logprobs of a message. A client may have sent a message with very many parts: no part
// takes memory of its own.
func withoutLogprobs(body json.RawMessage) json.RawMessage {
	if !bytes.Contains(body, []byte(`"logprobs":[{`)) {
		return body
	}
	var shown []byte
	rest := 0
	members := rawjson.Members(body)
	for members.Next() {
		if members.Kind != rawjson.Array || rawjson.View(members.Key) != "content" {
			continue
		}
		content := members.End - len(members.Value)
		parts := rawjson.Elements(members.Value)
		for parts.Next() {
			part := content + parts.End - len(parts.Value)
			inside := rawjson.Members(parts.Value)
			for inside.Next() {
				if inside.Kind == rawjson.String || rawjson.View(inside.Key) != "logprobs" {
					continue
				}
				end := part + inside.End
				shown = append(append(shown, body[rest:end-len(inside.Value)]...), "[]"...)
				rest = end
			}
		}
	}
	return append(shown, body[rest:]...)
}

// withoutHidden returns an item as its client gets it: without what is only for the service, and what is only for
// clients that ask for it.
func withoutHidden(raw json.RawMessage, include []string) json.RawMessage {
	if !bytes.Contains(raw, []byte(hiddenPrefix)) && !bytes.Contains(raw, []byte(typeCodeCall)) {
		return raw
	}
	kind := itemOf(raw).Type
	if kind != typeSearchCall && kind != typeCodeCall && kind != typeMCPCall && kind != typeMessage &&
		kind != typeApprovalResponse {
		return raw
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	changed := false
	for _, name := range []string{hiddenItems, hiddenClient} {
		if fields[name] != nil {
			delete(fields, name)
			changed = true
		}
	}
	switch {
	case kind == typeCodeCall && !slices.Contains(include, includeCodeOutputs):
		fields["outputs"] = json.RawMessage("null")
		changed = true
	case kind == typeSearchCall && !slices.Contains(include, includeSources):
		changed = withoutSources(fields) || changed
	}
	if !changed {
		return raw
	}
	return mustMarshal(fields)
}
