package translate

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// messagesModel takes what the model cannot read as notes.
var messagesModel = func() *contract.Model {
	m := *testModel
	m.UnsupportedContent, m.ContextLength = contract.ContentDrop, 131_072
	return &m
}()

// readWith opens a body and reads it with api.
func readWith(api func(*openai.Body, *contract.Model, Env) (*Request, *openai.Error), body string, m *contract.Model,
	env Env) (*Request, *openai.Error) {
	b, err := openai.Open([]byte(body))
	if err != nil {
		return nil, err
	}
	return api(b, m, env)
}

// spokenOf returns what servers that take conversations are asked.
func spokenOf(t *testing.T, api func(*openai.Body, *contract.Model, Env) (*Request, *openai.Error), body string,
	env Env) string {
	t.Helper()
	r, err := readWith(api, body, chatModel("both"), env)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return string(r.AppendConversation(nil))
}

// checkEqual reports where the same request by Messages and by Responses differ.
func checkEqual(t *testing.T, messages, responses string, m *contract.Model, env Env) *Request {
	t.Helper()
	got, err := readWith(Messages, messages, m, env)
	if err != nil {
		t.Fatalf("%v in %s", err, messages)
	}
	want, err := readWith(Responses, responses, m, env)
	if err != nil {
		t.Fatalf("%v in %s", err, responses)
	}
	if g, w := dump(&got.Conversation),
		dump(&want.Conversation); g != w && env.Tools == nil { // known tools are not printed
		t.Fatalf("got\n%swant\n%s", g, w)
	}
	if g, w := callable(got.tools, true), callable(want.tools, true); g != w {
		t.Fatalf("callable: got %s, want %s", g, w)
	}
	g, w := got.Constraint, want.Constraint
	g.StrictAt, w.StrictAt = "", ""
	if g, w := summary(&g), summary(&w); g != w {
		t.Fatalf("constraint: got %s, want %s", g, w)
	}
	const policy = harmony.DropBeforeLastFinal
	if !slices.Equal(rendered(t, &got.Conversation, policy), rendered(t, &want.Conversation, policy)) {
		t.Fatalf("ids of %s", messages)
	}
	return got
}

const (
	toolF  = `{"name":"f","description":"F.","input_schema":{"type":"object","properties":{"a":{"type":"number"}}}}`
	toolRF = `{"type":"function","name":"f","description":"F.","parameters":{"type":"object",` +
		`"properties":{"a":{"type":"number"}}}}`

	userQ    = `{"role":"user","content":"q"},`
	useF     = `{"type":"tool_use","id":"c","name":"f","input":{ "a": 1 }}`
	callF    = `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}`
	resultOf = `{"type":"tool_result","tool_use_id":"c"`
	outputOf = `{"type":"function_call_output","call_id":"c","output":`
)

// TestMessagesAreItems: a request to Messages makes the conversation that the same one to Responses does.
func TestMessagesAreItems(t *testing.T) {
	for _, tt := range []struct{ name, rest, messages, otherRest, input string }{
		{"texts", ``, userQ + `{"role":"assistant","content":"a"},{"role":"system","content":"s"},{"role":"user",` +
			`"content":"r"}`,
			``, userQ + `{"role":"assistant","content":"a"},{"role":"developer","content":"s"},{"role":"user",` +
				`"content":"r"}`},
		{"a block is a text", ``, `{"role":"user","content":[{"type":"text","text":"q",` +
			`"cache_control":{"type":"ephemeral"}}]}`,
			``, `{"role":"user","content":"q"}`},
		{"blocks", ``, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			``, `{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}`},
		{"system", `"system":"s",`, userQ + `{"role":"assistant","content":[{"type":"text","text":"a"}]}`,
			`"instructions":"s",`, userQ + `{"role":"assistant","content":"a"}`},
		{"system blocks", `"system":[{"type":"text",` +
			`"text":"x-anthropic-billing-header: cc_version=2.1.332.abc; cch=1;"},` +
			`{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}],`, last(userQ),
			`"instructions":"a\n\nb",`, last(userQ)},
		{"billing joined", `"system":"x-anthropic-billing-header: cc_version=2;\n\nYou are",`, last(userQ),
			`"instructions":"You are",`, last(userQ)},
		{"leading system", `"system":"s",`, `{"role":"system","content":[{"type":"text","text":"t"},{"type":"text",` +
			`"text":"u"}]},` + last(userQ),
			`"instructions":"s",`, `{"role":"system","content":"t\n\nu"},` + last(userQ)},
		{"late system blocks", ``, userQ + `{"role":"system","content":[{"type":"text","text":"t"},{"type":"text",` +
			`"text":""},{"type":"text","text":"u"}]}`,
			``, userQ + `{"role":"developer","content":"t\n\nu"}`},
		{"a turn", `"tools":[` + toolF + `],`, userQ +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},` +
			`{"type":"text","text":"I look."},` + useF + `]},{"role":"user","content":[` + resultOf +
			`,"content":"r"}]}`,
			`"tools":[` + toolRF + `],`, userQ + `{"type":"reasoning","summary":[],` +
				`"content":[{"type":"reasoning_text","text":"Hm."}]},` +
				`{"role":"assistant","phase":"commentary","content":"I look."},` + callF + `,` + outputOf + `"r"}`},
		{"texts around thinking", `"tools":[` + toolF + `],`, userQ +
			`{"role":"assistant","content":[{"type":"text","text":"I look."},` +
			`{"type":"thinking","thinking":"Hm."},{"type":"text","text":"There."},` + useF +
			`]},{"role":"user","content":[` + resultOf + `,"content":"r"}]}`,
			`"tools":[` + toolRF + `],`, userQ + `{"role":"assistant","phase":"commentary","content":"I look."},` +
				`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]},` +
				`{"role":"assistant","phase":"commentary","content":"There."},` + callF + `,` + outputOf + `"r"}`},
		{"a result without content", `"tools":[` + toolF + `],`, userQ + `{"role":"assistant","content":[` + useF +
			`]},` +
			`{"role":"user","content":[` + resultOf + `}]}`,
			`"tools":[` + toolRF + `],`, userQ + callF + `,` + outputOf + `""}`},
		{"a result behind a text", ``, userQ + `{"role":"assistant","content":[` + useF + `]},` +
			`{"role":"user","content":[{"type":"text","text":"t"},` + resultOf +
			`,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"type":"text","text":"u"}]}`,
			``, userQ + callF + `,{"role":"user","content":"t"},` + outputOf +
				`[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},{"role":"user","content":"u"}`},
		{"results in another order", ``, userQ + `{"role":"assistant","content":[` + useF +
			`,{"type":"tool_use","id":"d","name":"g","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"d","content":"1"},` + resultOf +
			`,"content":"2"}]}`,
			``, userQ + callF + `,{"type":"function_call","call_id":"d","name":"g","arguments":"{}"},` +
				`{"type":"function_call_output","call_id":"d","output":"1"},` + outputOf + `"2"}`},
		{"a failure", ``, userQ + `{"role":"assistant","content":[` + useF + `]},{"role":"user","content":[` +
			resultOf + `,"content":"no","is_error":true}]}`,
			``, userQ + callF + `,` + outputOf + `"Error:\nno"}`},
		{"a failure that says so", ``, userQ + `{"role":"assistant","content":[` + useF +
			`]},{"role":"user","content":[` + resultOf + `,"content":"Error: no","is_error":true}]}`,
			``, userQ + callF + `,` + outputOf + `"Error: no"}`},
		{"a silent failure", ``, userQ + `{"role":"assistant","content":[` + useF +
			`]},{"role":"user","content":[` + resultOf + `,"is_error":true}]}`,
			``, userQ + callF + `,` + outputOf + `"Error:\n"}`},
		{"broken input", ``, userQ + `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":` +
			`{"__unparsedToolInput":{"raw":"{\"a\": tru","len":9}}}]},{"role":"user","content":[` + resultOf + `}]}`,
			``, userQ + `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\": tru"},` + outputOf +
				`""}`},
		{"an image", ``, `{"role":"user","content":[{"type":"text","text":"see"},{"type":"image",` +
			`"source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}`,
			``, `{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image",` +
				`"image_url":"data:image/png;base64,AA=="}]}`},
		{"a document", ``, `{"role":"user","content":[{"type":"document","title":"T","source":{"type":"base64",` +
			`"media_type":"application/pdf","data":"AA=="}},{"type":"text","text":"see"}]}`,
			``, `{"role":"user","content":[{"type":"input_file","filename":"T",` +
				`"file_data":"data:application/pdf;base64,AA=="},{"type":"input_text","text":"see"}]}`},
		{"a document of text", ``, `{"role":"user","content":[{"type":"document","title":"T",` +
			`"source":{"type":"text","media_type":"text/plain","data":"d"}}]}`,
			``, `{"role":"user","content":[{"type":"input_text","text":"T\n"},{"type":"input_text","text":"d"}]}`},
		{"a search result", ``, `{"role":"user","content":[{"type":"search_result","title":"T","source":"S",` +
			`"content":[{"type":"text","text":"d"}]}]}`,
			``, `{"role":"user","content":[{"type":"input_text","text":"T\n"},{"type":"input_text","text":"S\n"},` +
				`{"type":"input_text","text":"d"}]}`},
		{"unknown blocks", ``, userQ + `{"role":"assistant","content":[{"type":"server_tool_use","id":"s",` +
			`"name":"web_fetch","input":{}},{"type":"text","text":"a"}]}`,
			``, userQ + `{"role":"assistant","content":"a"}`},
		{"none", `"tools":[` + toolF + `],"tool_choice":{"type":"none"},`, last(userQ), ``, last(userQ)},
		{"any", `"tools":[` + toolF + `],"tool_choice":{"type":"any"},`, last(userQ), `"tools":[` + toolRF +
			`],"tool_choice":"required",`, last(userQ)},
		{"a tool", `"tools":[` + toolF + `],"tool_choice":{"type":"tool","name":"f"},`, last(userQ),
			`"tools":[` + toolRF + `],"tool_choice":{"type":"function","name":"f"},`, last(userQ)},
		{"format", `"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},`, last(userQ),
			`"text":{"format":{"type":"json_schema","name":"response","strict":true,"schema":{"type":"object"}}},`,
			last(userQ)},
		{"older format", `"output_format":{"type":"json_schema","schema":{"type":"object"}},`, last(userQ),
			`"text":{"format":{"type":"json_schema","name":"response","strict":true,"schema":{"type":"object"}}},`,
			last(userQ)},
		{"effort", `"output_config":{"effort":"low"},`, last(userQ), `"reasoning":{"effort":"low"},`, last(userQ)},
		{"a new effort", `"output_config":{"effort":"low"},`, userQ +
			`{"role":"system","content":"s","output_config":{"effort":"max"}}`,
			`"reasoning":{"effort":"high"},`, userQ + `{"role":"developer","content":"s"}`},
		{"no thinking", `"thinking":{"type":"disabled"},"output_config":{"effort":"high"},`, last(userQ),
			`"reasoning":{"effort":"low"},`, last(userQ)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			messages := `{"model":"m",` + tt.rest + `"max_tokens":32000,"messages":[` + tt.messages + `]}`
			responses := `{"model":"m",` + tt.otherRest + `"input":[` + tt.input + `]}`
			checkEqual(t, messages, responses, messagesModel, testEnv)
			got := spokenOf(t, MessagesChat, messages, testEnv)
			if want := spokenOf(t, ResponsesChat, responses, testEnv); got != want {
				t.Errorf("chat: got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
