package exchange

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const (
	execTools = `{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions",` +
		`"description":"","tools":[{"type":"custom","name":"exec"%s}]}]}`
	waitTools = `{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"wait"}]}`
	// searching is a search of the model's for tools, and found what it has found.
	searching = `{"type":"tool_search_call","call_id":"s","execution":"client","arguments":{"query":"exec"}}`
	found     = `{"type":"tool_search_output","call_id":"s","execution":"client","tools":[` +
		`{"type":"namespace","name":"n",` +
		`"description":"N.","tools":[{"type":"function","name":"exec","parameters":{"type":"object"},` +
		`"defer_loading":true}]}]}`
	searched = searching + "," + found
	// secondCall begins a call of [longConversation].
	secondCall        = `{"type":"function_call","call_id":"c1"`
	foreignCompaction = `{"type":"compaction","id":"c","encrypted_content":"gAAAAABotdZ0"}`
	// picture is a user's message that a model of texts gets in part.
	picture = `{"role":"user","content":[{"type":"input_image","image_url":"data:x"}]}`
)

// TestRecallOfDeclaredTools: a conversation that begins with tools is recalled, and its answer's reader knows the
// tools. So is one in which tools are declared later, or whose tools are larger than what is kept.
func TestRecallOfDeclaredTools(t *testing.T) {
	call := []string{serverChunk(0, "<|channel|>commentary to=functions.exec<|message|>{}<|call|>", "stop"), serverUsage,
		serverDone}
	small := fmt.Sprintf(execTools, "")
	large := fmt.Sprintf(execTools, `,"description":"`+strings.Repeat("x", maxKeptHead)+`"`)
	for _, tt := range []struct {
		name, head, first, later string
		// wants are how the requests are read. The third one is the first with what is declared later.
		wants string
	}{
		{"in front", "", small, "", "mhhhhh"},
		{"large", "", large, "", "mhhhhh"},
		{"later", `"tools":[{"type":"function","name":"f"}],`, "", small + ",", "mhhhhh"},
		{"in front and later", "", waitTools, small + ",", "mhhhhh"},
		{"later, as the first function", "", "", small + ",", "mhmmmm"},
		{"found", `"tools":[{"type":"tool_search","execution":"client"},{"type":"function","name":"f"}],`, "",
			searched + ",", "mhhhhh"},
		{"found in front of others", "", waitTools, searched + "," + waitTools + ",", "mhhhhh"},
		{"found later", "", waitTools + "," + searching, found + ",", "mhmhhh"},
		{"a name that is taken", `"tools":[{"type":"function","name":"f"}],`, small,
			`{"type":"additional_tools","tools":[{"type":"namespace","name":"m","tools":[{"type":"function","name":"exec"}]}]},`,
			"mhmhhh"},
		{"found again", "", waitTools, searched + "," + searched + ",", "mhhhhh"},
	} {
		with, without := recallGateway(t, 4<<20, nil), recallGateway(t, 0, nil)
		with.leastRecalled = leastRecalled
		got := ""
		for i, body := range longConversation(6, noReasoning) {
			first := `{"role":"developer","content":"Be kind."},`
			if tt.first != "" {
				first = tt.first + "," + first
			}
			body = strings.Replace(body, `"input":[`, tt.head+`"input":[`+first, 1)
			if i > 1 {
				body = strings.Replace(body, secondCall, tt.later+secondCall, 1)
			}
			x := forwarded(t, with, contract.ResponsesPath, body)
			got += x.Report().Recall[:1]
			declared := strings.Contains(tt.first, `"exec"`) && !strings.Contains(tt.first, "query") || i > 1
			answer, want := outcome(t, x, call), outcome(t, forwarded(t, without, contract.ResponsesPath, body), call)
			if answer != want || strings.Contains(answer, `"name":"exec"`) != declared {
				t.Errorf("%s, turn %d:\n got %s\nwant %s", tt.name, i+1, answer, want)
			}
		}
		if got != tt.wants {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.wants)
		}
	}
}

// TestRecallAfterOddities: a conversation in which something is only counted, or which changes what the answer is to
// be, is recalled. A change of the effort is one of the prompt's beginning: the request that brings it is read as a
// whole, and the next ones are recalled.
func TestRecallAfterOddities(t *testing.T) {
	for _, tt := range []struct{ name, item, wants string }{
		{"a foreign compaction", foreignCompaction, "mhhhhh"},
		{"foreign reasoning", foreignReasoning, "mhhhhh"},
		{"an item of an unknown type", `{"type":"unheard_of"}`, "mhhhhh"},
		{"a picture", picture, "mhhhhh"},
		{"another effort", updatedEffort, "mhmhhh"},
		{"the same effort", strings.Replace(updatedEffort, "high", "low", 1), "mhhhhh"},
		{"another form", `{"type":"configuration_update","text":{"format":{"type":"json_object"}}}`, "mhmhhh"},
		{"an effort, and tools", updatedEffort + "," + waitTools, "mhmhhh"},
		{"tools, and an effort", waitTools + "," + updatedEffort, "mhmhhh"},
	} {
		change := func(o *Options) { o.Models[0].UnsupportedContent = contract.ContentDrop }
		with, without := recallGateway(t, 4<<20, change), recallGateway(t, 0, change)
		with.leastRecalled = leastRecalled
		p, got := &played{responses: true, model: testModel}, ""
		for i, body := range longConversation(6, noReasoning) {
			body = strings.Replace(body, `"input"`,
				`"tools":[{"type":"function","name":"f"}],"reasoning":{"effort":"low"},"input"`, 1)
			if i > 1 {
				body = strings.Replace(body, secondCall, tt.item+","+secondCall, 1)
			}
			want, _ := askRecalling(without, nil, p, body, testNow, "f")
			answer, recall := askRecalling(with, nil, p, body, testNow, "f")
			if !reflect.DeepEqual(answer, want) || want.Status != 0 {
				t.Fatalf("%s, turn %d (%s):\n%s", tt.name, i+1, recall, difference(answer, want))
			}
			got += recall[:1]
		}
		if got != tt.wants {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.wants)
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
