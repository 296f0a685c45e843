package turn

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// openItem is an item of the model's that the client has seen begin. The gateway closes its items, also those that a
// failing server has cut. If the gateway's own stream is cut, the service closes the item: see [Turn.closeOpen].
type openItem struct {
	// body is the item as it began, and index its output_index for the client.
	body  json.RawMessage
	index json.RawMessage
	// form is how its text is told.
	form textForm
	// around is the event of the part around the text, without its suffix, and part that part, if there is one.
	around string
	part   json.RawMessage
	// text is what the client has of the text, as JSON without quotes. logprobs and annotations are what it has of those,
	// as elements of an array.
	text, logprobs, annotations []byte
	// textDone and partDone say what has ended already.
	textDone, partDone bool
}

// textForm is how the text of a type of items is told: the event without its suffix, the member of the item or of its
// part, and the list of the item that has the part.
type textForm struct{ event, member, list string }

// textForms are the items that a model writes. Others are the service's own.
var textForms = map[string]textForm{
	items.TypeMessage:   {"response.output_text", "text", "content"},
	items.TypeReasoning: {"response.reasoning_text", "text", "content"},
	"function_call":     {event: "response.function_call_arguments", member: "arguments"},
	"custom_tool_call":  {event: "response.custom_tool_call_input", member: "input"},
}

// summaryForm is the form of reasoning whose text is its summary.
var summaryForm = textForm{"response.reasoning_summary_text", "text", "summary"}

// The events of the parts around texts, without their suffixes.
const (
	contentPart = "response.content_part"
	summaryPart = "response.reasoning_summary_part"
)

// follow keeps what an event tells of the item that is open. An error means that there is no memory for it.
func (s *stream) follow(e *upstream.Event) error {
	if e.Kind == "response.output_item.added" {
		item, _ := rawjson.Find(e.Data, "item")
		index, _ := rawjson.Find(e.Data, "output_index")
		s.leaveOpen()
		if form, known := textForms[items.Of(item).Type]; known {
			s.unfinished = &openItem{body: bytes.Clone(item), index: bytes.Clone(index), form: form}
		}
	}
	o := s.unfinished
	if o == nil {
		return nil
	}
	switch e.Kind {
	case "response.output_item.done":
		s.leaveOpen()
	case contentPart + ".added", summaryPart + ".added":
		part, _ := rawjson.Find(e.Data, "part")
		o.around, o.part = strings.TrimSuffix(e.Kind, ".added"), bytes.Clone(part)
		if o.around == summaryPart {
			o.form = summaryForm
		}
	case contentPart + ".done", summaryPart + ".done":
		o.partDone = true
	case "response.output_text.annotation.added":
		annotation, _ := rawjson.Find(e.Data, "annotation")
		o.annotations = appendElements(o.annotations, annotation)
	case o.form.event + ".delta":
		before := o.size()
		delta, _ := rawjson.Find(e.Data, "delta")
		logprobs, _ := rawjson.Find(e.Data, "logprobs")
		o.text = append(o.text, delta...)
		o.logprobs = appendElements(o.logprobs, bytes.Trim(logprobs, "[] \t\r\n"))
		return s.share.Hold(o.size() - before)
	case o.form.event + ".done":
		o.textDone = true
	}
	return nil
}

// appendElements appends elements of an array to others.
func appendElements(dst, elements []byte) []byte {
	if len(dst) > 0 && len(elements) > 0 {
		dst = append(dst, ',')
	}
	return append(dst, elements...)
}

// size is the memory that is held for the item.
func (o *openItem) size() int64 { return int64(len(o.text) + len(o.logprobs)) }

// leaveOpen forgets the item that is open, if there is one.
func (s *stream) leaveOpen() {
	if s.unfinished != nil {
		s.share.Drop(s.unfinished.size())
	}
	s.unfinished = nil
}

// closeOpen ends the item that is open, if there is one: with what the client has of it, and as incomplete.
func (s *stream) closeOpen(emit func(*upstream.Event) error) error {
	o := s.unfinished
	if o == nil {
		return nil
	}
	s.leaveOpen() // the events below are of it
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(o.body, &fields); err != nil {
		return err
	}
	form, text := o.form, slices.Concat([]byte{'"'}, o.text, []byte{'"'})
	if form.list == "" || o.part != nil {
		if err := s.closeText(emit, o, fields["id"], text); err != nil {
			return err
		}
	}
	switch {
	case form.list == "":
		fields[form.member] = text
	case o.part != nil:
		fields[form.list] = slices.Concat([]byte{'['}, o.wholePart(text), []byte{']'})
	}
	fields["status"] = items.JSON(items.Incomplete)
	item := items.JSON(fields)
	s.share.HoldAnyway(quota.Copies * int64(len(item)))
	s.output = append(s.output, item)
	return s.sendEvent(emit, "response.output_item.done", map[string]any{"output_index": o.index, "item": s.shown(item)})
}

// closeText ends the text of an item, and the part around it.
func (s *stream) closeText(emit func(*upstream.Event) error, o *openItem, id, text json.RawMessage) error {
	form := o.form
	fields := func() map[string]any {
		of := map[string]any{"item_id": id, "output_index": o.index}
		if form.list != "" {
			of[form.list+"_index"] = 0
		}
		return of
	}
	if !o.textDone {
		done := fields()
		done[form.member] = text
		if form.event == "response.output_text" {
			done["logprobs"] = json.RawMessage(slices.Concat([]byte{'['}, o.logprobs, []byte{']'}))
		}
		if name, kind := rawjson.Find(o.body, "name"); kind == rawjson.String && form.member == "arguments" {
			done["name"] = json.RawMessage(slices.Concat([]byte{'"'}, name, []byte{'"'}))
		}
		if err := s.sendEvent(emit, form.event+".done", done); err != nil {
			return err
		}
	}
	if o.part == nil || o.partDone {
		return nil
	}
	done := fields()
	done["part"] = o.wholePart(text)
	return s.sendEvent(emit, o.around+".done", done)
}

// wholePart returns the part of an item with its text.
func (o *openItem) wholePart(text json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(o.part, &fields) != nil {
		return o.part
	}
	fields["text"] = text
	if len(o.annotations) > 0 {
		fields["annotations"] = slices.Concat([]byte{'['}, o.annotations, []byte{']'})
	}
	if len(o.logprobs) > 0 {
		fields["logprobs"] = withBytes(slices.Concat([]byte{'['}, o.logprobs, []byte{']'}))
	}
	return items.JSON(fields)
}

// withBytes returns the logprobs of events as items have them: with the bytes of each token.
func withBytes(logprobs json.RawMessage) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(logprobs, &list) != nil {
		return json.RawMessage("[]")
	}
	for _, one := range list {
		token := ""
		_ = json.Unmarshal(items.OrNull(one["token"]), &token)
		spelled := []int{}
		for _, b := range tokenBytes(token) {
			spelled = append(spelled, int(b))
		}
		one["bytes"] = items.JSON(spelled)
		if others := one["top_logprobs"]; items.Given(others) {
			one["top_logprobs"] = withBytes(others)
		}
	}
	return items.JSON(list)
}

// tokenBytes returns the bytes of a token. A byte that belongs to no whole character is written as \xf0.
func tokenBytes(token string) (spelled []byte) {
	for at := 0; at < len(token); {
		if rest, escaped := strings.CutPrefix(token[at:], `\x`); escaped && len(rest) >= 2 {
			if b, err := hex.DecodeString(rest[:2]); err == nil && b[0] >= utf8.RuneSelf {
				spelled = append(spelled, b[0])
				at += 4
				continue
			}
		}
		spelled = append(spelled, token[at])
		at++
	}
	return spelled
}
