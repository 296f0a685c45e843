package translate

import (
	"encoding/json"
	"slices"
	"strings"
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
			`{"messages":[{"role":"system","content":"a\n\nb\n\nc\n\nd"},{"role":"user","content":"hi"}]}`},
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
		{"order does not matter in fields", "reasoning", `{"model":"m","input":[` + reasoning("a") + message("b") +
			reasoning("c ") + message("d\n") + reasoning("e") + message("f") + last(call) + `]}`,
			`{"messages":[{"role":"assistant","content":"b\n\nd\nf","reasoning":"a\n\nc e","tool_calls":[` + called + `]}]}`},
		{"tags come first", "think_tags", `{"model":"m","input":[` + reasoning("a") + message("b") +
			reasoning("c") + last(call) + `]}`,
			`{"messages":[{"role":"assistant","content":"<think>a\n\nc</think>b","tool_calls":[` + called + `]}]}`},
		{"no reasoning", "none", `{"model":"m","input":[` + reasoning("a") + message("b") + reasoning("c") + user +
			reasoning("d") + user + last(call) + `]}`,
			`{"messages":[{"role":"assistant","content":"b"},{"role":"user","content":"u"},{"role":"user","content":"u"},` +
				`{"role":"assistant","content":null,"tool_calls":[` + called + `]}]}`},
		{"reasoning alone", "both", `{"model":"m","input":[` + reasoning("a") + user + message("") + user +
			`{"role":"assistant"}]}`,
			`{"messages":[{"role":"assistant","content":"","reasoning_content":"a","reasoning":"a"},` +
				`{"role":"user","content":"u"},{"role":"assistant","content":""},{"role":"user","content":"u"},` +
				`{"role":"assistant","content":""}]}`},
		{"reasoning prefers its content", "reasoning", `{"model":"m","input":[{"type":"reasoning","id":"r","summary":[` +
			`{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"a"},` +
			`{"type":"reasoning_text","text":"b"}]}]}`,
			`{"messages":[{"role":"assistant","content":"","reasoning":"ab"}]}`},
		{"media", "both", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"look"},` +
			`{"type":"input_image","image_url":"data:image/png;base64,A\u0041==","detail":"low"},` +
			`{"type":"image_url","image_url":{"url":"http://x/y","detail":"high"}},{"type":"input_text","text":""},` +
			`{"type":"input_file","filename":"a\"b","file_data":"data:,x","file_id":null,"file_url":"u"},` +
			`{"type":"file","file":{"file_id":"f1"}},{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}},` +
			`{"type":"input_video","video_url":"http://v"},{"type":"video_url","video_url":{"url":"w"}},` +
			`{"type":"input_text","text":"there"}]},` + call +
			`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"z"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"look"},` +
				`{"type":"image_url","image_url":{"url":"data:image/png;base64,A\u0041==","detail":"low"}},` +
				`{"type":"image_url","image_url":{"url":"http://x/y","detail":"high"}},` +
				`{"type":"file","file":{"file_data":"data:,x","filename":"a\"b"}},{"type":"file","file":{"file_id":"f1"}},` +
				`{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}},` +
				`{"type":"video_url","video_url":{"url":"http://v"}},{"type":"video_url","video_url":{"url":"w"}},` +
				`{"type":"text","text":"there"}]},` +
				`{"role":"assistant","content":null,"tool_calls":[` + called + `]},` +
				`{"role":"tool","tool_call_id":"c","content":[{"type":"image_url","image_url":{"url":"z"}}]}]}`},
		{"parts", "both", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"},` +
			`{"type":"input_text","text":"b "},{"type":"input_text","text":"c"}]},{"role":"assistant","content":[` +
			`{"type":"output_text","text":"d"},{"type":"refusal","refusal":"e"}]}]}`,
			`{"messages":[{"role":"user","content":"a\nb c"},{"role":"assistant","content":"de"}]}`},
		{"custom and other calls", "both", `{"model":"m","input":[` +
			`{"type":"custom_tool_call","call_id":"a","name":"patch","input":"*** \"x\"\n\u00e9"},` +
			`{"type":"function_call","call_id":"b","name":"f","arguments":""},` +
			`{"type":"local_shell_call","call_id":"s","status":"completed",` +
			`"action":{"type":"exec","command":["ls"],"env":{}}},` +
			`{"type":"function_call","call_id":"p","name":"browser.search","arguments":"[1]"},` +
			`{"type":"custom_tool_call_output","call_id":"a","output":"ok"},` +
			`{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}},` +
			`{"type":"local_shell_call_output","id":"s","output":"f"},{"type":"some_call"}],` +
			`"tools":[{"type":"builtin","name":"browser"}],"tool_choice":"none"}`,
			`{"messages":[{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"a","type":"function","function":{"name":"patch","arguments":"{\"input\":\"*** \\\"x\\\"\\né\"}"}},` +
				`{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}},` +
				`{"id":"s","type":"function","function":{"name":"local_shell","arguments":"{\"command\":[\"ls\"]}"}},` +
				`{"id":"p","type":"function","function":{"name":"browser_search","arguments":"{\"input\":\"[1]\"}"}}]},` +
				`{"role":"tool","tool_call_id":"a","content":"ok"},{"role":"tool","tool_call_id":"s","content":"f"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"call_5","type":"function","function":` +
				`{"name":"web_search","arguments":"{\"type\":\"search\",\"query\":\"q\"}"}}]},` +
				`{"role":"tool","tool_call_id":"call_5","content":"completed"}]}`},
		{"schema", "both", `{"model":"m","input":"u","text":{"format":{"type":"json_schema","name":"n","description":"d",` +
			`"strict":true,"schema":{ "type":"object" }}},"tool_choice":"none","parallel_tool_calls":true}`,
			`{"messages":[` + asked + `],"response_format":{"type":"json_schema","json_schema":{"name":"n",` +
				`"description":"d","schema":{"type":"object"},"strict":true}}}`},
		{"object", "both", `{"model":"m","input":"u","text":{"format":{"type":"json_object"}}}`,
			`{"messages":[` + asked + `],"response_format":{"type":"json_object"}}`},
		{"no form", "both", `{"model":"m","input":"u","text":{"format":{"type":"text"}}}`, `{"messages":[` + asked + `]}`},
		{"servers' form", "both", `{"model":"m","input":"u","structured_outputs":{ "regex":"a+" }}`,
			`{"messages":[` + asked + `],"structured_outputs":{ "regex":"a+" }}`},
		{"servers' schema", "both", `{"model":"m","input":"u","guided_json":"{\"a\": 1}"}`,
			`{"messages":[` + asked + `],"response_format":{"type":"json_schema","json_schema":{"name":"json",` +
				`"schema":{"a":1},"strict":true}}}`},
		{"servers' object", "both", `{"model":"m","input":"u","structured_outputs":{"json_object":true}}`,
			`{"messages":[` + asked + `],"response_format":{"type":"json_object"}}`},
		{"servers' choice", "both", `{"model":"m","input":"u","guided_choice":["a","b"],"regex":""}`,
			`{"messages":[` + asked + `],"guided_choice":["a","b"]}`},
		{"template", "both", `{"model":"m","input":"u","chat_template_kwargs":{"enable_thinking":false}}`,
			`{"messages":[` + asked + `],"chat_template_kwargs":{"enable_thinking":false}}`},
		{"effort", "both", `{"model":"m","input":"u","reasoning":{"effort":"xhigh"},"text":{"verbosity":"low"},"user":"u",` +
			`"metadata":{"a":"b"},"prompt_cache_key":"k","safety_identifier":"s","store":true,"service_tier":"auto"}`,
			`{"messages":[` + asked + `],"reasoning_effort":"xhigh","verbosity":"low"}`},
	} {
		if _, got := conversationOf(t, chatModel(tc.history), tc.body); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// reasoning, message, call and user are items of an input, each with a comma but the last of an array. called and asked
// are what becomes of call and user.
func reasoning(text string) string {
	return `{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"` + escaped(text) + `"}]},`
}

func message(text string) string {
	return `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + escaped(text) + `"}]},`
}

func escaped(text string) string { return string(rawjson.AppendEscaped(nil, text)) }

const (
	call   = `{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\": 1}"},`
	called = `{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}`
	user   = `{"role":"user","content":"u"},`
	asked  = `{"role":"user","content":"u"}`
)

// last returns an item without its comma.
func last(item string) string { return strings.TrimSuffix(item, ",") }

const anyInput = `"parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],` +
	`"additionalProperties":false}}}`

func TestResponsesChatTools(t *testing.T) {
	f := `{"type":"function","name":"f","description":"F","parameters":{"type":"object", "properties":{}},"strict":true}`
	shownF := `{"type":"function","function":{"name":"f","description":"F",` +
		`"parameters":{"type":"object", "properties":{}},"strict":true}}`
	c := `{"type":"custom","name":"c","description":"C","format":{"type":"grammar","syntax":"regex","definition":"a+"}}`
	shownC := `{"type":"function","function":{"name":"c","description":"C\n\nThe whole input matches this regular ` +
		`expression:\na+",` + anyInput
	space := func(name, text string) string {
		return `{"type":"namespace","name":"` + name + `","description":"` + text + `","tools":[` +
			`{"type":"function","name":"f"},{"type":"function","name":"` + name + `_g","description":"G"}]}`
	}
	none := `"parameters":{"type":"object","properties":{}}}}`
	named := func(name string) string {
		return `,"tool_choice":{"type":"function","function":{"name":"` + name + `"}}`
	}
	for _, tc := range []struct{ name, members, want string }{
		{"plain", `"tools":[` + f + `,` + c + `,{"type":"web_search"}]`, `[` + shownF + `,` + shownC + `]`},
		{"auto", `"tools":[` + f + `],"tool_choice":"auto","parallel_tool_calls":false`,
			`[` + shownF + `],"tool_choice":"auto","parallel_tool_calls":false`},
		{"required", `"tools":[` + f + `],"tool_choice":"required","text":{"format":{"type":"json_object"}}`,
			`[` + shownF + `],"tool_choice":"required"`},
		{"named", `"tools":[` + f + `,` + c + `],"tool_choice":{"type":"custom","name":"c"}`,
			`[` + shownF + `,` + shownC + `]` + named("c")},
		{"allowed", `"tools":[` + f + `,` + c + `],"tool_choice":{"type":"allowed_tools","mode":"required","tools":[` +
			`{"type":"function","name":"f"}]}`, `[` + shownF + `],"tool_choice":"required"`},
		{"namespaces", `"tools":[` + space("a", "one") + `,` + space("b", "two") + `]`,
			`[{"type":"function","function":{"name":"a__f","description":"a (a__f, a_g): one",` + none + `,` +
				`{"type":"function","function":{"name":"a_g","description":"G",` + none + `,` +
				`{"type":"function","function":{"name":"b__f","description":"b (b__f, b_g): two",` + none + `,` +
				`{"type":"function","function":{"name":"b_g","description":"G",` + none + `]`},
	} {
		_, got := conversationOf(t, chatModel("both"), `{"model":"m","input":"u",`+tc.members+`}`)
		if want := `{"messages":[` + asked + `],"tools":` + tc.want + `}`; got != want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, want)
		}
	}
}

// TestResponsesChatBuiltIns checks that the functions that stand for built-in tools have names of their own, and that
// their calls are found again.
func TestResponsesChatBuiltIns(t *testing.T) {
	tools := `"tools":[{"type":"function","name":"browser_open"},{"type":"builtin","name":"browser"},` +
		`{"type":"builtin","name":"container"},{"type":"builtin","name":"python"}]`
	names := func(choice string) (r *Request, shown []string, conversation string) {
		r, conversation = conversationOf(t, chatModel("both"), `{"model":"m","input":[`+
			`{"type":"function_call","call_id":"a","name":"browser.open","arguments":"{}"},`+
			`{"type":"function_call","call_id":"b","name":"browser_open","arguments":"{}"},`+
			`{"type":"custom_tool_call","call_id":"c","name":"python","input":"1"}],`+tools+choice+`}`)
		list, _ := rawjson.Find([]byte(conversation), "tools")
		all := rawjson.Elements(list)
		for all.Next() {
			function, _ := rawjson.Find(all.Value, "function")
			name, _ := rawjson.Find(function, "name")
			description, _ := rawjson.Find(function, "description")
			parameters, _ := rawjson.Find(function, "parameters")
			if len(parameters) == 0 || len(description) < 20 && string(name) != "browser_open" {
				t.Errorf("%s is %q with %s", name, description, parameters)
			}
			shown = append(shown, string(name))
		}
		return r, shown, conversation
	}
	r, shown, conversation := names("")
	if want := []string{
		"browser_open", "browser_search", "browser_open_2", "browser_find", "container_exec", "python",
	}; !slices.Equal(shown, want) {
		t.Errorf("shown are %q", shown)
	}
	for i, name := range []string{
		"browser_open", "browser.search", "browser.open", "browser.find", "container.exec", "python",
	} {
		tool := r.tools.byRecipient(functions + "." + shown[i])
		if tool == nil || tool.name != name || tool.custom != (name == "python") {
			t.Errorf("%s is %+v", shown[i], tool)
		}
	}
	for _, name := range []string{`"a","type":"function","function":{"name":"browser_open_2"`,
		`"b","type":"function","function":{"name":"browser_open"`, `"c","type":"function","function":{"name":"python"`} {
		if !strings.Contains(conversation, name) {
			t.Errorf("the history has no %s: %s", name, conversation)
		}
	}
	if _, shown, conversation := names(`,"tool_choice":{"type":"builtin","name":"browser"}`); len(shown) != 3 ||
		!strings.HasSuffix(conversation, `"tool_choice":"required"}`) {
		t.Errorf("shown are %q: %s", shown, conversation)
	}
	if _, shown, conversation := names(`,"tool_choice":{"type":"builtin","name":"python"}`); len(shown) != 1 ||
		!strings.HasSuffix(conversation, `"tool_choice":{"type":"function","function":{"name":"python"}}}`) {
		t.Errorf("shown are %q: %s", shown, conversation)
	}
}

// TestResponsesChatSettings checks what the operator decides.
func TestResponsesChatSettings(t *testing.T) {
	m := chatModel("think_tags")
	m.Chat.ThinkTags, m.Chat.DeveloperRole = contract.ThinkAnywhere, contract.DeveloperKeep
	m.Chat.TemplateKwargs = `{"a":1,"b":2}`
	m.ExtraBody = `{"temperature":0.1,"top_p":0.2,"top_k":3,"min_p":0.1,"max_tokens":9,"reasoning_effort":"low",` +
		`"model":"no","messages":[],"stream":false,"n":7,"tools":[],"chat_template_kwargs":{},"x":{"y":[null]}}`
	in := `{"model":"m","input":[{"role":"developer","content":"d"},` + reasoning("a") + message("b") + reasoning("c") +
		last(message("d")) + `],"temperature":1,"top_k":5,"max_output_tokens":20,"reasoning":{"effort":"none"},` +
		`"chat_template_kwargs":{"b":3}}`
	want := `{"messages":[{"role":"developer","content":"d"},` +
		`{"role":"assistant","content":"<think>a</think>b<think>c</think>d"}],"chat_template_kwargs":{"b":3,"a":1},` +
		`"reasoning_effort":"none","top_p":0.2,"min_p":0.1,"tools":[],"x":{"y":[null]}}`
	r, got := conversationOf(t, m, in)
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if r.effortWord != "none" || r.Sampling.MaxTokens != 20 || r.Sampling.TemplateKwargs != nil {
		t.Errorf("%+v", r)
	}
	m.ServerExtras = nil
	if _, got := conversationOf(t, m, in); !strings.Contains(got, `"chat_template_kwargs":{"a":1,"b":2},`+
		`"reasoning_effort":"none","top_p":0.2,"top_k":3`) {
		t.Errorf("a client's template arguments are not refused: %s", got)
	}
	if again := r.AppendConversation([]byte("!")); string(again) != "!" {
		t.Errorf("a second conversation: %s", again)
	}
}

func TestResponsesChatErrors(t *testing.T) {
	image := `{"type":"input_image","image_url":"x"}`
	for _, tc := range []struct{ members, param, code string }{
		{`"input":[{"role":"system","content":[` + image + `]}]`, "input[0].content[0]", contract.CodeUnsupportedParameter},
		{`"input":[{"role":"assistant","content":[` + image + `]}]`, "input[0].content[0]",
			contract.CodeUnsupportedParameter},
		{`"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]`, "input[0].content[0].file_id",
			contract.CodeUnsupportedParameter},
		{`"input":[{"role":"user","content":[{"type":"input_image"}]}]`, "input[0].content[0].image_url",
			contract.CodeMissingParameter},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":{"detail":"low"}}]}]`,
			"input[0].content[0].image_url.url", contract.CodeMissingParameter},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":""}]}]`, "input[0].content[0].image_url",
			contract.CodeInvalidValue},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":7}]}]`, "input[0].content[0].image_url",
			contract.CodeInvalidType},
		{`"input":[{"role":"user","content":[{"type":"input_image","image_url":"x","detail":1}]}]`,
			"input[0].content[0].detail", contract.CodeInvalidType},
		{`"input":[{"role":"user","content":[{"type":"input_audio"}]}]`, "input[0].content[0].input_audio",
			contract.CodeMissingParameter},
		{`"input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"x"}}]}]`,
			"input[0].content[0].input_audio.format", contract.CodeMissingParameter},
		{`"input":[{"role":"user","content":[{"type":"input_file","file_url":"x"}]}]`, "input[0].content[0].file_url",
			contract.CodeUnsupportedParameter},
		{`"input":[{"role":"user","content":[{"type":"input_file","filename":"x"}]}]`, "input[0].content[0].file_data",
			contract.CodeMissingParameter},
		{`"input":[{"role":"user","content":[{"type":"x"}]}]`, "input[0].content[0]", contract.CodeInvalidValue},
		{`"input":[{"type":"computer_call_output","call_id":"c","output":{}}]`, "input[0]",
			contract.CodeUnsupportedParameter},
		{`"input":[{"type":"function_call_output","call_id":"c","output":"x"},` + last(call) + `]`, "input[0].call_id",
			contract.CodeInvalidValue},
		{`"input":[{"type":"reasoning","summary":[],"encrypted_content":"` + sealedHere(t) + `"}]`,
			"input[0].encrypted_content", contract.CodeInvalidEncryptedContent},
		{`"input":"u","include":["harmony.messages"]`, "include[0]", contract.CodeInvalidValue},
	} {
		opened, failure := openai.Open([]byte(`{"model":"m",` + tc.members + `}`))
		if failure == nil {
			_, failure = ResponsesChat(opened, chatModel("both"), Env{ID: "x"})
		}
		if failure == nil || failure.Param != tc.param || failure.Code != tc.code {
			t.Errorf("%s: %+v", tc.members, failure)
		}
	}
}

// sealedHere returns reasoning that this gateway has sealed.
func sealedHere(t *testing.T) string {
	return sealedOf(t, decode(t, sealedAnswer(t, sealing(t, 60), false, false, Stop)))
}

// TestResponsesChatSealed checks that sealed reasoning goes to the servers as it was, and not what a client puts beside
// it.
func TestResponsesChatSealed(t *testing.T) {
	s := sealing(t, 60)
	item := `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"forged"}],` +
		`"encrypted_content":"` + sealedOf(t, decode(t, sealedAnswer(t, s, false, false, Stop))) + `"}`
	body := `{"model":"m","input":[` + item + `,` + last(message("t")) + `],"include":["reasoning.encrypted_content"]}`
	read := func(now int64, s Sealing) (string, *openai.Error) {
		opened, failure := openai.Open([]byte(body))
		if failure != nil {
			t.Fatal(failure)
		}
		env := testEnv
		env.Now, env.Sealing = env.Now+now, s
		r, failure := ResponsesChat(opened, chatModel("reasoning"), env)
		if failure != nil {
			return "", failure
		}
		if !r.sealed {
			t.Error("the answer is not sealed")
		}
		return string(r.AppendConversation(nil)), nil
	}
	want := `,"messages":[{"role":"assistant","content":"t","reasoning":"a \"thought\""}]`
	if got, failure := read(59, s); got != want {
		t.Errorf("got %s, %v", got, failure)
	}
	if got, failure := read(60, s); got != strings.Replace(want, `a \"thought\"`, "forged", 1) {
		t.Errorf("after its time: %s, %v", got, failure)
	}
	if got, failure := read(0, Sealing{}); got != strings.Replace(want, `a \"thought\"`, "forged", 1) {
		t.Errorf("without keys: %s, %v", got, failure)
	}
}

// TestVideos checks that videos, which only chat servers may read, are refused or dropped for gpt-oss as images are.
func TestVideos(t *testing.T) {
	body := `{"model":"m","input":[{"role":"user","content":[{"type":"input_video","video_url":"u"},` +
		`{"type":"audio_url","audio_url":{"url":"u"}}]}]}`
	read := func(m contract.Model) (*Request, *openai.Error) {
		opened, failure := openai.Open([]byte(body))
		if failure != nil {
			t.Fatal(failure)
		}
		return Responses(opened, &m, testEnv)
	}
	m := *testModel
	if _, failure := read(m); failure == nil || failure.Code != contract.CodeUnsupportedParameter {
		t.Errorf("refused with %v", failure)
	}
	m.UnsupportedContent = contract.ContentDrop
	if r, failure := read(m); failure != nil || r.Dropped != 2 {
		t.Errorf("dropped with %v", failure)
	}
}

// TestLateInstructions: a developer's item that is later than the first turn is where the operator wants it. By default
// templates that take one message of the system, at the beginning, take the conversation.
func TestLateInstructions(t *testing.T) {
	const in = `{"model":"m","input":[{"role":"developer","content":"Rules"},{"role":"user","content":"Hi"},` +
		`{"role":"assistant","content":"Hello"},{"role":"developer","content":"<model_switch>"},` +
		`{"role":"user","content":"Go on"}]}`
	const hi, bye = `{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},`,
		`{"role":"user","content":"Go on"}]}`
	for _, tt := range []struct{ late, developer, want string }{
		{"", "", `{"role":"system","content":"Rules\n\n<model_switch>"},` + hi},
		{contract.LateFirst, contract.DeveloperKeep, `{"role":"developer","content":"Rules\n\n<model_switch>"},` + hi},
		{contract.LateUser, "", `{"role":"system","content":"Rules"},` + hi +
			`{"role":"user","content":"<model_switch>"},`},
		{contract.LateKeep, "", `{"role":"system","content":"Rules"},` + hi +
			`{"role":"system","content":"<model_switch>"},`},
		{contract.LateKeep, contract.DeveloperKeep, `{"role":"developer","content":"Rules"},` + hi +
			`{"role":"developer","content":"<model_switch>"},`},
	} {
		m := chatModel("both")
		if tt.late != "" {
			m.Chat.LateInstructions = tt.late
		}
		if tt.developer != "" {
			m.Chat.DeveloperRole = tt.developer
		}
		if _, got := conversationOf(t, m, in); got != `{"messages":[`+tt.want+bye {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", tt.late, tt.developer, got, tt.want+bye)
		}
	}
}

// TestResultsFollowCalls: a message of the assistant with calls is followed by their results, whatever the client has
// between them.
func TestResultsFollowCalls(t *testing.T) {
	called := func(id string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"},`
	}
	result := func(id, output string) string {
		return `{"type":"function_call_output","call_id":"` + id + `","output":"` + output + `"},`
	}
	const hurry = `{"role":"user","content":"Hurry."},`
	for _, tt := range []struct{ name, in, want string }{
		{"a user's", called("a") + hurry + result("a", "1"), "assistant:a tool:a=1 user"},
		{"a developer's", called("a") + `{"role":"developer","content":"x"},` + result("a", "1"),
			"system assistant:a tool:a=1"},
		{"between results", called("a") + called("b") + result("b", "2") + hurry + result("a", "1"),
			"assistant:a,b tool:b=2 tool:a=1 user"},
		{"another call between", called("a") + hurry + called("b") + result("a", "1") + result("b", "2"),
			"assistant:a tool:a=1 user assistant:b tool:b=2"},
		{"one id for two calls", called("a") + hurry + result("a", "1") + called("a") + hurry + result("a", "2"),
			"assistant:a tool:a=1 user assistant:a tool:a=2 user"},
		{"two results of one call", called("a") + result("a", "1") + hurry + result("a", "2"),
			"assistant:a tool:a=1 user tool:a=2"},
		{"no result", called("a") + hurry + called("b") + result("b", "2"), "assistant:a user assistant:b tool:b=2"},
		{"text of the assistant", called("a") + `{"role":"assistant","content":"t"},` + result("a", "1"),
			"assistant:a tool:a=1"},
	} {
		_, got := conversationOf(t, chatModel("both"), `{"model":"m","input":[`+strings.TrimSuffix(tt.in, ",")+`]}`)
		var sent struct {
			Messages []struct {
				Role, Content string
				ID            string                `json:"tool_call_id"`
				Calls         []struct{ ID string } `json:"tool_calls"`
			}
		}
		if err := json.Unmarshal([]byte(got), &sent); err != nil {
			t.Fatal(err)
		}
		var messages []string
		for _, m := range sent.Messages {
			text := m.Role
			for i, c := range m.Calls {
				text += string(":,"[min(i, 1)]) + c.ID
			}
			if m.Role == "tool" {
				text += ":" + m.ID + "=" + m.Content
			}
			messages = append(messages, text)
		}
		if spelled := strings.Join(messages, " "); spelled != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, spelled, tt.want)
		}
	}
}
