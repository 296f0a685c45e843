package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

var testModel = &contract.Model{Name: "gpt-oss-120b", ModelSettings: contract.ModelSettings{
	System:           contract.System{Identity: "I", KnowledgeCutoff: "2024-06", Effort: "medium"},
	ReasoningEfforts: contract.Efforts{Minimal: "low", XHigh: "high"},
}}

var testEnv = Env{Now: 1700000000, Date: harmony.Some("2026-01-02"), ID: "0123456789abcdef01234567"}

// dump prints a conversation one message per line: role:name to=recipient|channel|content type: parts joined by +.
// Where the recipient stands behind the channel, it is printed there.
func dump(c *harmony.Conversation) string {
	var b strings.Builder
	for _, m := range c.Messages {
		b.WriteString([...]string{"?", "user", "assistant", "system", "developer", "tool"}[m.Role])
		type field struct {
			before string
			value  harmony.Optional
		}
		fields := []field{{":", m.Name}, {" to=", m.Recipient}, {"|", m.Channel}, {"|", m.ContentType}}
		if m.RecipientLast {
			fields[1], fields[2] = fields[2], fields[1]
		}
		for _, o := range fields {
			if o.value.Set {
				b.WriteString(o.before + o.value.Value)
			}
		}
		b.WriteString(": ")
		for i, c := range m.Content {
			if i > 0 {
				b.WriteString("+")
			}
			switch {
			case c.System != nil:
				b.WriteString("{" + c.System.ModelIdentity.Value + " " + c.System.KnowledgeCutoff.Value + " " +
					c.System.ConversationStartDate.Value + " " + effortName(c.System.Effort) + " " +
					strings.Join(c.System.Channels.Valid, "/"))
				for _, n := range c.System.Tools {
					b.WriteString(" " + n.Key)
				}
				b.WriteString("}")
			case c.Developer != nil:
				b.WriteString("{" + strings.ReplaceAll(c.Developer.Instructions.Value, "\n", "⏎"))
				for _, n := range c.Developer.Tools {
					b.WriteString(" " + n.Key + "=" + n.Name + "[")
					for _, tool := range n.Tools {
						b.WriteString(" " + tool.Name)
						if tool.Parameters != nil {
							b.WriteString("()")
						}
					}
					b.WriteString(" ]")
				}
				b.WriteString("}")
			default:
				b.WriteString(c.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

const systemLine = "system: {I 2024-06 2026-01-02 medium analysis/commentary/final}\n"

func TestChatConversation(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{
			"a question", `"messages":[{"role":"user","content":"hi"}]`,
			systemLine + "user: hi\n",
		},
		{
			"effort and leading instructions",
			`"reasoning_effort":"high","messages":[{"role":"system","content":"a"},{"role":"developer",` +
				`"content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},{"role":"user","content":"hi"},` +
				`{"role":"system","content":"d"}]`,
			"system: {I 2024-06 2026-01-02 high analysis/commentary/final}\ndeveloper: {a⏎⏎bc}\nuser: hi\ndeveloper: {d}\n",
		},
		{
			"empty instructions say nothing", `"messages":[{"role":"system","content":""},{"role":"user",` +
				`"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]`,
			systemLine + "user: x+y\n",
		},
		{
			"tools", `"tools":[{"type":"function","function":{"name":"f","parameters":{}}},{"type":"function",` +
				`"function":{"name":"g"}}],"messages":[{"role":"user","content":"hi"}]`,
			systemLine + "developer: { functions=functions[ f() g ]}\nuser: hi\n",
		},
		{
			"names, custom tools and a refusal",
			`"tools":[{"type":"custom","custom":{"name":"x"}}],"messages":[{"role":"user","name":"ann","content":"q"},
			{"role":"assistant","name":"a","refusal":"no","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"x","input":"print"}}]},
			{"role":"tool","tool_call_id":"c1","content":"r"}]`,
			systemLine + `developer: { functions=functions[ x() ]}
user:ann: q
assistant|commentary: no
assistant|commentary to=functions.x: print
tool:functions.x to=assistant|commentary: r
`,
		},
		{
			"hidden tools", `"tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}],` +
				`"messages":[{"role":"user","content":"hi"}]`,
			systemLine + "user: hi\n",
		},
		{
			"a tool loop",
			`"messages":[{"role":"user","content":"q"},
			{"role":"assistant","content":"wait","reasoning_content":"think","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{1"}}]},
			{"role":"tool","tool_call_id":"c2","content":"r2"},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"},{"type":"text","text":"1"}]},
			{"role":"assistant","content":"done","reasoning":"so"},{"role":"assistant","content":""},{"role":"assistant","content":null},{"role":"user","content":""}]`,
			systemLine + `user: q
assistant|analysis: think
assistant|commentary: wait
assistant|commentary to=functions.f|<|constrain|>json: {}
assistant|commentary to=functions.g|<|constrain|>json: {1
tool:functions.g to=assistant|commentary: r2
tool:functions.f to=assistant|commentary: r1
assistant|analysis: so
assistant|final: done
user: 
`,
		},
	}
	for _, tt := range tests {
		r, err := read(Chat, `{"model":"gpt-oss-120b",`+tt.body+`}`)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := dump(&r.Conversation); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	_, err := read(
		Chat, `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"c9","content":"x"},
		{"role":"assistant","tool_calls":[{"id":"c9","function":{"name":"f","arguments":"{}"}}]}]}`)
	if err == nil || err.Status != 400 || err.Param != "messages[1].tool_call_id" || err.Code != "invalid_value" {
		t.Errorf("an answer to no call: %+v", err)
	}
}

// TestDropCommentary checks in both APIs that preambles are left out and that calls and answers are kept.
func TestDropCommentary(t *testing.T) {
	m := *testModel
	m.DropCommentaryFromHistory = true
	want := systemLine + `user: q
assistant|analysis: t
assistant|commentary to=functions.f|<|constrain|>json: {}
tool:functions.f to=assistant|commentary: r
assistant|final: done
`
	for _, tt := range []struct {
		read func(*openai.Body, *contract.Model, Env) (*Request, *openai.Error)
		body string
	}{
		{Chat, `"messages":[{"role":"user","content":"q"},
			{"role":"assistant","reasoning":"t","content":"wait","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"r"},{"role":"assistant","content":"done"}]`},
		{Responses,
			`"input":[{"role":"user","content":"q"},{"type":"reasoning","content":[{"type":"reasoning_text","text":"t"}]},
			{"role":"assistant","phase":"commentary","content":"wait"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"r"},{"role":"assistant","content":"done"}]`},
	} {
		body, err := openai.Open([]byte(`{"model":"gpt-oss-120b",` + tt.body + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := tt.read(body, &m, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(&r.Conversation); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

func TestEfforts(t *testing.T) {
	for _, tt := range []struct {
		members string
		want    harmony.Effort // 0 means refused
	}{
		{``, harmony.Medium}, {`"reasoning_effort":null,`, harmony.Medium}, {`"reasoning_effort":"low",`, harmony.Low},
		{`"reasoning_effort":"minimal",`, harmony.Low}, {`"reasoning_effort":"xhigh",`, harmony.High},
		{`"reasoning_effort":"none",`, 0}, {`"reasoning_effort":"max",`, 0},
		{`"chat_template_kwargs":{"reasoning_effort":"high"},`, harmony.High},
		{`"chat_template_kwargs":{"reasoning_effort":"max"},`, 0},
		{`"chat_template_kwargs":{"reasoning_effort":"max"},"reasoning_effort":"low",`, harmony.Low},
	} {
		m := *testModel
		m.ServerExtras = []string{"chat_template_kwargs"}
		body, err := openai.Open([]byte(`{"model":"m",` + tt.members + `"messages":[{"role":"user","content":"q"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Chat(body, &m, testEnv)
		switch {
		case tt.want == 0 && (err == nil || err.Code != contract.CodeUnsupportedParameter ||
			!strings.HasSuffix(err.Param, "reasoning_effort")):
			t.Errorf("%s: %+v", tt.members, err)
		case tt.want != 0 && (err != nil || r.effort != tt.want):
			t.Errorf("%s: %+v, %v", tt.members, r, err)
		}
	}
	if r, err := read(Chat, `{"model":"m","chat_template_kwargs":{"reasoning_effort":"high"},`+
		`"messages":[{"role":"user","content":"q"}]}`); err != nil || r.effort != harmony.Medium {
		t.Errorf("a template's parameter counts where none is allowed: %+v, %v", r, err)
	}
	if _, err := read(Responses, `{"model":"m","reasoning":{"effort":"none"},"input":"q"}`); err == nil ||
		err.Param != "reasoning.effort" {
		t.Errorf("%+v", err)
	}
}

func TestResponsesConversation(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"text", `"input":"hi"`, systemLine + "user: hi\n"},
		{
			"instructions first", `"instructions":"a","input":[{"role":"developer","content":"b"},{"type":"message",` +
				`"role":"system","content":[{"type":"input_text","text":"c"}]},{"role":"user","content":"q"},` +
				`{"role":"developer","content":"d"}]`,
			systemLine + "developer: {a⏎⏎b⏎⏎c}\nuser: q\ndeveloper: {d}\n",
		},
		{
			"agent's tools",
			`"tools":[{"type":"function","name":"f","strict":false,"parameters":{}},{"type":"namespace","name":"n","description":"","tools":[{"type":"function","name":"g"},{"type":"function","name":"f"}]},{"type":"web_search","external_web_access":false}],
			"input":[{"role":"user","content":"q"},{"type":"function_call","id":"fc_1","call_id":"c1","namespace":"n","name":"f","arguments":"{}","status":"completed"},{"type":"function_call_output","call_id":"c1","output":"r"}]`,
			systemLine + `developer: { functions=functions[ f() g n__f ]}
user: q
assistant|commentary to=functions.n__f|<|constrain|>json: {}
tool:functions.n__f to=assistant|commentary: r
`,
		},
		{
			"a custom tool",
			`"tools":[{"type":"custom","name":"run","description":"d"},{"type":"namespace","name":"n","description":"","tools":[{"type":"custom","name":"run"}]}],
			"input":[{"role":"user","content":"q"},{"role":"assistant","content":"wait"},
			{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"run","input":"print(1)","status":"completed"},{"type":"custom_tool_call","call_id":"c2","namespace":"n","name":"run","input":""},
			{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"2"}]},{"type":"custom_tool_call_output","id":"x","call_id":"c1","output":"1"}]`,
			systemLine + `developer: { functions=functions[ run() n__run() ]}
user: q
assistant|commentary: wait
assistant|commentary to=functions.run: print(1)
assistant|commentary to=functions.n__run: 
tool:functions.n__run to=assistant|commentary: 2
tool:functions.run to=assistant|commentary: 1
`,
		},
		{
			"tools with items of their own",
			`"input":[{"role":"user","content":"q"},{"role":"assistant","content":"wait"},{"type":"mcp_list_tools","server_label":"l","tools":[{"name":"f"}]},
			{"type":"local_shell_call","id":"lsh_1","call_id":"c1","status":"completed","action":{"type": "exec", "command": ["ls", "a  b"], "env": {}}},{"type":"local_shell_call_output","id":"c1","output":"{\"stdout\":\"x\"}"},
			{"type":"local_shell_call","id":"c0","call_id":null,"action":{"command":[]}},
			{"type":"local_shell_call_output","id":"o","call_id":"c0","output":""},
			{"type":"shell_call","call_id":"c2","action":{"commands":["pwd"]},"environment":null},
			{"type":"apply_patch_call","call_id":"c3","status":"completed","operation":{"type":"delete_file","path":"p"}},
			{"type":"apply_patch_call","call_id":"c4","status":"completed","operation":{"type":"delete_file","path":"\u00fc"}},
			{"type":"shell_call_output","id":"sho_1","call_id":"c2","max_output_length":null,"output":[{"stdout": "/\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
			{"type":"apply_patch_call_output","call_id":"c4","status":"failed","output":"no \"ü\""},
			{"type":"apply_patch_call_output","call_id":"c3","status":"completed"},
			{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"w"}},
			{"type":"web_search_call","id":"ws_2","status":"completed"},
			{"type":"mcp_call","id":"mcp_1","server_label":"l","name":"f","arguments":"{\"a\": 1}","output":"r","error":null},
			{"type":"mcp_call","id":"mcp_2","server_label":"l","name":"f","arguments":"{}","error":{"type":"x", "code":1}},
			{"type":"mcp_call","id":"mcp_3","server_label":"l","name":"f","arguments":"{}","status":"incomplete"},
			{"type":"unheard_of","role":"user","content":"n"},{"role":"assistant","content":"done"}]`,
			systemLine + `user: q
assistant|commentary: wait
assistant|commentary to=functions.local_shell|<|constrain|>json: {"command":["ls","a  b"]}
tool:functions.local_shell to=assistant|commentary: {"stdout":"x"}
assistant|commentary to=functions.local_shell|<|constrain|>json: {"command":[]}
tool:functions.local_shell to=assistant|commentary: 
assistant|commentary to=functions.shell|<|constrain|>json: {"commands":["pwd"]}
assistant|commentary to=functions.apply_patch|<|constrain|>json: {"type":"delete_file","path":"p"}
assistant|commentary to=functions.apply_patch|<|constrain|>json: {"type":"delete_file","path":"\u00fc"}
tool:functions.shell to=assistant|commentary: [{"stdout":"/\n","stderr":"","outcome":{"type":"exit","exit_code":0}}]
` + "tool:functions.apply_patch to=assistant|commentary: failed\nno \"ü\"" + `
tool:functions.apply_patch to=assistant|commentary: completed
assistant|commentary to=functions.web_search|<|constrain|>json: {"type":"search","query":"w"}
tool:functions.web_search to=assistant|commentary: completed
assistant|commentary to=functions.f|<|constrain|>json: {"a": 1}
tool:functions.f to=assistant|commentary: r
assistant|commentary to=functions.f|<|constrain|>json: {}
tool:functions.f to=assistant|commentary: {"type":"x","code":1}
assistant|commentary to=functions.f|<|constrain|>json: {}
tool:functions.f to=assistant|commentary: incomplete
assistant|final: done
`,
		},
		{
			"leading instructions around what is passed over",
			`"input":[{"role":"developer","content":"a"},{"type":"unheard_of"},{"role":"developer","content":"b"},` +
				`{"role":"user","content":"q"}]`,
			systemLine + "developer: {a⏎⏎b}\nuser: q\n",
		},
		{
			"a history sent back",
			`"input":[{"role":"user","content":"q"},
			{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":null},
			{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"wait","annotations":[],"logprobs":[]}]},
			{"type":"reasoning","summary":[{"type":"summary_text","text":"s"}]},
			{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"r"}]},
			{"type":"reasoning","summary":[]},
			{"role":"assistant","phase":"commentary","content":"hm"},
			{"role":"assistant","phase":"final_answer","content":[{"type":"refusal","refusal":"no"}]}]`,
			systemLine + `user: q
assistant|analysis: t
assistant|commentary: wait
assistant|analysis: s
assistant|commentary to=functions.f|<|constrain|>json: {}
tool:functions.f to=assistant|commentary: r
assistant|commentary: hm
assistant|final: no
`,
		},
	}
	for _, tt := range tests {
		r, err := read(Responses, `{"model":"gpt-oss-120b",`+tt.body+`}`)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := dump(&r.Conversation); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	_, err := read(Responses, `{"model":"m","input":[{"type":"function_call_output","call_id":"c9","output":"x"}]}`)
	if err == nil || err.Status != 400 || err.Param != "input[0].call_id" {
		t.Errorf("an answer to no call: %+v", err)
	}
	_, err = read(Responses, `{"model":"m","input":[{"type":"unheard_of"},{"type":"shell_call_output","call_id":"c9",`+
		`"output":[]}]}`)
	if err == nil || err.Status != 400 || err.Param != "input[1].call_id" {
		t.Errorf("a result without a call, after items that are ignored: %+v", err)
	}
}

func TestCalledTool(t *testing.T) {
	var set toolset
	for _, name := range []string{"shell", "to_json", "to_"} {
		set = append(set, shownTool{calledTool: calledTool{shown: name}, name: name})
	}
	set = append(set, shownTool{calledTool: calledTool{shown: "container.exec", builtIn: true}, name: "container.exec"})
	tests := []struct{ recipient, want string }{
		{"functions.shell", "shell"}, {"shell", "shell"}, {"functions.shelljson", "shell"}, {"shelljson", "shell"},
		{"functions.to_json", "to_json"}, {"functions.other", ""}, {"browser.search", ""}, {"python", ""}, {"functions.", ""},
		{"json", ""}, {"code", ""}, {"shellcode", ""}, {"functions.shellcode", ""},
		{"container.exec", "container.exec"}, {"container.execcode", "container.exec"},
		{"container.execjson", "container.exec"}, {"functions.container.exec", "container.exec"},
		{"container", ""}, {"exec", ""}, {"container.exec.x", ""}, {"container.", ""},
	}
	for _, tt := range tests {
		got := ""
		if tool := set.byRecipient(tt.recipient); tool != nil {
			got = tool.name
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.recipient, got, tt.want)
		}
	}
}

func TestRouting(t *testing.T) {
	tests := []struct {
		header harmony.Header
		want   lane
	}{
		{harmony.Header{Role: harmony.Assistant, Channel: "final"}, finalLane},
		{harmony.Header{Role: harmony.Assistant}, finalLane},
		{harmony.Header{Channel: "commentary"}, preambleLane},
		{harmony.Header{Channel: "commentary", Recipient: "all"}, preambleLane},
		{harmony.Header{Channel: "analysis", Recipient: "user"}, reasoningLane},
		{harmony.Header{Channel: "analysis", Recipient: "functions.f"}, callLane},
		{harmony.Header{Channel: "final", Recipient: "python"}, reasoningLane},
		{harmony.Header{Channel: "finally"}, reasoningLane},
		{harmony.Header{Role: harmony.Tool, Name: "functions.f", Channel: "final"}, reasoningLane},
		{harmony.Header{Role: harmony.User, Recipient: "functions.f"}, reasoningLane},
	}
	for _, tt := range tests {
		turn := turn{tools: toolset{{calledTool: calledTool{shown: "f"}, name: "f"}}}
		if tool := turn.open(tt.header); turn.lane != tt.want || (tool != nil) != (tt.want == callLane) {
			t.Errorf("%+v: lane %d, tool %v", tt.header, turn.lane, tool)
		}
	}
}
