//go:build !tinygo

package translate

import (
	"runtime"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestResponsesChatBounds counts the memory that the largest requests take.
func TestResponsesChatBounds(t *testing.T) {
	const mib = 1 << 20
	items := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item, n), ",") }
	for _, tc := range []struct{ name, body string }{
		{"one text", `{"model":"m","input":[{"role":"user","content":"` + strings.Repeat("a\\n", 5*mib) + `"}]}`},
		{"one image", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"` +
			strings.Repeat("A", 15*mib) + `"}]}]}`},
		{"reasoning", `{"model":"m","input":[` + items(15, `{"type":"reasoning","summary":[{"type":"summary_text","text":"`+
			strings.Repeat("r", mib)+`"}]},`) + `]}`},
		{"invalid arguments", `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"` +
			strings.Repeat(`\u0001`, mib) + `"}]}`},
		{"quotes in arguments", `{"model":"m","input":[{"type":"custom_tool_call","call_id":"c","name":"f","input":"` +
			strings.Repeat(`\"`, 7*mib) + `"}]}`},
		{"many messages", `{"model":"m","input":[` + items(1<<14, `{"role":"user","content":"u"},`) + `]}`},
		{"many calls of a turn", `{"model":"m","input":[` + items(1<<14, call) + `]}`},
		{"many reasonings of a turn", `{"model":"m","input":[` + items(1<<14, reasoning("r")) + `]}`},
		{"many parts", `{"model":"m","input":[{"role":"user","content":[` +
			items(1<<14, `{"type":"input_image","image_url":"i"},`) + `]}]}`},
		{"many schemas", `{"model":"m","input":"u","tools":[` + items(1, `{"type":"namespace","name":"n","description":"`+
			strings.Repeat("d", mib)+`","tools":[`+items(1, `{"type":"function","name":"f"},`)+`]},`) + `]}`},
	} {
		body := []byte(tc.body)
		var before, between, after runtime.MemStats
		runtime.ReadMemStats(&before)
		opened, failure := openai.Open(body)
		if failure != nil {
			t.Fatalf("%s: %v", tc.name, failure)
		}
		r, failure := ResponsesChat(opened, chatModel("both"), Env{ID: "x"})
		if failure != nil {
			t.Fatalf("%s: %v", tc.name, failure)
		}
		runtime.ReadMemStats(&between)
		out := r.AppendConversation(nil)
		runtime.ReadMemStats(&after)
		read, written := between.TotalAlloc-before.TotalAlloc, after.TotalAlloc-between.TotalAlloc
		t.Logf("%s: %d bytes, %d to read, %d to write %d", tc.name, len(body), read, written, len(out))
		if read > 32*mib || written > uint64(len(out))*11/10+6*mib {
			t.Errorf("%s: it takes %d bytes to read %d bytes, and %d to write %d", tc.name, read, len(body), written, len(out))
		}
		if len(out) > 2*len(body)+64<<10 {
			t.Errorf("%s: %d bytes become %d", tc.name, len(body), len(out))
		}
	}
}
