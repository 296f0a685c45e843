package translate

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// asMessages makes a Messages request of one that was read from a body of Responses, which has the same tools.
func asMessages(r *Request, stream bool, thinking anthropic.Thinking) *Request {
	r.API, r.Stream, r.thinking, r.sealed = MessagesAPI, stream, thinking, true
	r.CountedPrompt(10)
	return r
}

// messagesTo returns an answer to a request with a function f, and with a tool run that takes text.
func messagesTo(t *testing.T, stream bool, thinking anthropic.Thinking, s Sealing) Answer {
	t.Helper()
	r, err := readSealed(t, s, 0, false, `{"model":"m","input":"q","tools":[{"type":"function","name":"f"},`+
		`{"type":"custom","name":"run"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	return asMessages(r, stream, thinking).NewAnswer()
}

// built is a message as a client builds it from a stream. It has the form of a whole answer.
type built struct {
	t       *testing.T
	message map[string]any
	content []any
	// open is the open block, and input the text of its input. signed reports whether it has its signature, and called
	// whether the last block was a call.
	open           map[string]any
	input          string
	signed, called bool
}

// buildMessage builds the message of a stream that came to its end, and refuses every other stream.
func buildMessage(t *testing.T, stream string) map[string]any {
	t.Helper()
	b := built{t: t}
	events := parseEvents(t, stream)
	for i, e := range events {
		if e.data["type"] != e.name || (i == 0) != (e.name == "message_start") ||
			(i == len(events)-1) != (e.name == "message_stop") {
			t.Fatalf("event %d is %s with %v", i, e.name, e.data)
		}
		b.event(i, e)
	}
	if b.message["stop_reason"] == nil {
		t.Fatal("stops without a reason")
	}
	b.message["content"] = b.content
	return b.message
}

func (b *built) event(i int, e event) {
	b.t.Helper()
	if strings.HasPrefix(e.name, "content_block") && (e.data["index"] != float64(len(b.content)) ||
		(b.open == nil) != (e.name == "content_block_start") || b.message["stop_reason"] != nil) {
		b.t.Fatalf("event %d: %v", i, e.data)
	}
	switch e.name {
	case "message_start":
		b.message, b.content = e.data["message"].(map[string]any), []any{}
		if b.message["stop_reason"] != nil || b.message["stop_sequence"] != nil || len(b.message["content"].([]any)) > 0 {
			b.t.Fatalf("begins as %v", b.message)
		}
	case "content_block_start":
		b.open, b.input, b.signed = e.data["content_block"].(map[string]any), "", false
		if b.open["type"] != "tool_use" && b.called {
			b.t.Fatalf("%v behind a call", b.open)
		}
		b.called = b.open["type"] == "tool_use"
	case "content_block_delta":
		b.delta(e.data["delta"].(map[string]any))
	case "content_block_stop":
		b.closed()
	case "message_delta":
		if b.open != nil || b.message["stop_reason"] != nil {
			b.t.Fatalf("ends as %v with %v", e.data, b.open)
		}
		maps.Copy(b.message, e.data["delta"].(map[string]any))
		b.message["usage"] = e.data["usage"]
	case "message_stop":
	default:
		b.t.Fatalf("event %d is %s", i, e.name)
	}
}

func (b *built) delta(d map[string]any) {
	b.t.Helper()
	of := map[any]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
		"input_json_delta": "tool_use"}[d["type"]]
	if of != b.open["type"] || b.signed {
		b.t.Fatalf("%v in %v", d, b.open)
	}
	switch d["type"] {
	case "input_json_delta":
		b.input += d["partial_json"].(string)
	case "signature_delta":
		b.open["signature"], b.signed = d["signature"], true
	default:
		if d[of] == "" {
			b.t.Fatal("an empty delta")
		}
		b.open[of] = b.open[of].(string) + d[of].(string)
	}
}

func (b *built) closed() {
	b.t.Helper()
	ok := false
	switch b.open["type"] {
	case "tool_use":
		ok = len(b.open["input"].(map[string]any)) == 0
		// What a client makes of an input that is no object is its own matter.
		b.open["input"] = decode(b.t, string(anthropic.AppendOutput(nil, &anthropic.OutputBlock{
			Kind: anthropic.OutputToolUse, Arguments: []byte(b.input)})))["input"]
	case "text":
		ok = b.open["text"] != ""
	case "thinking":
		ok = b.signed
	case "redacted_thinking":
		ok = b.open["data"] != ""
	}
	if !ok {
		b.t.Fatalf("block %v", b.open)
	}
	b.content, b.open = append(b.content, b.open), nil
}

// blocksOf writes a message's blocks in a line, with what is sealed in them.
func blocksOf(t *testing.T, message map[string]any, s Sealing) string {
	t.Helper()
	var blocks []string
	for _, v := range message["content"].([]any) {
		b := v.(map[string]any)
		switch b["type"] {
		case "text":
			blocks = append(blocks, fmt.Sprintf("text %q", b["text"]))
		case "thinking":
			blocks = append(blocks, fmt.Sprintf("thinking %q %s", b["thinking"], openedText(t, s, b["signature"])))
		case "redacted_thinking":
			blocks = append(blocks, "redacted "+openedText(t, s, b["data"]))
		default:
			blocks = append(blocks, fmt.Sprintf("%s %s", b["name"], encode(t, b["input"])))
		}
	}
	return strings.Join(blocks, " · ")
}

// openedText opens a sealed text.
func openedText(t *testing.T, s Sealing, sealed any) string {
	t.Helper()
	if sealed == "" {
		return "-"
	}
	text, form, _, err := s.open([]byte(sealed.(string)), "m", testEnv.Now)
	if err != nil || form != seal.Text {
		t.Fatalf("%v: %v, %v", sealed, form, err)
	}
	return fmt.Sprintf("%q", text)
}

// checkMessages checks the grammar of a stream, and that the whole answer equals it. It returns the message.
func checkMessages(t *testing.T, c answerCase, thinking anthropic.Thinking, s Sealing) map[string]any {
	t.Helper()
	streamed := buildMessage(t, play(messagesTo(t, true, thinking, s), c, never))
	whole := decode(t, play(messagesTo(t, false, thinking, s), c, never))
	sameMessages(t, c.name, streamed, whole, s)
	return whole
}

// sameMessages compares two messages. Texts that are sealed twice differ in their letters.
func sameMessages(t *testing.T, name string, streamed, whole map[string]any, s Sealing) {
	t.Helper()
	told := func(m map[string]any) string {
		rest := maps.Clone(m)
		delete(rest, "content")
		return blocksOf(t, m, s) + "\n" + encode(t, rest)
	}
	if got, want := told(streamed), told(whole); got != want {
		t.Fatalf("%s: streamed\n%s\nwhole\n%s", name, got, want)
	}
}
