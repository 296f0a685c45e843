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
