package items

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// ForModel returns the item as the model's gateway gets it. A compaction is the items that it stands for, and so is a
// call that the service has run. An item that is only between the service and its client is nothing. Ids that the model
// has sampled go back as they came, opened.
func ForModel(item *store.Item) []json.RawMessage {
	body, ids := TakeSampled(item.Body)
	return sampledForModel(forModel(&store.Item{ID: item.ID, Type: item.Type, Body: body}), ids)
}

// forModel is [ForModel] for an item without ids.
func forModel(item *store.Item) []json.RawMessage {
	switch item.Type {
	case TypeListTools, TypeApprovalRequest:
		return nil
	case TypeMCPCall, TypeSearchCall, TypeCodeCall, TypeApprovalResponse, TypeMessage, TypeCompaction, TypeReasoning:
	default:
		return []json.RawMessage{item.Body}
	}
	var fields map[string]json.RawMessage
	if !bytes.Contains(item.Body, []byte(`"`+HiddenPrefix)) || json.Unmarshal(item.Body, &fields) != nil {
		return visibleForModel(item)
	}
	text := ""
	hasText := fields[HiddenText] != nil && json.Unmarshal(fields[HiddenText], &text) == nil
	var items []json.RawMessage
	switch {
	case fields[HiddenItems] != nil && json.Unmarshal(fields[HiddenItems], &items) == nil:
		return items
	case hasText && item.Type == TypeCompaction:
		return Expand(text)
	case hasText && item.Type == TypeReasoning:
		fields["content"] = JSON([]map[string]string{{"type": "reasoning_text", "text": text}})
		delete(fields, "encrypted_content")
		delete(fields, HiddenText)
		return []json.RawMessage{JSON(fields)}
	}
	return visibleForModel(item)
}

// visibleForModel is [ForModel] for an item of which there is no more than its client sees.
func visibleForModel(item *store.Item) []json.RawMessage {
	switch item.Type {
	case TypeApprovalResponse:
		return nil // the call that follows has its result
	case TypeMCPCall:
		return plainCall(item.Body)
	case TypeCodeCall:
		return plainCode(item.Body)
	case TypeMessage:
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
			if string(members.Value) != Completed {
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

// WithoutHidden returns an item as its client gets it: without what is only for the service, and what is only for
// clients that ask for it.
func WithoutHidden(raw json.RawMessage, include []string) json.RawMessage {
	raw, _ = TakeSampled(raw)
	if !bytes.Contains(raw, []byte(HiddenPrefix)) && !bytes.Contains(raw, []byte(TypeCodeCall)) {
		return raw
	}
	kind := Of(raw).Type
	if kind != TypeSearchCall && kind != TypeCodeCall && kind != TypeMCPCall && kind != TypeMessage &&
		kind != TypeApprovalResponse {
		return raw
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	changed := false
	for _, name := range []string{HiddenItems, HiddenClient} {
		if fields[name] != nil {
			delete(fields, name)
			changed = true
		}
	}
	switch {
	case kind == TypeCodeCall && !slices.Contains(include, includeCodeOutputs):
		fields["outputs"] = json.RawMessage("null")
		changed = true
	case kind == TypeSearchCall && !slices.Contains(include, includeSources):
		changed = withoutSources(fields) || changed
	}
	if !changed {
		return raw
	}
	return JSON(fields)
}

// withoutSources removes the sources of a search from an item's members, and reports whether it had any.
func withoutSources(fields map[string]json.RawMessage) bool {
	var action map[string]json.RawMessage
	if json.Unmarshal(OrNull(fields["action"]), &action) != nil || action["sources"] == nil {
		return false
	}
	delete(action, "sources")
	fields["action"] = JSON(action)
	return true
}
