package messages

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// itemWriter writes the items of a conversation as the gateway reads them.
type itemWriter struct {
	read  *translate.ServedMessages
	keys  *seal.Keys
	bound seal.Bound
	now   int64
	all   []store.Item
}

// items returns all items, with the tools that are declared between them.
func (w *itemWriter) items() []store.Item {
	in := w.read.Items
	w.all = make([]store.Item, 0, len(in.Input)+len(in.Declared))
	declared := in.Declared
	declare := func(before int) {
		for len(declared) > 0 && declared[0].Before <= before {
			w.add(items.TypeTools, w.declaration(declared[0].Tools))
			declared = declared[1:]
		}
	}
	for i := 0; i < len(in.Input); i++ {
		declare(i)
		item := &in.Input[i]
		if item.BuiltIn && i+1 < len(in.Input) && in.Input[i+1].Kind == openai.ItemCallOutput &&
			in.Input[i+1].CallID == item.CallID {
			w.add(items.TypeSearchCall, w.search(item, &in.Input[i+1]))
			i++
			continue
		}
		w.addItem(item)
	}
	declare(len(in.Input))
	return w.all
}

func (w *itemWriter) add(kind string, body json.RawMessage) {
	w.all = append(w.all, store.Item{Type: kind, Body: body})
}

// declaration returns an item that declares tools.
func (w *itemWriter) declaration(tools []openai.Tool) json.RawMessage {
	list := make([]json.RawMessage, len(tools))
	for i := range tools {
		list[i] = function(&tools[i])
	}
	return items.JSON(map[string]any{"type": items.TypeTools, "role": openai.RoleDeveloper, "tools": list})
}

// search returns a call of the browser and its result as one item, from which the service knows the browser's pages.
func (w *itemWriter) search(call, result *openai.InputItem) json.RawMessage {
	item := map[string]any{"id": items.NewID(items.Prefixes[items.TypeSearchCall]), "type": items.TypeSearchCall,
		items.HiddenItems: []json.RawMessage{w.call(call), w.result(result)}}
	if w.read.Chain != "" {
		item[items.HiddenClient] = w.read.Chain
	}
	return items.JSON(item)
}

func (w *itemWriter) addItem(item *openai.InputItem) {
	switch item.Kind {
	case openai.ItemReasoning:
		if body := w.reasoning(item); body != nil {
			w.add(items.TypeReasoning, body)
		}
	case openai.ItemCall:
		w.add("function_call", w.call(item))
	case openai.ItemCallOutput:
		w.add("function_call_output", w.result(item))
	default:
		w.add(items.TypeMessage, w.message(item))
	}
}

// member appends a member whose value is a text.
func member(b []byte, name, text string) []byte {
	b = append(append(append(b, ','), '"'), name...)
	return rawjson.AppendString(append(b, `":`...), text)
}

func (w *itemWriter) call(item *openai.InputItem) json.RawMessage {
	b := member([]byte(`{"type":"function_call"`), "call_id", item.CallID)
	if b = member(b, "name", item.Name); item.Namespace != "" {
		b = member(b, "namespace", item.Namespace)
	}
	return append(member(b, "arguments", item.Arguments), '}')
}

// result returns what a call has returned. Its parts are one text, unless some are no text.
func (w *itemWriter) result(item *openai.InputItem) json.RawMessage {
	b := member([]byte(`{"type":"function_call_output"`), "call_id", item.CallID)
	if len(item.Media) == 0 {
		return append(member(b, "output", strings.Join(item.Content, "")), '}')
	}
	return append(appendParts(append(b, `,"output":`...), item, "input_text"), '}')
}

func (w *itemWriter) message(item *openai.InputItem) json.RawMessage {
	b := member([]byte(`{"type":"message"`), "role", item.Role)
	if item.Phase != "" {
		b = member(b, "phase", item.Phase)
	}
	kind := "input_text"
	if item.Role == openai.RoleAssistant {
		kind = "output_text"
	}
	return append(appendParts(append(b, `,"content":`...), item, kind), '}')
}

// appendParts appends the parts of an item. Texts are of this type.
func appendParts(b []byte, item *openai.InputItem, kind string) []byte {
	b = append(b, '[')
	for i, text := range item.Content {
		if i > 0 {
			b = append(b, ',')
		}
		at := slices.IndexFunc(item.Media, func(m openai.Media) bool { return m.Part == i })
		if at >= 0 {
			b = item.Media[at].AppendJSON(b)
			continue
		}
		b = rawjson.AppendString(append(b, `{"type":`...), kind)
		b = append(member(b, "text", text), '}')
	}
	return append(b, ']')
}

// reasoning returns reasoning, or nil if there is none that the model could read. In Messages no seal is an error, and
// in Responses one of this gateway's that does not open is (RATIONALE.md#239).
func (w *itemWriter) reasoning(item *openai.InputItem) json.RawMessage {
	text, sealed := strings.Join(item.Content, ""), item.Sealed
	if len(sealed) > 0 && w.keys != nil {
		if _, _, err := w.keys.OpenAny(bytes.Clone(sealed), w.bound, w.now); err != nil { // opening overwrites it
			sealed = nil
		}
	}
	if text == "" && len(sealed) == 0 {
		return nil
	}
	b := []byte(`{"type":"reasoning","summary":[]`)
	if text != "" {
		b = append(append(b, `,"content":[{"type":"reasoning_text"`...), member(nil, "text", text)...)
		b = append(b, `}]`...)
	}
	if len(sealed) > 0 {
		b = append(append(append(b, `,"encrypted_content":"`...), sealed...), '"') // as it is spelled
	}
	return append(b, '}')
}

// function returns a tool of the client's.
func function(t *openai.Tool) json.RawMessage {
	f := map[string]any{"type": "function", "name": t.Name, "strict": t.Strict}
	if t.Description != "" {
		f["description"] = t.Description
	}
	if t.Parameters != nil {
		f["parameters"] = json.RawMessage(t.Parameters)
	}
	return items.JSON(f)
}
