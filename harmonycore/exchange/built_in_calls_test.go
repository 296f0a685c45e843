package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestBuiltInCalls checks that calls of the functions that stand for built-in tools at servers of conversations come
// back as calls of these tools.
func TestBuiltInCalls(t *testing.T) {
	sent, got, _ := ask(t, conversing(nil), contract.ResponsesPath, `{"model":"qwen","input":"hi","tools":[`+
		`{"type":"builtin","name":"browser"},{"type":"builtin","name":"python"}]}`, "text/event-stream",
		call("0", `"a"`, `"browser_search"`, `{\"query\":\"q\"}`)+call("1", `"b"`, `"python"`, `{\"input\":\"1+1\"}`)+
			finish("tool_calls"), 7)
	if !strings.Contains(sent, `"name":"browser_search"`) || strings.Contains(sent, "browser.search") {
		t.Errorf("sent %s", sent)
	}
	for _, item := range []string{
		`"type":"function_call","status":"completed","arguments":"{\"query\":\"q\"}","call_id":"a","name":"browser.search"`,
		`"type":"custom_tool_call","status":"completed","input":"1+1","call_id":"b","name":"python"`,
	} {
		if !strings.Contains(got, item) {
			t.Errorf("no %s in %s", item, got)
		}
	}
}
