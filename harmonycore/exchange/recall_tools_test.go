package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRecallOfTools: a conversation that begins with tools is recalled, and its answer's reader knows the tools. One in
// which tools are declared later is read as a whole, and so is one whose tools are larger than what is kept.
func TestRecallOfTools(t *testing.T) {
	const tools = `{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions",` +
		`"description":"","tools":[{"type":"custom","name":"exec"%s}]}]}`
	call := []string{serverChunk(0, "<|channel|>commentary to=functions.exec<|message|>ls<|call|>", "stop"), serverUsage,
		serverDone}
	none, small := "", fmt.Sprintf(tools, "")
	large := fmt.Sprintf(tools, `,"description":"`+strings.Repeat("x", maxKeptHead)+`"`)
	for _, tt := range []struct{ name, first, later, want string }{
		{"in front", small, none, RecallHit},
		{"too large", large, none, RecallMiss},
		{"later", none, small + ",", RecallMiss},
		{"in front and later", small, strings.ReplaceAll(small, "exec", "wait") + ",", RecallMiss},
	} {
		g := recallGateway(t, 4<<20, nil)
		g.leastRecalled = leastRecalled
		for i, body := range longConversation(4, noReasoning) {
			if tt.first != "" {
				body = strings.Replace(body, `"input":[`, `"input":[`+tt.first+`,{"role":"developer","content":"Be kind."},`, 1)
			}
			if i > 0 {
				body = strings.Replace(body, `{"type":"function_call"`, tt.later+`{"type":"function_call"`, 1)
			}
			x := forwarded(t, g, contract.ResponsesPath, body)
			want := tt.want
			if i == 0 {
				want = RecallMiss
			}
			if got := x.Report().Recall; got != want {
				t.Errorf("%s, turn %d: %q, want %q", tt.name, i+1, got, want)
			}
			if got := outcome(t, x, call); (tt.first != "" || i > 0) != strings.Contains(got, `"type":"custom_tool_call"`) {
				t.Errorf("%s, turn %d: %s", tt.name, i+1, got)
			}
		}
	}
}

// TestCountsOfDeclaredTools: tools in the first item count as the same tools of the request itself do, and later ones
// count too.
func TestCountsOfDeclaredTools(t *testing.T) {
	const tools, user = `[{"type":"namespace","name":"n","description":"N.","tools":[{"type":"function","name":"f"}]}]`,
		`{"role":"user","content":"Hi"}`
	const item = `{"type":"additional_tools","role":"developer","tools":` + tools + `}`
	g, counts := testGateway(nil), []float64(nil)
	for _, rest := range []string{`"input":[` + user + `]`, `"tools":` + tools + `,"input":[` + user + `]`,
		`"input":[` + item + `,` + user + `]`, `"input":[` + user + `,` + item + `]`} {
		status, object := counted(t, g, contract.InputTokensPath, `{"model":"`+testModel+`",`+rest+`}`)
		n, _ := object["input_tokens"].(float64)
		if status != 200 {
			t.Fatalf("%s: %d %v", rest, status, object)
		}
		counts = append(counts, n)
	}
	if none, own, first, later := counts[0], counts[1], counts[2], counts[3]; own <= none || first != own || later < own {
		t.Errorf("%v tokens without tools, with its own, with those of the first item, and with later ones", counts)
	}
}
