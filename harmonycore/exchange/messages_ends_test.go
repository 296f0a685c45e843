package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestMessagesEnds: the client is told which stop sequence and which limit has ended an answer. The end of the model's
// context is one, where max_tokens is larger than the rest of it.
func TestMessagesEnds(t *testing.T) {
	const said = "<|channel|>final<|message|>One, two."
	for _, tt := range []struct {
		name, members, text, finish, reason, sequence string
	}{
		{"the end", `"max_tokens":100`, said + "<|return|>", "stop", "end_turn", "null"},
		{"max_tokens", `"max_tokens":8`, said, "length", "max_tokens", "null"},
		{"the context", `"max_tokens":100000`, said, "length", "model_context_window_exceeded", "null"},
		{"a whole answer in the context", `"max_tokens":100000`, said + "<|return|>", "stop", "end_turn", "null"},
		{"a stop sequence", `"max_tokens":100000,"stop_sequences":["x",", t"]`, said, "length", "stop_sequence", `", t"`},
		{"the maximum of reasoning", `"max_tokens":100000,"thinking":{"type":"enabled","budget_tokens":2}`,
			"<|channel|>analysis<|message|>One, two.", "length", "max_tokens", "null"},
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			body := `{"model":"` + testModel + `",` + tt.members + `,"messages":[{"role":"user","content":"Hi"}]` + stream + `}`
			got := outcome(t, forwarded(t, testGateway(nil), contract.MessagesPath, body),
				[]string{serverChunk(0, tt.text, tt.finish) + serverUsage + serverDone})
			want := `"stop_reason":"` + tt.reason + `","stop_sequence":` + tt.sequence
			if !strings.Contains(got, want) || strings.HasSuffix(got, "(cut)") {
				t.Errorf("%s: %s, want %s", tt.name, got, want)
			}
		}
	}
}

// TestMessagesEndsAtServers: where only the servers know the prompt, their counts tell which limit it was.
func TestMessagesEndsAtServers(t *testing.T) {
	const chunk = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,` +
		`"delta":{"role":"assistant","content":"One"},"finish_reason":"length"}]}` + "\n\n"
	for prompt, reason := range map[int]string{100: "max_tokens", 4_000: "model_context_window_exceeded"} {
		g := conversing(func(m *contract.Model) { m.ContextLength = 4_096 })
		usage := fmt.Sprintf(`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[],`+
			`"usage":{"prompt_tokens":%d,"completion_tokens":96,"total_tokens":%d}}`+"\n\n", prompt, prompt+96)
		got := outcome(t, forwarded(t, g, contract.MessagesPath, `{"model":"qwen","max_tokens":96,`+
			`"messages":[{"role":"user","content":"u"}]}`), []string{chunk + usage + serverDone})
		if !strings.Contains(got, `"stop_reason":"`+reason+`"`) ||
			!strings.Contains(got, fmt.Sprintf(`"input_tokens":%d,`, prompt)) {
			t.Errorf("%s, want %s", got, reason)
		}
	}
}
