package exchange

import (
	"fmt"
	"strings"
	"testing"
)

// manyMessages is the stream of a model that writes so many messages, and so many of them in an event.
func manyMessages(n, inEvent int) []string {
	var events []string
	for left := n; left > 0; left -= inEvent {
		events = append(events, serverChunk(0, strings.Repeat("<|channel|>analysis<|message|>x<|end|><|start|>assistant",
			min(left, inEvent)), ""))
	}
	return events
}

// TestMaxMessages: an answer may have maxMessages, and not one more, in each form of an answer and wherever the
// server's events are cut.
func TestMaxMessages(t *testing.T) {
	last := serverChunk(0, "<|channel|>final<|message|>Done<|return|>", "stop") + serverUsage + serverDone
	forms := []struct{ name, path, body, refused string }{
		{"chat", "/v1/chat/completions", chatBody(false), `502 {"error":`},
		{"chat stream", "/v1/chat/completions", chatBody(true), `data: {"error":`},
		{"response", "/v1/responses", `{"model":"gpt-oss-120b","input":"Hi"}`, `502 {"error":`},
		{
			"response stream", "/v1/responses", `{"model":"gpt-oss-120b","input":"Hi","stream":true}`,
			`"type":"response.failed"`,
		},
		{
			"message", "/v1/messages", strings.Replace(messagesStream, `"stream":true`, `"stream":false`, 1),
			`502 {"type":"error",`,
		},
		{"message stream", "/v1/messages", messagesStream, "event: error\n"},
	}
	for _, f := range forms {
		for _, inEvent := range []int{1, 100, maxMessages} {
			t.Run(fmt.Sprintf("%s, %d in an event", f.name, inEvent), func(t *testing.T) {
				g := testGateway(func(o *Options) { o.Models[0].ContextLength = 131072 })
				largest := outcome(t, forwarded(t, g, f.path, f.body), append(manyMessages(maxMessages-1, inEvent), last))
				if !strings.Contains(largest, "Done") || strings.Contains(largest, "messages in one answer") {
					t.Errorf("%d messages: got %.200s … %s", maxMessages, largest, tail(largest))
				}
				more := outcome(t, forwarded(t, g, f.path, f.body), append(manyMessages(maxMessages, inEvent), last))
				if strings.Contains(more, "Done") || !strings.Contains(more, "more than 1024 messages in one answer") ||
					!strings.Contains(more, f.refused) {
					t.Errorf("%d messages: got %.200s … %s", maxMessages+1, more, tail(more))
				}
			})
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-300):] }
