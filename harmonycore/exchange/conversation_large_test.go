//go:build !tinygo

package exchange

import (
	"runtime"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestConversationMemory checks that requests to servers of conversations take no more memory than they are admitted
// for.
func TestConversationMemory(t *testing.T) {
	g := conversing(nil)
	g.options.BodyLimit = 16 << 20
	fill := func(head, item, tail string) string {
		n := (g.options.BodyLimit - len(head) - len(tail)) / len(item)
		return head + strings.TrimSuffix(strings.Repeat(item, n), ",") + tail
	}
	item := func(kind string, size int) string {
		return `{"type":"` + kind + `","call_id":"c","name":"f","summary":[{"type":"summary_text","text":"` +
			strings.Repeat("r", size) + `"}],"input":"` + strings.Repeat(`\"`, size) + `"},`
	}
	for name, tc := range map[string]struct{ path, body string }{
		"reasoning": {contract.ResponsesPath, fill(`{"model":"qwen","input":[{"type":"reasoning","summary":[{"type":`+
			`"summary_text","text":"`, "r", `"}]}]}`)},
		"reasonings": {contract.ResponsesPath, fill(`{"model":"qwen","input":[`, item("reasoning", 2000), `]}`)},
		"inputs":     {contract.ResponsesPath, fill(`{"model":"qwen","input":[`, item("custom_tool_call", 2000), `]}`)},
		"count":      {contract.InputTokensPath, fill(`{"model":"qwen","input":"`, `\n`, `"}`)},
		"chat":       {contract.ChatPath, fill(`{"model":"qwen","messages":[{"role":"user","content":"`, "r", `"}]}`)},
		"tokenize":   {contract.TokenizePath, fill(`{"model":"qwen","prompt":"`, "r", `"}`)},
	} {
		var admitted int
		host := Host{Now: testNow, ID: testID, Admit: func(bytes int) bool { admitted = bytes; return true }}
		body := []byte(tc.body)
		x := g.Begin("POST", tc.path)
		x.RequestHeaders()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		action := x.Request(body, host)
		runtime.ReadMemStats(&after)
		if action.Forward == nil {
			t.Fatalf("%s: %s", name, action.Reply.Body)
		}
		allocated := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes, of which %d are sent, allocate %d; admitted are %d", name, len(body), len(action.Forward.Body),
			allocated, admitted)
		if allocated > uint64(admitted) {
			t.Errorf("%s: %d bytes allocate %d; admitted are %d", name, len(body), allocated, admitted)
		}
	}
}

// TestRenderMemory is the same for conversations that are rendered, with spellings of control tokens.
func TestRenderMemory(t *testing.T) {
	for _, decision := range []string{contract.ControlTokensRefuse, contract.ControlTokensBreak} {
		g := renderingGateway(func(c *contract.Config) { c.Models[0].ControlTokens = decision })
		g.options.BodyLimit = 8 << 20
		for _, text := range []string{"<|a|>", `\u003c`, `\u003c|a|>`, `\n`, `\"`} {
			const head, tail = `{"model":"qwen","messages":[{"role":"user","content":"`, `"}]}`
			n := (g.options.BodyLimit - len(head) - len(tail)) / len(text)
			body := []byte(head + strings.Repeat(text, n) + tail)
			var admitted int
			host := Host{Now: testNow, ID: testID, Admit: func(bytes int) bool { admitted = bytes; return true }, Scratch: &Scratch{}}
			x := g.Begin("POST", contract.ChatPath)
			x.RequestHeaders()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			action := x.Request(body, host)
			runtime.ReadMemStats(&after)
			if (action.Render == nil) != (decision == contract.ControlTokensRefuse && strings.Contains(text, "|a|>")) {
				t.Fatalf("%s, %s: %+v", decision, text, action)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(admitted) {
				t.Errorf("%s, %s: %d bytes allocate %d; admitted are %d", decision, text, len(body), allocated, admitted)
			}
		}
	}
}
