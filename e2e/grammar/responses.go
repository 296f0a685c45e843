//go:build e2e

package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file reads Responses streams by the grammar of OpenAI's API, and shares nothing with what writes them:
//
//	created  in_progress  item*  (completed | incomplete | error failed)
//	item = output_item.added  [part.added]  (delta | annotation.added)*  text done  [part.done]  output_item.done
//
// The items of hosted tools have other events: hosted.go. A response that was cancelled is failed without an error.
//
// Members and their types are the schemas' to look at; here it is what one event promises of another.

// Object is a JSON object as the client reads it.
type Object = map[string]any

// itemForm says which events carry an item of a type. The events of its text are named text+".delta" and text+".done";
// the latter has the text in the member whole. part is the type of the part around the text, if there is one, in the
// item's member list. The events of that part are named around+".added" and around+".done".
type itemForm struct{ text, whole, part, list, around string }

var itemForms = map[string]itemForm{
	"message":          {"response.output_text", "text", "output_text", "content", "response.content_part"},
	"reasoning":        {"response.reasoning_text", "text", "reasoning_text", "content", "response.content_part"},
	"function_call":    {"response.function_call_arguments", "arguments", "", "", ""},
	"custom_tool_call": {"response.custom_tool_call_input", "input", "", "", ""},
	"local_shell_call": {whole: "action"}, // has no text: its action comes in one piece
	"tool_search_call": {whole: "arguments"},
	compaction:         {}, // comes whole
}

// cancelled is the status of a response that ends anywhere, and without its output. It has no event of its own.
const cancelled = "cancelled"

// compaction is an item that stands for those before it.
const compaction = "compaction"

// annotationAdded is the event of an annotation of a message's text.
const annotationAdded = "response.output_text.annotation.added"

// summaryForm is the form of a reasoning item whose text is its summary. Its first part shows which form it has.
var summaryForm = itemForm{"response.reasoning_summary_text", "text", "summary_text", "summary",
	"response.reasoning_summary_part"}

// responsesReader is where in the grammar a stream stands.
type responsesReader struct {
	events int
	// begun is the response as created has it, and items are those that are closed.
	begun Object
	items []any
	ids   map[string]bool
	// open is the item between added and done, form and part its form, text its text so far, and likely the logprobs
	// of its tokens.
	open Object
	form itemForm
	part Object
	text strings.Builder

	likely []any
	// told is the event error, behind which only failed comes.
	told Object
	// cited are the annotations of the open item's text, and hosted is the open item if it is one of hosted tools.
	cited  []any
	hosted *hostedItem
	// textDone and partDone say that the open item's text and part are, and over that the response is.
	textDone, partDone, over bool
}

// ReadResponses reads a stream, and of one that was cut off what came before. It returns the number of events; its
// error says which promise was broken.
func ReadResponses(body string, cut bool) (int, error) {
	events := strings.Split(body, "\n\n")
	rest := events[len(events)-1] // what follows the last empty line
	r := responsesReader{ids: map[string]bool{}}
	for _, event := range events[:len(events)-1] {
		if err := r.event(event); err != nil {
			return r.events, fmt.Errorf("event %d: %w: %s", r.events, err, event)
		}
		r.events++
	}
	switch {
	case cut && r.over:
		return r.events, errors.New("cut off behind its end")
	case !cut && !r.over:
		return r.events, errors.New("the stream has no end")
	case !cut && strings.TrimSpace(rest) != "":
		return r.events, fmt.Errorf("half an event: %s", rest)
	}
	return r.events, nil
}

func (r *responsesReader) event(text string) error {
	first, second, ok := strings.Cut(text, "\n")
	name, named := strings.CutPrefix(first, "event: ")
	data, hasData := strings.CutPrefix(second, "data: ")
	if !ok || !named || !hasData || strings.Contains(data, "\n") {
		return errors.New("not an event line and a data line")
	}
	var e Object
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return err
	}
	switch {
	case r.over:
		return errors.New("an event behind the end")
	case e["type"] != name:
		return errors.New("type and name differ")
	case e["sequence_number"] != float64(r.events):
		return errors.New("not the next sequence number")
	case r.events == 0 || name == "response.created":
		return r.created(name, e)
	case r.events == 1 || name == "response.in_progress":
		if r.events != 1 || name != "response.in_progress" || !reflect.DeepEqual(e["response"], any(r.begun)) {
			return errors.New("the second event is not in_progress with the response as it was created")
		}
		return nil
	}
	if r.told != nil && name != "response.failed" {
		return errors.New("something between the error and failed")
	}
	switch name {
	case "error":
		r.told = e
		return r.tellsTwice()
	case "response.completed", "response.incomplete", "response.failed":
		return r.end(strings.TrimPrefix(name, "response."), e)
	case "response.output_item.added":
		return r.added(e)
	}
	return r.within(name, e)
}

func (r *responsesReader) created(name string, e Object) error {
	r.begun, _ = e["response"].(Object)
	output, _ := r.begun["output"].([]any)
	switch {
	case r.events != 0 || name != "response.created":
		return errors.New("created is not the first event, once")
	case r.begun["status"] != "in_progress" || output == nil || len(output) > 0:
		return errors.New("a response that has just been created is in progress and has no output")
	case r.begun["usage"] != nil || r.begun["error"] != nil || r.begun["incomplete_details"] != nil ||
		r.begun["completed_at"] != nil:
		return errors.New("a response that has just been created has an end")
	case r.begun["input_messages"] != nil || r.begun["output_messages"] != nil:
		return errors.New("messages of the model's before the end")
	}
	return nil
}

// isNew says that an id has not been given to anything else.
func (r *responsesReader) isNew(id any) bool {
	s, _ := id.(string)
	ok := s != "" && !r.ids[s]
	r.ids[s] = true
	return ok
}

func (r *responsesReader) added(e Object) error {
	item, _ := e["item"].(Object)
	kind, _ := item["type"].(string)
	form, known := itemForms[kind]
	hosted, isHosted := hostedForms[formName(item)]
	content, _ := item["content"].([]any)
	switch {
	case r.open != nil:
		return errors.New("an item opens inside of another")
	case !known && !isHosted:
		return errors.New("no such type of item")
	case e["output_index"] != float64(len(r.items)):
		return errors.New("not the next output index")
	case !r.isNew(item["id"]) || item["call_id"] != nil && !r.isNew(item["call_id"]):
		return errors.New("an id is empty or another's")
	case kind == searchOutput && !r.searched():
		return errors.New("the output of no search")
	case isHosted:
		r.open, r.hosted = item, &hostedItem{form: hosted}
		return hosted.added(item)
	case kind == compaction:
		if sealed, _ := item["encrypted_content"].(string); sealed == "" {
			return errors.New("a compaction of nothing")
		}
	case form.text == "" && (item["call_id"] == nil || !isEmptyCall(item, form)):
		return errors.New("a call begins with its command, or without an id")
	case form.text != "" && form.part == "" && (item[form.whole] != "" || item["call_id"] == nil || item["name"] == ""):
		return errors.New("a call begins without an empty text, an id or a name")
	case form.part != "" && (content == nil || len(content) > 0):
		return errors.New("an item begins with content")
	case item["status"] != "in_progress" && (kind != "custom_tool_call" || item["status"] != nil): // those need not have one
		return errors.New("an item begins in another state than in_progress")
	case item["encrypted_content"] != nil:
		return errors.New("an item is sealed before it is whole")
	}
	r.open, r.form, r.part, r.textDone, r.partDone = item, form, nil, false, false
	r.text.Reset()
	r.likely, r.cited, r.hosted = nil, []any{}, nil
	return nil
}

// searched reports whether the last item is a search for tools.
func (r *responsesReader) searched() bool {
	if len(r.items) == 0 {
		return false
	}
	last, _ := r.items[len(r.items)-1].(Object)
	return formName(last) == serverSearch
}

// within is an event of the open item.
func (r *responsesReader) within(name string, e Object) error {
	if r.open == nil {
		return errors.New("no item is open, or no such event")
	}
	if e["output_index"] != float64(len(r.items)) {
		return errors.New("not the open item's output index")
	}
	if name == "response.output_item.done" {
		return r.done(e)
	}
	if e["item_id"] != r.open["id"] {
		return errors.New("not the open item's id")
	}
	if r.hosted != nil {
		return r.hosted.event(name, e)
	}
	if r.form.text == "" {
		return errors.New("an event of an item that has none")
	}
	if name == summaryForm.around+".added" && r.open["type"] == "reasoning" && r.part == nil {
		r.form = summaryForm
	}
	if r.form.part != "" && e[r.form.list+"_index"] != float64(0) {
		return errors.New("not the index of the only part")
	}
	ready := r.form.part == "" || r.part != nil
	switch {
	case name == r.form.around+".added" && r.form.part != "" && r.part == nil:
		return r.partAdded(e)
	case name == r.form.text+".delta" && ready && !r.textDone:
		return r.delta(e)
	case name == annotationAdded && r.form.part == "output_text" && ready && !r.textDone:
		if e["annotation_index"] != float64(len(r.cited)) {
			return errors.New("not the next annotation index")
		}
		r.cited = append(r.cited, e["annotation"])
		return nil
	case name == r.form.text+".done" && ready && !r.textDone:
		return r.textEnds(e)
	case name == r.form.around+".done" && r.textDone && r.form.part != "" && !r.partDone:
		return r.partEnds(e)
	}
	return errors.New("out of order, or not an event of this item")
}

func (r *responsesReader) partAdded(e Object) error {
	r.part, _ = e["part"].(Object)
	if r.part["type"] != r.form.part || r.part["text"] != "" {
		return errors.New("not the part of such an item, or not empty")
	}
	return nil
}

// delta takes a piece of the part's text.
func (r *responsesReader) delta(e Object) error {
	delta, _ := e["delta"].(string)
	r.text.WriteString(delta)
	if delta == "" || !utf8.ValidString(delta) {
		return errors.New("a delta without text, or not UTF-8")
	}
	likely, _ := e["logprobs"].([]any)
	r.likely = append(r.likely, likely...)
	return nil
}

// textEnds compares the whole text with its pieces.
func (r *responsesReader) textEnds(e Object) error {
	r.textDone = true
	if e[r.form.whole] != r.text.String() || e["name"] != nil && e["name"] != r.open["name"] {
		return fmt.Errorf("the deltas add up to %q, or the name is another", r.text.String())
	}
	if likely, _ := e["logprobs"].([]any); !slices.EqualFunc(likely, r.likely, sameValue) {
		return errors.New("the logprobs are not those of the deltas")
	}
	return nil
}

// partEnds compares the whole part with what has come of it.
func (r *responsesReader) partEnds(e Object) error {
	r.partDone = true
	part, _ := e["part"].(Object)
	changed := Object{"text": r.text.String()}
	if likely, ok := part["logprobs"].([]any); ok {
		if err := r.spelled(likely); err != nil {
			return err
		}
		changed["logprobs"] = likely
	}
	if r.part["annotations"] != nil {
		if err := citesText(r.cited, r.text.String()); err != nil {
			return err
		}
		changed["annotations"] = r.cited
	}
	err := sameBut(part, r.part, changed)
	r.part = part
	return err
}

// mostBefore is how much of a message's first token can stand before its text, in bytes: where a model has lost the
// format, the text begins within a token that is a header's in part.
const mostBefore = 8

// spelled says that a part's logprobs are the same as in the deltas, which have no bytes, and that the bytes are the
// text's.
func (r *responsesReader) spelled(likely []any) error {
	var text []byte
	without := []any{}
	for _, element := range likely {
		told, _ := element.(Object)
		spelled, _ := told["bytes"].([]any)
		for _, b := range spelled {
			n, _ := b.(float64)
			text = append(text, byte(n))
		}
		without = append(without, withoutBytes(told))
	}
	if !slices.EqualFunc(without, r.likely, sameValue) {
		return errors.New("the part's logprobs are not those of the deltas")
	}
	if len(likely) == 0 || !utf8.Valid(text) {
		return nil // none were asked for, or the text has U+FFFD in it
	}
	before := len(text) - r.text.Len()
	if before < 0 || before > mostBefore || string(text[before:]) != r.text.String() {
		return fmt.Errorf("the logprobs are those of %q", text)
	}
	return nil
}

// withoutBytes is a logprob as events have it.
func withoutBytes(told Object) Object {
	out := maps.Clone(told)
	delete(out, "bytes")
	if others, ok := told["top_logprobs"].([]any); ok {
		list := []any{}
		for _, other := range others {
			o, _ := other.(Object)
			list = append(list, withoutBytes(o))
		}
		out["top_logprobs"] = list
	}
	return out
}

func sameValue(a, b any) bool { return reflect.DeepEqual(a, b) }

func (r *responsesReader) done(e Object) error {
	item, _ := e["item"].(Object)
	if r.hosted != nil {
		err := r.hosted.done(item, r.open)
		r.items, r.open, r.hosted = append(r.items, item), nil, nil
		return err
	}
	changed := Object{}
	if status := item["status"]; status != nil {
		changed["status"] = status
		if status != "completed" && status != "incomplete" {
			return errors.New("an item is done that is neither completed nor incomplete")
		}
	}
	if sealed, ok := r.open["encrypted_content"]; ok && sealed == nil {
		changed["encrypted_content"] = item["encrypted_content"] // opened by the tests of what seals it
	}
	switch hidden := r.open["type"] == "reasoning" && r.part == nil; {
	case hidden: // has no events of its own, and no content
	case r.open["type"] == compaction: // is done as it was added
	case r.form.text == "":
		changed[r.form.whole] = item[r.form.whole]
		if action, _ := item[r.form.whole].(Object); r.form.whole == "action" &&
			(len(action) == 0 || item["status"] != "completed") {
			return errors.New("an action that is none, or that was cut")
		}
	case !r.textDone || r.form.part != "" && !r.partDone:
		return errors.New("an item is done whose text is not")
	case r.form.part == "":
		changed[r.form.whole] = r.text.String()
	default:
		changed[r.form.list] = []any{r.part}
	}
	for _, member := range tracedMembers {
		if ids, ok := item[member]; ok {
			changed[member] = ids // come when it is done
		}
	}
	err := sameBut(item, r.open, changed)
	r.items, r.open = append(r.items, item), nil
	return err
}

// tellsTwice looks at the event error, which tells the same error flat and as an object.
func (r *responsesReader) tellsTwice() error {
	if r.open != nil {
		return errors.New("an error within an item")
	}
	nested, _ := r.told["error"].(Object)
	for _, member := range []string{"code", "message", "param"} {
		if value, ok := nested[member]; !ok || value != r.told[member] {
			return fmt.Errorf("%s of the error is %v flat and %v nested", member, r.told[member], value)
		}
	}
	if nested["type"] == nil || r.told["message"] == "" {
		return errors.New("an error without a type or a message")
	}
	return nil
}

// end is the terminal event: the response as it was created, with its outcome and with all items as they were done.
func (r *responsesReader) end(status string, e Object) error {
	r.over = true
	response, _ := e["response"].(Object)
	if status == "failed" && response["status"] == cancelled {
		return sameBut(response, r.begun, Object{"status": cancelled, "output": []any{}})
	}
	if r.open != nil {
		return errors.New("the response ends within an item")
	}
	if failure, _ := response["error"].(Object); status == "failed" && failure["message"] != r.told["message"] {
		return fmt.Errorf("the error before failed is %v", r.told)
	}
	changed := Object{"status": status, "output": slices.Clone(r.items)}
	if len(r.items) == 0 {
		changed["output"] = []any{}
	}
	for _, member := range map[string][]string{
		"completed": {"completed_at", "usage"}, "incomplete": {"incomplete_details", "usage"}, "failed": {"error"},
	}[status] {
		if changed[member] = response[member]; response[member] == nil {
			return fmt.Errorf("%s without %s", status, member)
		}
	}
	for _, member := range []string{"input_messages", "output_messages"} {
		if _, ok := r.begun[member]; ok {
			changed[member] = response[member]
		}
	}
	for i, item := range r.items {
		if item.(Object)[tracedMembers[0]] != nil && i < len(r.items)-1 {
			return fmt.Errorf("item %d has the ids of tokens, and is not the last", i)
		}
		if item.(Object)["status"] == "incomplete" && (status == "completed" || i < len(r.items)-1) {
			return fmt.Errorf("item %d is incomplete, in a response that is not or before another item", i)
		}
	}
	created, _ := r.begun["created_at"].(float64)
	if completed, ok := response["completed_at"].(float64); ok && completed < created {
		return errors.New("completed before it was created")
	}
	if err := sameBut(response, r.begun, changed); err != nil {
		return err
	}
	if status == "incomplete" && reflect.DeepEqual(response["usage"], unread) {
		return nil // of a conversation that was too long to be read
	}
	return addsUp(response["usage"])
}

// unread is the usage of an answer for which no model was asked.
var unread any = Object{
	"input_tokens": 0., "input_tokens_details": Object{"cached_tokens": 0., "cache_write_tokens": 0.},
	"output_tokens": 0., "output_tokens_details": Object{"reasoning_tokens": 0.}, "total_tokens": 0.,
}

// sameBut says in which member got is not what it was, with what has changed.
func sameBut(got, was, changed Object) error {
	want := maps.Clone(was)
	maps.Copy(want, changed)
	for _, member := range slices.Sorted(maps.Keys(want)) {
		if value, ok := got[member]; !ok || !reflect.DeepEqual(value, want[member]) {
			return fmt.Errorf("%s is %v, want %v", member, value, want[member])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("members have come: %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	return nil
}

// addsUp looks at the numbers of a usage, if there is one. The output of tools was read as input.
func addsUp(usage any) error {
	u, ok := usage.(Object)
	if !ok {
		return nil
	}
	number := func(of Object, member string) float64 { n, _ := of[member].(float64); return n }
	in, out := number(u, "input_tokens"), number(u, "output_tokens")
	read, _ := u["input_tokens_details"].(Object)
	written, _ := u["output_tokens_details"].(Object)
	if in < 1 || number(u, "total_tokens") != in+out || number(read, "cached_tokens") > in ||
		number(written, "reasoning_tokens") > out || number(written, toolOutputTokens) > in {
		return fmt.Errorf("a usage that does not add up: %v", u)
	}
	return nil
}

// isEmptyCall reports whether a call that comes in one piece begins without what it will have.
func isEmptyCall(item Object, form itemForm) bool {
	content, _ := item[form.whole].(Object)
	if form.whole != "action" {
		return content != nil && len(content) == 0
	}
	command, ok := content["command"].([]any)
	return ok && len(command) == 0
}
