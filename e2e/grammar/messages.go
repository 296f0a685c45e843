//go:build e2e

package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file reads answers of Anthropic's Messages by that API's grammar, so far as the gateway uses it, and shares
// nothing with what writes them:
//
//	message_start  block*  message_delta  message_stop
//	block = content_block_start  delta*  signature?  content_block_stop
//
// A call that a server runs is a block, and what it has returned is the next one.
//
// A ping may come anywhere before the end, and an error ends a stream anywhere, within a block too. Objects have the
// members that are named here and no others.

// messageStops are the reasons why a message ends. A call ends it with the first four, and nothing else with the first.
var messageStops = []string{"tool_use", "max_tokens", "model_context_window_exceeded", "refusal", "end_turn",
	"stop_sequence"}

// messageErrors are the types of errors.
var messageErrors = []string{"invalid_request_error", "authentication_error", "billing_error", "permission_error",
	"not_found_error", "request_too_large", "rate_limit_error", "api_error", "not_supported", "timeout_error",
	"overloaded_error"}

// messageBlock is the form of a type of block: the members of a whole one, and how the deltas of one are named that has
// deltas.
type messageBlock struct {
	members      []string
	delta, piece string
}

var messageBlocks = map[string]messageBlock{
	"text":              {[]string{"type", "text"}, "text_delta", "text"},
	"thinking":          {[]string{"type", "thinking", "signature"}, "thinking_delta", "thinking"},
	"redacted_thinking": {[]string{"type", "data"}, "", ""},
	"tool_use":          {[]string{"type", "id", "name", "input"}, "input_json_delta", "partial_json"},
	"server_tool_use":   {[]string{"type", "id", "name", "input"}, "input_json_delta", "partial_json"},
	"mcp_tool_use":      {[]string{"type", "id", "name", "server_name", "input"}, "input_json_delta", "partial_json"},

	"web_search_tool_result": {[]string{"type", "tool_use_id", "content"}, "", ""},
	"mcp_tool_result":        {[]string{"type", "tool_use_id", "is_error", "content"}, "", ""},
}

// messagesReader is where in the grammar a stream stands.
type messagesReader struct {
	// message is the message so far, with the blocks that are closed.
	message Object
	content []any
	ids     map[string]bool
	// open is the open block, form its form, and text what its deltas add up to. signed says that it has its signature.
	open   Object
	form   messageBlock
	text   strings.Builder
	signed bool
	// failed says that an error ended the stream, and over that the stream has ended.
	failed, over bool
	events       int
}

// ReadMessages reads a stream, and of one that was cut off what came before. It returns the message as a client builds
// it, without a reason if an error has ended it, and the number of events. The input of a call that is no object is its
// text.
func ReadMessages(body string, cut bool) (message Object, events int, err error) {
	parts := strings.Split(body, "\n\n")
	rest := parts[len(parts)-1] // what follows the last empty line
	r := messagesReader{ids: map[string]bool{}}
	for _, event := range parts[:len(parts)-1] {
		if err := r.event(event); err != nil {
			return nil, r.events, fmt.Errorf("event %d: %w: %s", r.events, err, event)
		}
		r.events++
	}
	switch {
	case cut && r.over:
		return nil, r.events, errors.New("cut off behind its end")
	case !cut && !r.over:
		return nil, r.events, errors.New("the stream has no end")
	case !cut && strings.TrimSpace(rest) != "":
		return nil, r.events, fmt.Errorf("half an event: %s", rest)
	}
	if r.message != nil {
		r.message["content"] = r.content
	}
	return r.message, r.events, nil
}

func (r *messagesReader) event(text string) error {
	name, e, err := namedEvent(text)
	switch {
	case err != nil:
		return err
	case r.over:
		return errors.New("an event behind the end")
	case name == "ping":
		return hasOnly(e, "type")
	case (r.message == nil) != (name == "message_start"):
		return errors.New("message_start is not the first event, once")
	case name == "error":
		r.over, r.failed = true, true
		return isMessagesError(e, "type", "error")
	case r.message != nil && r.message["stop_reason"] != nil && name != "message_stop":
		return errors.New("something between message_delta and message_stop")
	}
	switch name {
	case "message_start":
		return r.start(e)
	case "content_block_start":
		return r.added(e)
	case "content_block_delta":
		return r.delta(e)
	case "content_block_stop":
		return r.closed(e)
	case "message_delta":
		return r.ends(e)
	case "message_stop":
		if r.over = true; r.message["stop_reason"] == nil {
			return errors.New("a stop without a reason")
		}
		return hasOnly(e, "type")
	}
	return errors.New("no such event")
}

// namedEvent reads an event of two lines, whose name is also its type.
func namedEvent(text string) (string, Object, error) {
	first, second, ok := strings.Cut(text, "\n")
	name, named := strings.CutPrefix(first, "event: ")
	data, hasData := strings.CutPrefix(second, "data: ")
	if !ok || !named || !hasData || strings.Contains(data, "\n") {
		return "", nil, errors.New("not an event line and a data line")
	}
	var e Object
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return "", nil, err
	}
	if e["type"] != name {
		return "", nil, errors.New("type and name differ")
	}
	return name, e, nil
}

// hasOnly says that an object has these members and no others.
func hasOnly(o Object, members ...string) error {
	for _, member := range members {
		if _, ok := o[member]; !ok {
			return fmt.Errorf("no %s", member)
		}
	}
	if len(o) != len(members) {
		return fmt.Errorf("members are %v, want %v", slices.Sorted(maps.Keys(o)), members)
	}
	return nil
}

func (r *messagesReader) start(e Object) error {
	r.message, _ = e["message"].(Object)
	r.content = []any{}
	content, _ := r.message["content"].([]any)
	usage, _ := r.message["usage"].(Object)
	switch {
	case content == nil || len(content) > 0:
		return errors.New("begins with content, or without a list of it")
	case r.message["stop_reason"] != nil || r.message["stop_sequence"] != nil:
		return errors.New("begins with its end")
	case usage["output_tokens"] != 0.:
		return errors.New("tokens before the first")
	}
	if err := hasOnly(e, "type", "message"); err != nil {
		return err
	}
	return isMessage(r.message, true)
}

// isMessage looks at the members of a message that do not depend on its content. begins says that it has just begun.
func isMessage(m Object, begins bool) error {
	id, _ := m["id"].(string)
	model, _ := m["model"].(string)
	if err := hasOnly(m, "id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"); err != nil {
		return err
	}
	if m["type"] != "message" || m["role"] != "assistant" || !strings.HasPrefix(id, "msg_") || model == "" {
		return errors.New("not a message of the assistant's with an id and a model")
	}
	return countsTokens(m["usage"], begins)
}

// countsTokens looks at a usage. The prompt of a message that has just begun need not be known.
func countsTokens(usage any, begins bool) error {
	u, _ := usage.(Object)
	details, _ := u["output_tokens_details"].(Object)
	members := []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens",
		"output_tokens_details"}
	if served, has := u["server_tool_use"]; has {
		members = append(members, "server_tool_use")
		if err := countsServed(served); err != nil {
			return err
		}
	}
	if err := hasOnly(u, members...); err != nil {
		return err
	}
	if err := hasOnly(details, "thinking_tokens"); err != nil {
		return err
	}
	for _, n := range []any{u["input_tokens"], u["cache_creation_input_tokens"], u["cache_read_input_tokens"],
		u["output_tokens"], details["thinking_tokens"]} {
		if f, ok := n.(float64); !ok || f < 0 || f != float64(int(f)) {
			return fmt.Errorf("not a count: %v", n)
		}
	}
	if details["thinking_tokens"].(float64) > u["output_tokens"].(float64) {
		return errors.New("more thinking than tokens")
	}
	if !begins && promptOf(u) == 0 && u["output_tokens"] != 0. {
		return errors.New("an answer without a prompt")
	}
	return nil
}

// promptOf is the length of a prompt.
func promptOf(u Object) float64 {
	sum := 0.
	for _, member := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		n, _ := u[member].(float64)
		sum += n
	}
	return sum
}

func (r *messagesReader) added(e Object) error {
	if r.open != nil {
		return errors.New("a block opens inside of another")
	}
	block, _ := e["content_block"].(Object)
	kind, _ := block["type"].(string)
	r.open, r.form, r.signed = block, messageBlocks[kind], false
	r.text.Reset()
	if err := r.at(e, "content_block"); err != nil {
		return err
	}
	if err := isBlock(block, r.content, r.ids); err != nil {
		return err
	}
	input, _ := block["input"].(Object)
	if r.form.delta != "" && (isCall(kind) && len(input) > 0 || kind == "text" && block["text"] != "" ||
		kind == "thinking" && (block["thinking"] != "" || block["signature"] != "")) {
		return errors.New("a block begins with what its deltas bring")
	}
	return nil
}

// at says that an event is about the block of the next index, and has one more member.
func (r *messagesReader) at(e Object, member ...string) error {
	if e["index"] != float64(len(r.content)) {
		return errors.New("not the index of the block")
	}
	return hasOnly(e, append([]string{"type", "index"}, member...)...)
}

// isBlock looks at the members of a block, and at what it follows.
func isBlock(block Object, before []any, ids map[string]bool) error {
	kind, _ := block["type"].(string)
	form, known := messageBlocks[kind]
	if !known {
		return errors.New("no such type of block")
	}
	if isServed(kind) {
		return isServedBlock(block, form.members, before, ids)
	}
	if err := answersServed(before); err != nil {
		return err
	}
	members := form.members
	if _, cites := block["citations"]; cites && kind == "text" {
		members = append(slices.Clone(members), "citations")
		if err := areCitations(block["citations"]); err != nil {
			return err
		}
	}
	if err := hasOnly(block, members...); err != nil {
		return err
	}
	for _, member := range form.members {
		text, isText := block[member].(string)
		input, _ := block[member].(Object)
		if member == "input" && input == nil || member != "input" && !isText {
			return fmt.Errorf("%s is not of its type", member)
		}
		if (member == "id" || member == "name" || member == "data") && text == "" {
			return fmt.Errorf("%s is empty", member)
		}
	}
	if n := len(before); n > 0 && kind != "tool_use" && before[n-1].(Object)["type"] == "tool_use" {
		return errors.New("not a call, behind a call")
	}
	if id, _ := block["id"].(string); kind == "tool_use" {
		if ids[id] {
			return errors.New("the id of another call")
		}
		ids[id] = true
	}
	return nil
}

func (r *messagesReader) delta(e Object) error {
	d, _ := e["delta"].(Object)
	if r.open == nil {
		return errors.New("no block is open")
	}
	if err := r.at(e, "delta"); err != nil {
		return err
	}
	if r.signed {
		return errors.New("a delta behind the signature")
	}
	if d["type"] == "signature_delta" && r.open["type"] == "thinking" {
		r.signed = true
		signature, ok := d["signature"].(string)
		if r.open["signature"] = signature; !ok {
			return errors.New("no signature")
		}
		return hasOnly(d, "type", "signature")
	}
	if d["type"] == "citations_delta" && r.open["type"] == "text" {
		list, _ := r.open["citations"].([]any)
		r.open["citations"] = append(list, d["citation"])
		if err := areCitations(r.open["citations"]); err != nil {
			return err
		}
		return hasOnly(d, "type", "citation")
	}
	if r.form.delta == "" || d["type"] != r.form.delta {
		return errors.New("not a delta of this block")
	}
	piece, _ := d[r.form.piece].(string)
	r.text.WriteString(piece)
	if piece == "" || !utf8.ValidString(piece) {
		return errors.New("a piece that is empty or not UTF-8")
	}
	return hasOnly(d, "type", r.form.piece)
}

func (r *messagesReader) closed(e Object) error {
	if r.open == nil {
		return errors.New("no block is open")
	}
	if err := r.at(e); err != nil {
		return err
	}
	switch r.open["type"] {
	case "tool_use", "server_tool_use", "mcp_tool_use":
		r.open["input"] = inputOf(r.text.String())
	case "thinking":
		if r.open["thinking"] = r.text.String(); !r.signed {
			return errors.New("reasoning without a signature")
		}
	case "text":
		if r.open["text"] = r.text.String(); r.text.Len() == 0 {
			return errors.New("an empty text")
		}
	}
	r.content, r.open = append(r.content, r.open), nil
	return nil
}

// inputOf is the input of a call as a client reads it, or its text if it is no object.
func inputOf(text string) any {
	input := Object{}
	if strings.TrimSpace(text) == "" {
		return input
	}
	if json.Unmarshal([]byte(text), &input) != nil || input == nil {
		return text
	}
	return input
}

// ends is the event of the end. Its usage stands for the one of the beginning.
func (r *messagesReader) ends(e Object) error {
	d, _ := e["delta"].(Object)
	if r.open != nil {
		return errors.New("the message ends within a block")
	}
	if err := hasOnly(e, "type", "delta", "usage"); err != nil {
		return err
	}
	if err := hasOnly(d, "stop_reason", "stop_sequence"); err != nil {
		return err
	}
	if err := countsTokens(e["usage"], false); err != nil {
		return err
	}
	begun := promptOf(r.message["usage"].(Object))
	if told := promptOf(e["usage"].(Object)); begun != 0 && told != begun && told != 0 {
		return fmt.Errorf("a prompt of %v tokens, and then of %v", begun, told)
	}
	maps.Copy(r.message, d)
	r.message["usage"] = e["usage"]
	return stops(r.message, r.content)
}

// stops looks at why a message has ended.
func stops(m Object, content []any) error {
	if err := answersServed(content); err != nil {
		return err
	}
	at := slices.Index(messageStops, fmt.Sprint(m["stop_reason"]))
	called := len(content) > 0 && content[len(content)-1].(Object)["type"] == "tool_use"
	sequence, _ := m["stop_sequence"].(string)
	switch {
	case at < 0:
		return errors.New("no such reason")
	case called != (at == 0) && (at == 0 || at > 3):
		return errors.New("a reason that the last block is not")
	case (sequence != "") != (m["stop_reason"] == "stop_sequence") || sequence == "" && m["stop_sequence"] != nil:
		return errors.New("a stop sequence without the reason, or the other way round")
	}
	return nil
}

// ReadMessage reads a whole answer.
func ReadMessage(body string) (Object, error) {
	var m Object
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return nil, err
	}
	if err := isMessage(m, false); err != nil {
		return nil, err
	}
	content, ok := m["content"].([]any)
	if !ok {
		return nil, errors.New("no content")
	}
	ids := map[string]bool{}
	for i := range content {
		block, _ := content[i].(Object)
		if err := isBlock(block, content[:i], ids); err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		text, _ := block["text"].(string)
		thinking, _ := block["thinking"].(string)
		if block["type"] == "text" && text == "" || !utf8.ValidString(text+thinking) {
			return nil, fmt.Errorf("block %d: a text that is empty or not UTF-8", i)
		}
	}
	return m, stops(m, content)
}

// checkMessages looks at an answer of Messages, or at the beginning of one that was cut off. It returns the number of
// events and objects that it has looked at. No text may have a control token: no model of the suite spells one.
func checkMessages(body string, isStream, cut bool) (n int, err error) {
	var message Object
	switch n = 1; {
	case isStream:
		message, n, err = ReadMessages(body, cut)
	case !cut:
		message, err = ReadMessage(body)
	}
	if err != nil || message == nil {
		return n, err
	}
	for _, block := range message["content"].([]any) {
		for member, text := range block.(Object) {
			if spellsControl(fmt.Sprint(text)) {
				return n, fmt.Errorf("a control token in %s: %v", member, text)
			}
		}
	}
	return n, nil
}

// ReadMessagesError reads the body of an error.
func ReadMessagesError(body string) error {
	var e Object
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return err
	}
	if id, ok := e["request_id"]; ok {
		if text, _ := id.(string); text == "" {
			return errors.New("an empty id")
		}
		return isMessagesError(e, "type", "error", "request_id")
	}
	return isMessagesError(e, "type", "error")
}

// isMessagesError looks at an error, which has these members.
func isMessagesError(e Object, members ...string) error {
	inner, _ := e["error"].(Object)
	if err := hasOnly(e, members...); err != nil {
		return err
	}
	if err := hasOnly(inner, "type", "message"); err != nil {
		return err
	}
	kind, _ := inner["type"].(string)
	if message, _ := inner["message"].(string); e["type"] != "error" || message == "" ||
		!slices.Contains(messageErrors, kind) {
		return fmt.Errorf("not an error of the API: %v", e)
	}
	return nil
}
