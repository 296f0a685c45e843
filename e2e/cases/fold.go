//go:build e2e

package cases

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fold returns a view of a stream in which it does not matter how many pieces the text came in: pieces of the same text
// that follow each other are one. Everything else stays as it was and where it was.
func Fold(view string) string {
	head, body, ok := strings.Cut(view, "\n\n")
	if !ok || !strings.Contains(head, "text/event-stream") {
		return view
	}
	f := &folder{choices: map[int]*foldedText{}}
	for event := range strings.SplitSeq(body, "\n\n") {
		f.event(event)
	}
	f.flush()
	return head + "\n\n" + f.out.String()
}

// folder folds the events of one stream.
type folder struct {
	out strings.Builder
	// choices are the choices of Chat so far, which are kept apart and printed at the end of the choices.
	choices map[int]*foldedText
	// heads are what Chat's chunks say beside their choices, each once.
	heads []string
	// last is the event of another API that more text may be added to. text and logprobs are what it has so far.
	last     map[string]any
	text     string
	logprobs []any
}

// foldedText is what one choice of Chat has said: strings under their names, in the order in which they began.
type foldedText struct {
	said     []*segment
	logprobs []any
}

// segment is a piece of a choice: its kind, and what was said under each of its names.
type segment struct {
	kind  string
	names []string
	texts map[string]string
}

func (f *folder) event(event string) {
	_, data, ok := strings.Cut(event, "data: ")
	var object map[string]any
	if !ok || json.Unmarshal([]byte(data), &object) != nil {
		f.flush()
		f.out.WriteString(event + "\n")
		return
	}
	if choices, ok := object["choices"].([]any); ok {
		for _, choice := range choices {
			f.choice(choice.(map[string]any))
		}
		delete(object, "choices")
		if object["usage"] == nil {
			delete(object, "usage") // null, or not there: both are no usage
		}
		if head := encode(object); !slices.Contains(f.heads, head) {
			f.heads = append(f.heads, head)
		}
		return
	}
	name := strings.TrimSuffix(event, data)
	// Numbers count events.
	delete(object, "sequence_number")
	object["event"] = name
	grows, member := object, growing(object)
	if delta, ok := object["delta"].(map[string]any); ok && object["type"] == "content_block_delta" {
		grows, member = delta, growingInMessages(delta)
	}
	if member == "" {
		f.flush()
		f.out.WriteString(encode(object) + "\n")
		return
	}
	text, _ := grows[member].(string)
	delete(grows, member)
	logprobs, isList := object["logprobs"].([]any)
	if isList {
		object["logprobs"] = []any{}
	}
	if f.last == nil || encode(f.last) != encode(object) {
		f.flush()
		f.last = object
	}
	f.text += text
	f.logprobs = append(f.logprobs, logprobs...)
}

// growing is the member of an event of Responses, or of a channel, that is a piece of a text.
func growing(object map[string]any) string {
	for _, member := range []string{"delta", "text"} {
		_, isText := object[member].(string)
		kind, _ := object["type"].(string)
		if isText && (strings.HasSuffix(kind, ".delta") || kind == "") {
			return member
		}
	}
	return ""
}

// growingInMessages is the member of a delta of Messages that is a piece of a text.
func growingInMessages(delta map[string]any) string {
	return map[any]string{"text_delta": "text", "thinking_delta": "thinking",
		"input_json_delta": "partial_json"}[delta["type"]]
}

func (f *folder) choice(choice map[string]any) {
	index := int(choice["index"].(float64))
	said := f.choices[index]
	if said == nil {
		said = &foldedText{}
		f.choices[index] = said
	}
	delta, _ := choice["delta"].(map[string]any)
	for _, name := range []string{"role", "reasoning", "reasoning_content", "content", "refusal"} {
		if text, ok := delta[name].(string); ok && (text != "" || name == "role") {
			kind := strings.TrimSuffix(name, "_content")
			said.add(kind, name, text)
		}
	}
	for _, name := range []string{"prompt_token_ids", "generation_token_ids", "generation_log_probs"} {
		if list, ok := delta[name].([]any); ok {
			said.add("ids", name, encode(list))
		}
	}
	calls, _ := delta["tool_calls"].([]any)
	for _, each := range calls {
		call := each.(map[string]any)
		kind := fmt.Sprint("call ", call["index"])
		said.flatten(kind, "", call)
	}
	if probabilities, ok := choice["logprobs"].(map[string]any); ok {
		content, _ := probabilities["content"].([]any)
		said.logprobs = append(said.logprobs, content...)
	}
	if reason, ok := choice["finish_reason"].(string); ok {
		said.add("finish", "finish_reason", reason)
	}
}

// flatten adds the strings of an object under the names of their places.
func (t *foldedText) flatten(kind, at string, object map[string]any) {
	for _, name := range []string{"id", "type", "name", "arguments", "input", "function", "custom"} {
		switch v := object[name].(type) {
		case string:
			t.add(kind, at+name, v)
		case map[string]any:
			t.flatten(kind, at+name+".", v)
		}
	}
}

func (t *foldedText) add(kind, name, text string) {
	if n := len(t.said); n == 0 || t.said[n-1].kind != kind {
		t.said = append(t.said, &segment{kind: kind, texts: map[string]string{}})
	}
	s := t.said[len(t.said)-1]
	if _, ok := s.texts[name]; !ok {
		s.names = append(s.names, name)
	}
	s.texts[name] += text
}

// flush prints what can grow no more.
func (f *folder) flush() {
	if f.last != nil {
		if f.logprobs != nil {
			f.last["logprobs"] = f.logprobs
		}
		f.out.WriteString(encode(f.last) + " " + strconv.Quote(f.text) + "\n")
		f.last, f.text, f.logprobs = nil, "", nil
	}
	for index := range len(f.choices) {
		said := f.choices[index]
		if said == nil {
			fmt.Fprintf(&f.out, "no choice %d\n", index)
			continue
		}
		for _, s := range said.said {
			for _, name := range s.names {
				fmt.Fprintf(&f.out, "choice %d, %s, %s: %q\n", index, s.kind, name, s.texts[name])
			}
		}
		if said.logprobs != nil {
			fmt.Fprintf(&f.out, "choice %d, logprobs: %s\n", index, encode(said.logprobs))
		}
	}
	for _, head := range f.heads {
		f.out.WriteString(head + "\n")
	}
	clear(f.choices)
	f.heads = nil
}

// encode is JSON with the members in order.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error() // cannot be: it was JSON
	}
	return string(text)
}
