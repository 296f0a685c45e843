//go:build e2e

package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// spellsControl reports whether a text spells a control token.
func spellsControl(text string) bool {
	for i := range len(text) {
		if _, size, _ := tokenizer.MatchSpecial([]byte(text[i:])); size > 0 {
			return true
		}
	}
	return false
}

// This file reads channel events by what docs/channel-events.md promises, and shares nothing with what writes them.

// ChannelEvent is one event; which members count depends on its name.
type ChannelEvent struct {
	Name    string
	Message int
	Text    string
	Call    channelCall
	Reason  string
	Code    string
}

type channelCall struct {
	Message, Index            int
	ID, Type, Name, Arguments string
	Conversation              *struct {
		Messages []Message `json:"messages"`
	}
}

// Message is one of the reference's messages.
type Message map[string]any

func (m Message) text(key string) string {
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

// ReadChannelEvents reads a stream that came to its end. Its error says which promise was broken.
func ReadChannelEvents(body string) ([]ChannelEvent, error) {
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
	events []ChannelEvent
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
	e := ChannelEvent{Name: name}
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

func (r *channelReader) text(data string, e *ChannelEvent) error {
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
	e.Message, e.Text = *in.Message, in.Text
	switch {
	case in.Text == "" || !utf8.ValidString(in.Text):
		return errors.New("no text, or not UTF-8")
	case spellsControl(in.Text):
		return errors.New("a structural token inside")
	case r.kinds[e.Message] != "" && r.kinds[e.Message] != e.Name:
		return errors.New("a message in two kinds of events")
	}
	r.kinds[e.Message] = e.Name
	r.texts[e.Message] += in.Text
	return r.follows(e.Message)
}

// follows says that messages come in their order.
func (r *channelReader) follows(message int) error {
	if message < r.last {
		return errors.New("an earlier message again")
	}
	r.last = message
	return nil
}

func (r *channelReader) call(data string, e *ChannelEvent) error {
	if err := exactly(data, &e.Call); err != nil {
		return err
	}
	c := &e.Call
	e.Message = c.Message
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
	r.kinds[c.Message], r.texts[c.Message] = e.Name, c.Arguments
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

// isOf reports an error unless messages of this kind are sent as these events. Messages in the name of another role, on
// an unknown channel or to an unknown recipient are analysis.
func isOf(m Message, kind string) error {
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

func (r *channelReader) done(data string, e *ChannelEvent) error {
	var in struct {
		ID, Model    string
		Created      int64
		FinishReason string `json:"finish_reason"`
		Usage        *channelUsage
	}
	if err := exactly(data, &in); err != nil {
		return err
	}
	e.Reason, r.over = in.FinishReason, true
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

func (r *channelReader) failure(data string, e *ChannelEvent) error {
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
	e.Code, r.over = in.Error.Code, true
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

func kindsOf(events []ChannelEvent) (names []string) {
	for _, e := range events {
		names = append(names, e.Name)
	}
	return names
}
