package exchange

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// madeCall and resultOf are elements of an input.
func madeCall(kind, id, rest string) string {
	return fmt.Sprintf(`{"type":%q,"call_id":%q,"name":"f",%s}`, kind, id, rest)
}

func resultOf(kind, id string) string {
	return fmt.Sprintf(`{"type":%q,"call_id":%q,"output":"x"}`, kind, id)
}

// oddItems are elements of an input that readers may take for others: results that come before their calls or twice,
// names that stand twice, elements of several kinds at once, and such that the model does not see.
var oddItems = []string{
	`{"role":"user","content":"U"}`, `{"role":"user","content":""}`, `{"rol\u0065":"user","content":[]}`,
	`{"role":"system","content":"S"}`, `{"role":"developer","content":""}`,
	`{"type":"message","role":"system","content":"M"}`,
	`{"role":"assistant","content":"A"}`, `{"role":"assistant","content":""}`,
	`{"role":"assistant","content":"A","phase":"final_answer"}`,
	`{"role":"assistant","content":"A","phase":"commentary"}`,
	`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"R"}]}`,
	`{"type":"reasoning","summary":[]}`,
	madeCall("function_call", "a", `"arguments":"{}"`),
	madeCall("function_call", "b", `"namespace":"n","arguments":"{}"`),
	madeCall("custom_tool_call", "a", `"input":"{}"`), resultOf("function_call_output", "a"),
	resultOf("function_call_output", "b"),
	resultOf("custom_tool_call_output", "a"),
	`{"type":"function_call","call_id":"b","name":"python","arguments":"1"}`,
	`{"type":"function_call","call_id":"a","name":"browser.search","arguments":"{}"}`,
	`{"type":"web_search_call","action":{"query":"q"}}`, `{"type":"web_search_call"}`, `{"type":"mcp_list_tools"}`,
	`{"type":"mcp_call","name":"m","arguments":"{}","output":"o"}`,
	`{"type":"local_shell_call","call_id":"b","action":{"command":["ls"]}}`,
	`{"type":"local_shell_call_output","id":"b"}`,
	`{"role":"user","role":"assistant","content":"D"}`, `{"role":"assistant","role":"user","content":"D"}`,
	`{"role":"system","role":"user","content":"D"}`, `{"role":"user","role":"system","content":"D"}`,
	`{"role":"user","type":"reasoning","summary":[]}`,
	`{"role":"user","type":"function_call_output","call_id":"a","output":"x"}`,
	`{"role":"assistant","type":"function_call_output","call_id":"a","output":"x"}`,
	`{"type":null,"role":"user","content":"N"}`,
	`{"type":"function_call_output","name":"f","output":"x"}`,
	`{"type":"custom_tool_call_output","name":"f","namespace":"n","output":"x"}`,
	`{"type":"function_call_output","name":"python","output":"x"}`, `{"type":"function_call_output","output":"x"}`,
	`{"type":"compaction","encrypted_content":"x"}`, foreignReasoning, updatedEffort,
	`{"role":"user","type":"configuration_update","reasoning":{"effort":"low"}}`,
	`{"role":"developer","type":"compaction"}`, `{"role":"user","type":"function_call_output","name":"f","output":"x"}`,
	`{"type":"agent_message","content":[{"type":"encrypted_content","encrypted_content":"x"}]}`, `{"type":"agent_message"}`,
	`{"type":"unheard_call_output"}`, `{"role":"user","content":[{"type":"input_image","image_url":"data:x"}]}`,
}

// declaringItems are elements with tools. They are rarer, because most of what follows them is read as a whole.
var declaringItems = []string{
	`{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"}]}`,
	`{"role":"developer","type":"additional_tools","tools":[]}`,
	`{"type":"tool_search_call","call_id":"a","execution":"client","arguments":{}}`, `{"type":"tool_search_call"}`,
	`{"type":"tool_search_output","call_id":"a","tools":[{"type":"function","name":"g","defer_loading":true}]}`,
	`{"type":"tool_search_output","call_id":"a"}`, `{"type":"tool_search_output","tools":null}`,
}

// oddMessages are the same of a Chat request.
var oddMessages = []string{
	`{"role":"user","content":"U"}`, `{"role":"user","content":"","name":"bob"}`,
	`{"rol\u0065":"user","content":[]}`,
	`{"role":"system","content":"S"}`, `{"role":"developer","content":""}`, `{"role":"assistant","content":"A"}`,
	`{"role":"assistant"}`, `{"role":"assistant","content":"A","reasoning":"R"}`,
	`{"role":"assistant","reasoning":"R"}`,
	toolCalls(`{"id":"a","function":{"name":"f","arguments":"{}"}}`),
	toolCalls(`{"id":"a","function":{"name":"g","arguments":"1"}},{"id":"a","function":{"name":"h","arguments":""}}`),
	toolCalls(`{"id":"b","type":"custom","custom":{"name":"c","input":"i"}}`), toolCalls(``),
	`{"role":"tool","tool_call_id":"a","content":"x"}`, `{"role":"tool","tool_call_id":"b","content":""}`,
	`{"role":"user","role":"assistant","content":"D"}`, `{"role":"assistant","role":"user","content":"D"}`,
	`{"role":"system","role":"user","content":"D"}`, `{"role":"user","role":"system","content":"D"}`,
	`{"type":"x_call_output","role":"assistant","content":"T"}`,
	`{"type":"x_call_output","role":"system","content":"T"}`,
	`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:x"}}]}`,
}

func toolCalls(calls string) string {
	return `{"role":"assistant","content":"P","reasoning":"R","tool_calls":[` + calls + `]}`
}

// oddHeads stand before and behind the conversation.
var oddHeads = [][2]string{
	{``, ``}, {`"tools":[{"type":"builtin","name":"python"},{"type":"builtin","name":"browser"}],`, ``},
	{`"tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n",` +
		`"tools":[{"type":"function","name":"f"}]}],`, ``},
	{`"tools":[{"type":"tool_search","execution":"client"},{"type":"function","name":"g","defer_loading":true}],`, ``},
	{`"tools":[{"type":"function","function":{"name":"f"}}],"n":3,`, `,"thinking_token_budget":5,"user":"u","stop":"a"`},
	{`"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"f"},`, ``},
	{`"x":{"input":[1],"messages":[1]},"instructions":"I",`, `,"Input":[1],"Messages":[1]`},
}

// TestRecallOfOddItems: what servers of each kind get, and what clients hear of errors, is the same with a memory,
// whatever elements a conversation has and wherever it is continued.
func TestRecallOfOddItems(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, kind := range contract.ServerKinds() {
		if k, _ := backend.Named(kind); k.Facts().Conversations || k.Facts().TextPrompts {
			continue
		}
		change := func(o *Options) { o.Models[0].Server, o.Models[0].ContextLength = kind, 1500 }
		with, without := recallGateway(t, 4<<20, change), recallGateway(t, 0, change)
		with.leastCut = 1
		var scratches [2]Scratch
		type conversation struct {
			head  [2]string
			items []string
		}
		begun, hits := make(map[bool][]conversation), 0
		for range 400 {
			p := &played{responses: rng.IntN(2) == 0, model: testModel}
			name, elements := "messages", oddMessages
			if p.responses {
				name, elements = "input", oddItems
			}
			items, head := []string(nil), oddHeads[rng.IntN(len(oddHeads))]
			if all := begun[p.responses]; len(all) > 0 && rng.IntN(8) > 0 {
				known := all[rng.IntN(len(all))]
				if items = append(items, known.items...); rng.IntN(8) > 0 {
					head = known.head
				}
			}
			for range 1 + rng.IntN(3) {
				of := elements
				if p.responses && rng.IntN(12) == 0 {
					of = declaringItems
				}
				items = append(items, of[rng.IntN(len(of))])
			}
			space := strings.Repeat(" ", rng.IntN(2))
			body := fmt.Sprintf(`%s{"model":%q,%s%q:%[1]s[%[1]s%[5]s%[1]s]%[6]s}%[1]s`, space, testModel, head[0], name,
				strings.Join(items, space+","+space), head[1])
			want, _ := askRecalling(without, &scratches[0], p, body, testNow, "")
			got, recall := askRecalling(with, &scratches[1], p, body, testNow, "")
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s (%s):\n%s\n%s", kind, recall, difference(got, want), body)
			}
			if recall == RecallHit {
				hits++
			}
			if want.Status == 0 {
				begun[p.responses] = append(begun[p.responses], conversation{head, items})
			}
		}
		if hits < 40 {
			t.Errorf("%s: %d requests were recalled", kind, hits)
		}
	}
}

// TestRecallEndsAlike: what follows a conversation is not taken for a part of it, though the body ends as an earlier
// one does.
func TestRecallEndsAlike(t *testing.T) {
	with, without := recallGateway(t, 1<<20, nil), recallGateway(t, 0, nil)
	p := &played{responses: true, model: testModel}
	const begun = `{"model":"` + testModel + `","input":[{"role":"user","content":"A"},{"role":"user","content":"B"}`
	for _, body := range []string{
		begun + `]}`, begun + `,{"role":"user","content":"C"}]}`,
		begun + `,{"role":"user","content":"C"}],"tools":[{"type":"function","name":"f"}]}`,
		begun + `,{"role":"user","content":"C"}],"instructions":"I","x":[{"input":[1]}]}`,
		begun + `,{"role":"user","content":"C"}],"inpu\u0074":[1]}`, begun + `,{"role":"user","content":"C"}],"input":[]}`,
		begun + `,{"role":"user","content":"C"}]],"x":[]}`, begun + `,[{"role":"user","content":"C"}]}`,
	} {
		want, _ := askRecalling(without, nil, p, body, testNow, "")
		if got, recall := askRecalling(with, nil, p, body, testNow, ""); !reflect.DeepEqual(got, want) {
			t.Errorf("%s (%s):\n%s", body, recall, difference(got, want))
		}
	}
}

// TestRecallOfManyIDs: as many ids of the model's answers are read with a memory as without, where a conversation has
// more of them than may be read.
func TestRecallOfManyIDs(t *testing.T) {
	change := func(o *Options) { o.Models[0].ContextLength = 400 }
	with, without := recallGateway(t, 1<<20, change), recallGateway(t, 0, change)
	c := newConversations(1, with.options.SealKeys)
	p := &played{responses: true, model: testModel}
	ids := c.sealedIDs(p, "<|channel|>analysis<|message|>"+strings.Repeat("Hm, hm. ", 40)+
		"<|end|><|start|>assistant<|channel|>final<|message|>«Okay»<|return|>")
	items := `{"role":"user","content":"A"}`
	for i := range 16 {
		body := `{"model":"` + testModel + `","input":[` + items + `]}`
		want, _ := askRecalling(without, nil, p, body, testNow, "")
		got, recall := askRecalling(with, nil, p, body, testNow, "")
		if !reflect.DeepEqual(got, want) || (recall == RecallHit) != (i > 0) {
			t.Fatalf("turn %d: %q\n%s", i+1, recall, difference(got, want))
		}
		items += `,{"type":"reasoning","summary":[]},{"role":"assistant","content":"Okay"` + ids + `},` +
			`{"role":"user","content":"B"}`
	}
}
