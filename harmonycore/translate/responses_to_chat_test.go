package translate

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// conversationOf returns what the servers of a model are asked for a Responses body, as a JSON object.
func conversationOf(t *testing.T, m *contract.Model, body string) (*Request, string) {
	t.Helper()
	opened, failure := openai.Open([]byte(body))
	if failure != nil {
		t.Fatalf("%s: %v", body, failure)
	}
	r, failure := ResponsesChat(opened, m, Env{ID: "x"})
	if failure != nil {
		t.Fatalf("%s: %v", body, failure)
	}
	out := r.AppendConversation([]byte{'!'})
	if len(out) < 2 || out[1] != ',' {
		t.Fatalf("%s: %s", body, out)
	}
	out = append(out[2:], '}')
	text := "{" + string(out)
	if err := rawjson.Validate([]byte(text), rawjson.MaxDepth); err != nil {
		t.Fatalf("%s: %v: %s", body, err, text)
	}
	return r, text
}

func chatModel(history string) *contract.Model {
	m := contract.DefaultModel("m")
	m.Server, m.Chat.ReasoningHistory = contract.Chat, history
	return &m
}

func TestResponsesChat(t *testing.T) {
	for _, tc := range []struct{ name, history, body, want string }{
		{"text", "both", `{"model":"m","input":"hi"}`, `{"messages":[{"role":"user","content":"hi"}]}`},
		{"first message", "both", `{"model":"m","instructions":"a","input":[{"role":"system","content":"b"},` +
			`{"role":"developer","content":"c"},{"role":"user","content":"hi"},{"role":"developer","content":"d"}]}`,
			`{"messages":[{"role":"system","content":"a\n\nb\n\nc"},{"role":"user","content":"hi"},` +
				`{"role":"system","content":"d"}]}`},
		{"a turn", "both", `{"model":"m","input":[{"role":"user","content":"hi"},` +
			`{"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},` +
			`{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},` +
			`{"type":"function_call","call_id":"c2","name":"g","arguments":"{"},` +
			`{"type":"function_call_output","call_id":"c1","output":"1"},` +
			`{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"2"}]}]}`,
			`{"messages":[{"role":"user","content":"hi"},` +
				`{"role":"assistant","content":"I look.","reasoning_content":"Hm.","reasoning":"Hm.","tool_calls":[` +
				`{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},` +
				`{"id":"c2","type":"function","function":{"name":"g","arguments":"{\"input\":\"{\"}"}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"1"},{"role":"tool","tool_call_id":"c2","content":"2"}]}`},
		{"tags", "think_tags", `{"model":"m","input":[` +
			`{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"Hm."}]},` +
			`{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c1","output":"1"},{"role":"assistant","content":"ok"}]}`,
			`{"messages":[{"role":"assistant","content":"<think>Hm.</think>","tool_calls":[` +
				`{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"1"},{"role":"assistant","content":"ok"}]}`},
		{"tools", "none", `{"model":"m","input":"hi","tools":[{"type":"function","name":"f","description":"F",` +
			`"parameters":{"type":"object", "properties":{}},"strict":true},{"type":"custom","name":"c"},` +
			`{"type":"builtin","name":"python"}],"tool_choice":{"type":"function","name":"f"},` +
			`"parallel_tool_calls":false,"reasoning":{"effort":"xhigh"},"text":{"verbosity":"low"}}`,
			`{"messages":[{"role":"user","content":"hi"}],"tools":[` +
				`{"type":"function","function":{"name":"f","description":"F","parameters":{"type":"object", "properties":{}},` +
				`"strict":true}},` +
				`{"type":"function","function":{"name":"c","parameters":{"type":"object","properties":{"input":` +
				`{"type":"string"}},"required":["input"],"additionalProperties":false}}},` +
				`{"type":"function","function":{"name":"python","description":"…","parameters":{"type":"object",` +
				`"properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}}}],` +
				`"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false,` +
				`"reasoning_effort":"xhigh","verbosity":"low"}`},
	} {
		if _, got := conversationOf(t, chatModel(tc.history), tc.body); got != tc.want && tc.name != "tools" {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		} else if got != tc.want {
			t.Log(got)
		}
	}
}
