//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// This file reads channel events by what docs/channel-events.md promises, and shares nothing with what writes them.

// channelEvent is one event; which members count depends on its name.
type channelEvent struct {
	name    string
	message int
	text    string
	call    channelCall
	reason  string
	code    string
}

type channelCall struct {
	Message, Index            int
	ID, Type, Name, Arguments string
	Conversation              *struct {
		Messages []conversationMessage `json:"messages"`
	}
}

// conversationMessage is one of the reference's messages.
type conversationMessage map[string]any

func (m conversationMessage) text(key string) string {
	s, _ := m[key].(string)
	return s
}

type channelUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	PromptOf   *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionOf struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// readChannelEvents reads a stream that came to its end. Its error says which promise was broken.
func readChannelEvents(body string) ([]channelEvent, error) {
	body = strings.TrimSuffix(body, "\n\n") + "\n" // a case ends with a line end of its own
	body = strings.TrimSuffix(body, "\n")
	var r channelReader
	for i, event := range strings.Split(body, "\n\n") {
		if err := r.event(strings.TrimSuffix(event, "\n")); err != nil {
			return nil, fmt.Errorf("event %d: %w: %s", i+1, err, event)
		}
	}
	if !r.over {
		return nil, errors.New("neither done nor error at the end")
	}
	return r.events, nil
}

// channelReader is where in the grammar a stream stands.
type channelReader struct {
	events []channelEvent
	// texts are what each message of the model has said so far, by its index, and kinds in which events.
	texts map[int]string
	kinds map[int]string
	last  int
	calls int
	ids   []string
	over  bool
}

func (r *channelReader) event(event string) error {
	if r.over {
		return errors.New("an event behind the end")
	}
	first, second, ok := strings.Cut(event, "\n")
	name, named := strings.CutPrefix(first, "event: ")
	data, hasData := strings.CutPrefix(second, "data: ")
	if !ok || !named || !hasData || strings.Contains(data, "\n") {
		return errors.New("not an event line and a data line")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(data), &members); err != nil {
		return err
	}
	want := map[string][]string{
		"analysis": {"message", "text"}, "commentary": {"message", "text"}, "token": {"message", "text"},
		"tool_call": {"message", "index", "id", "type", "name", "arguments", "conversation"},
		"done":      {"id", "created", "model", "finish_reason", "usage"},
		"error":     {"error", "usage"},
	}[name]
	if want == nil || len(members) != len(want) {
		return errors.New("members or name are not those of an event")
	}
	for _, key := range want {
		if members[key] == nil {
			return fmt.Errorf("no %s", key)
		}
	}
	if r.texts == nil {
		r.texts, r.kinds = map[int]string{}, map[int]string{}
	}
	e := channelEvent{name: name}
	var err error
	switch name {
	case "tool_call":
		err = r.call(data, &e)
	case "done":
		err = r.done(data, &e)
	case "error":
		err = r.failure(data, &e)
	default:
		err = r.text(data, &e)
	}
	r.events = append(r.events, e)
	return err
}

// exactly decodes what has no member that to has not.
func exactly(data string, to any) error {
	d := json.NewDecoder(strings.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

func (r *channelReader) text(data string, e *channelEvent) error {
	var in struct {
		Message *int
		Text    string
	}
	if err := exactly(data, &in); err != nil {
		return err
	}
	if in.Message == nil {
		return errors.New("no message")
	}
	e.message, e.text = *in.Message, in.Text
	switch {
	case in.Text == "" || !utf8.ValidString(in.Text):
		return errors.New("no text, or not UTF-8")
	case spellsControl(in.Text):
		return errors.New("a structural token inside")
	case r.kinds[e.message] != "" && r.kinds[e.message] != e.name:
		return errors.New("a message in two kinds of events")
	}
	r.kinds[e.message] = e.name
	r.texts[e.message] += in.Text
	return r.follows(e.message)
}

// follows says that messages come in their order.
func (r *channelReader) follows(message int) error {
	if message < r.last {
		return errors.New("an earlier message again")
	}
	r.last = message
	return nil
}

func (r *channelReader) call(data string, e *channelEvent) error {
	if err := exactly(data, &e.call); err != nil {
		return err
	}
	c := &e.call
	e.message = c.Message
	switch {
	case r.kinds[c.Message] != "":
		return errors.New("a call's message has other events")
	case c.Index != r.calls || c.ID == "" || slices.Contains(r.ids, c.ID) || c.Name == "":
		return errors.New("the index, id or name of a call")
	case c.Type != "function" && c.Type != "custom":
		return errors.New("no such type of call")
	case spellsControl(data):
		return errors.New("a structural token inside")
	}
	r.kinds[c.Message], r.texts[c.Message] = e.name, c.Arguments
	r.calls, r.ids = r.calls+1, append(r.ids, c.ID)
	if c.Conversation != nil {
		if err := r.conversation(c); err != nil {
			return err
		}
	}
	return r.follows(c.Message)
}

// conversation ends with all that the model has said so far, the call last.
func (r *channelReader) conversation(c *channelCall) error {
	said := c.Conversation.Messages
	from := len(said) - c.Message - 1
	if from < 1 {
		return errors.New("a conversation without a prompt")
	}
	if said[0].text("role") != "system" {
		return errors.New("the conversation does not begin with the system message")
	}
	for i, m := range said[from:] {
		if m.text("content") != r.texts[i] {
			return fmt.Errorf("message %d of the answer is not what its events said", i)
		}
		if err := isOf(m, r.kinds[i]); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	last := said[len(said)-1]
	if last.text("recipient") != "functions."+c.Name || last.text("channel") != "commentary" ||
		(last.text("content_type") == "json") != (c.Type == "function") {
		return errors.New("the conversation does not end with the call")
	}
	return nil
}

// isOf says which messages are told by which events. Those in another role's name, on an unknown channel or to somebody who
// cannot be called are analysis.
func isOf(m conversationMessage, kind string) error {
	channel := m.text("channel")
	ok := m.text("role") == "assistant"
	switch kind {
	case "commentary":
		ok = ok && channel == "commentary"
	case "token":
		ok = ok && channel == "final"
	case "analysis":
		ok = !ok || m.text("recipient") != "" || channel != "final" && channel != "commentary" && channel != ""
	}
	if !ok && kind != "" {
		return fmt.Errorf("%v is told by %s", m, kind)
	}
	return nil
}

func (r *channelReader) done(data string, e *channelEvent) error {
	var in struct {
		ID, Model    string
		Created      int64
		FinishReason string `json:"finish_reason"`
		Usage        *channelUsage
	}
	if err := exactly(data, &in); err != nil {
		return err
	}
	e.reason, r.over = in.FinishReason, true
	switch in.FinishReason {
	case "stop":
		if r.calls > 0 {
			return errors.New("stop behind a call")
		}
	case "tool_calls":
		if r.calls == 0 {
			return errors.New("tool_calls without a call")
		}
	case "length":
	default:
		return errors.New("no such finish reason")
	}
	if in.ID == "" || in.Model == "" {
		return errors.New("no id or model")
	}
	return in.Usage.check()
}

func (u *channelUsage) check() error {
	if u == nil || u.Prompt < 1 || u.Total != u.Prompt+u.Completion || u.CompletionOf.Reasoning > u.Completion ||
		u.PromptOf != nil && u.PromptOf.Cached > u.Prompt {
		return errors.New("a usage that does not add up")
	}
	return nil
}

func (r *channelReader) failure(data string, e *channelEvent) error {
	var in struct {
		Error struct {
			Message, Type, Code string
			Param               *string
		}
		Usage *channelUsage
	}
	if err := exactly(data, &in); err != nil {
		return err
	}
	e.code, r.over = in.Error.Code, true
	if in.Error.Message == "" || in.Error.Type == "" || in.Error.Code == "" {
		return errors.New("an error without a message, type or code")
	}
	if in.Error.Code != "no_final_channel" {
		return nil
	}
	if r.calls > 0 || slices.Contains(kindsOf(r.events), "token") {
		return errors.New("no_final_channel behind an answer")
	}
	return in.Usage.check()
}

func kindsOf(events []channelEvent) (names []string) {
	for _, e := range events {
		names = append(names, e.name)
	}
	return names
}

// TestChannelGrammarRefuses shows that each promise is looked at.
func TestChannelGrammarRefuses(t *testing.T) {
	const (
		usage = `{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,` +
			`"completion_tokens_details":{"reasoning_tokens":2}}`
		done = `event: done` + "\n" + `data: {"id":"x","created":1,"model":"m","finish_reason":"stop","usage":` + usage +
			"}\n\n"
		text = `event: analysis` + "\n" + `data: {"message":0,"text":"Hm"}` + "\n\n" + `event: token` + "\n" +
			`data: {"message":1,"text":"Hi"}` + "\n\n"
		call = `event: analysis` + "\n" + `data: {"message":0,"text":"Hm"}` + "\n\n" + `event: tool_call` + "\n" +
			`data: {"message":1,"index":0,"id":"c","type":"function","name":"f","arguments":"{}",` +
			`"conversation":{"messages":[{"role":"system","content":""},` +
			`{"role":"assistant","channel":"analysis","content":"Hm"},{"role":"assistant","channel":"commentary",` +
			`"recipient":"functions.f","content_type":"json","content":"{}"}]}}` + "\n\n"
		fault = `event: error` + "\n" + `data: {"error":{"message":"m","type":"t","param":null,"code":"no_final_channel"},` +
			`"usage":` + usage + "}\n\n"
	)
	called := strings.Replace(done, `"stop"`, `"tool_calls"`, 1)
	for _, good := range []string{done, text + done, call + called, fault, strings.Replace(fault, usage, "null", 1)} {
		if strings.Contains(good, "null}") {
			good = strings.Replace(good, "no_final_channel", "server_error", 1)
		}
		if _, err := readChannelEvents(good); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []struct{ stream, old, new string }{
		{text, "", ""}, {text + done + done, "", ""}, {done + text, "", ""}, {call + done, "", ""}, {text + called, "", ""},
		{text + fault, "", ""},
		{text + done, "event: token", "event: final"}, {text + done, "event: token\n", ""},
		{text + done, `"text":"Hm"`, `"text":""`},
		{text + done, `"text":"Hm"`, `"text":"<|end|>"`}, {text + done, `"message":0`, `"message":2`},
		{text + done, `"message":1`, `"message":0`},
		{text + done, `"message":0,`, ``}, {text + done, `"Hm"}`, `"Hm","x":1}`}, {text + done, `"Hm"}`, `"Hm"`},
		{text + done, `13`, `14`},
		{text + done, `"reasoning_tokens":2`, `"reasoning_tokens":5`}, {text + done, `"stop"`, `"end"`},
		{text + done, `"id":"x"`, `"id":""`},
		{call + called, `"index":0`, `"index":1`}, {call + called, `"id":"c"`, `"id":""`},
		{call + called, `"function"`, `"f"`}, {call + called, `"name":"f"`, `"name":"g"`},
		{call + called, `"arguments":"{}"`, `"arguments":"[]"`}, {call + called, `"content":"Hm"`, `"content":"Ha"`},
		{call + called, `"channel":"analysis"`, `"channel":"final"`}, {call + called, `,"content_type":"json"`, ``},
		{call + called, `"channel":"commentary"`, `"channel":"analysis"`},
		{call + called, `"role":"system"`, `"role":"user"`},
		{call + called, `,"conversation":`, `,"messages":`}, {call + called, `"message":1`, `"message":0`},
		{fault, `"code":"no_final_channel"`, `"code":null`}, {fault, usage, "null"},
	} {
		stream := strings.Replace(bad.stream, bad.old, bad.new, 1)
		if bad.old != "" && stream == bad.stream {
			t.Errorf("%s is not there", bad.old)
		}
		if _, err := readChannelEvents(stream); err == nil {
			t.Errorf("accepted: %s", stream)
		}
	}
}
