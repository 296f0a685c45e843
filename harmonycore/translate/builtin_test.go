package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestBuiltInNames checks that the tools of the API's type builtin are those that the model has.
func TestBuiltInNames(t *testing.T) {
	for name, want := range map[string]bool{
		"browser": true, "container": true, "python": true, "functions": false, "browser.search": false, "": false,
	} {
		if _, ok := harmony.BuiltinTools(name); ok != want || openai.IsBuiltIn(name) != want {
			t.Errorf("%q: described %v, read %v, want %v", name, ok, openai.IsBuiltIn(name), want)
		}
	}
}

const allBuiltIns = `{"type":"builtin","name":"browser"},{"type":"builtin","name":"python"},` +
	`{"type":"builtin","name":"container"}`

// TestBuiltInConversation checks the head of the conversation, and calls and results in the history.
func TestBuiltInConversation(t *testing.T) {
	const history = `"input":[{"role":"user","content":"q"},
		{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},
		{"type":"function_call","call_id":"c1","name":"browser.search","arguments":"{\"query\":\"x\"}"},
		{"type":"custom_tool_call","call_id":"c2","name":"python","input":"print(1)"},
		{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"1"},{"type":"input_text","text":"\n"}]},
		{"type":"function_call_output","call_id":"c1","output":"found"},
		{"type":"function_call","call_id":"c3","name":"python","arguments":"{\"code\":\"2\"}"},
		{"type":"function_call_output","call_id":"c3","output":"2"},
		{"type":"function_call","call_id":"c4","name":"python","namespace":"n","arguments":"{}"},
		{"type":"function_call_output","call_id":"c4","output":"3"},
		{"type":"mcp_call","name":"python","server_label":"l","arguments":"{}","output":"4"}]`
	const offered = `"tools":[{"type":"builtin","name":"python"},{"type":"namespace","name":"n","tools":[{"type":"function",` +
		`"name":"python"}]},{"type":"builtin","name":"browser"}],`
	const asCalls = `assistant|analysis: t
assistant|analysis to=browser.search|code: {"query":"x"}
assistant|analysis to=python|code: print(1)
tool:python to=assistant|analysis: 1

tool:browser.search to=assistant|analysis: found
assistant|analysis to=python|code: {"code":"2"}
tool:python to=assistant|analysis: 2
`
	const head, inFunctions = "system: {I 2024-06 2026-01-02 medium analysis/commentary/final", `assistant|analysis: t
assistant|commentary to=functions.browser.search|<|constrain|>json: {"query":"x"}
assistant|commentary to=functions.python: print(1)
tool:functions.python to=assistant|commentary: 1

tool:functions.browser.search to=assistant|commentary: found
assistant|commentary to=functions.python|<|constrain|>json: {"code":"2"}
tool:functions.python to=assistant|commentary: 2
`
	functionCalls := func(name string) string {
		return "assistant|commentary to=functions." + name + "|<|constrain|>json: {}\ntool:functions." + name +
			" to=assistant|commentary: 3\nassistant|commentary to=functions.python|<|constrain|>json: {}\n" +
			"tool:functions.python to=assistant|commentary: 4\n"
	}
	for _, tt := range []struct{ name, members, want string }{
		{"declared", offered, head + " python browser}\ndeveloper: { functions=functions[ n__python ]}\nuser: q\n" +
			asCalls + functionCalls("n__python")},
		{"hidden by the choice", offered + `"tool_choice":"none",`,
			head + "}\nuser: q\n" + asCalls + functionCalls("python")},
		{"one allowed", offered + `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"builtin",` +
			`"name":"browser"}]},`, head + " browser}\nuser: q\n" + asCalls + functionCalls("python")},
		{"not declared", `"tools":[{"type":"builtin","name":"container"}],`,
			head + " container}\nuser: q\n" + inFunctions + functionCalls("python")},
	} {
		r, err := read(Responses, `{"model":"m",`+tt.members+history+`}`)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := dump(&r.Conversation); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestBuiltInCalls checks that calls of built-in tools that the request offers are items of their own, of which half a
// call is incomplete.
func TestBuiltInCalls(t *testing.T) {
	call := func(recipient, text string, end harmony.End) msg {
		return msg{recipient, "analysis", []string{text}, end}
	}
	const method = "function_call completed browser.search "
	for _, tt := range []struct {
		name   string
		turn   []msg
		finish Finish
		items  string
		unfit  int
	}{
		{"a method", []msg{call("browser.search", `{"query":"x"}`, harmony.EndedByCall)}, Stop, method + `{"query":"x"}`, 0},
		{"other arguments", []msg{call("browser.search", `{"query":1}`, harmony.EndedByCall)}, Stop, method + `{"query":1}`,
			1},
		{"glued to its type", []msg{call("browser.searchcode", `{"query":"x"}`, harmony.EndedByEnd)}, Stop,
			method + `{"query":"x"}`, 0},
		{"among the functions", []msg{call("functions.browser.search", `{"query":"x"}`, harmony.EndedByCall)}, Stop,
			method + `{"query":"x"}`, 0},
		{"code", []msg{call("python", "print(1)", harmony.EndedByCall)}, Stop, `custom_tool_call completed python print(1)`,
			0},
		{"code as JSON", []msg{call("pythoncode", `{"code":"1"}`, harmony.EndedByCall)}, Stop,
			`custom_tool_call completed python {"code":"1"}`, 0},
		{"on the channel of functions", []msg{{"container.exec", "commentary", []string{`{"cmd":["ls"]}`},
			harmony.EndedByCall}}, Stop, `function_call completed container.exec {"cmd":["ls"]}`, 0},
		{"half a call", []msg{call("browser.open", `{"id":`, harmony.Cut)}, Length,
			`function_call incomplete browser.open {"id":`, 0},
		{"half of the code", []msg{call("python", "print(", harmony.Cut)}, Length,
			`custom_tool_call incomplete python print(`, 0},
		{"no method of it", []msg{call("browser.click", `{}`, harmony.EndedByCall)}, Stop, `reasoning completed  {}`, 0},
	} {
		for _, stream := range []string{`"stream":true,`, ""} {
			r, err := read(Responses, `{"model":"m",`+stream+`"input":"q","tools":[`+allBuiltIns+`]}`)
			if err != nil {
				t.Fatal(err)
			}
			a := r.NewAnswer()
			out := play(a, answerCase{turn: tt.turn, finish: tt.finish}, never)
			final := func() map[string]any { return decode(t, out) }
			if stream != "" {
				final = func() map[string]any { return checkGrammar(t, parseEvents(t, out)) }
			}
			var items []string
			for _, v := range final()["output"].([]any) {
				item := v.(map[string]any)
				name, _ := item["name"].(string)
				text, _ := item["arguments"].(string)
				if input, ok := item["input"].(string); ok {
					text = input
				}
				if content, ok := item["content"].([]any); ok {
					text = content[0].(map[string]any)["text"].(string)
				}
				items = append(items, item["type"].(string)+" "+item["status"].(string)+" "+name+" "+text)
			}
			if got := strings.Join(items, ", "); got != tt.items || a.Tally().UnfitArguments != tt.unfit ||
				a.Tally().IncompleteBuiltIns != 0 {
				t.Errorf("%s %s: %s, %+v, want %s", tt.name, stream, got, a.Tally(), tt.items)
			}
		}
	}
}

// TestBuiltInMessages checks that a response with Harmony's messages has such calls under the header of a history.
func TestBuiltInMessages(t *testing.T) {
	r, err := read(Responses, `{"model":"m","input":"q","tools":[`+allBuiltIns+`]}`)
	if err != nil {
		t.Fatal(err)
	}
	turn := r.newTurn()
	h := harmony.Header{Role: harmony.Assistant, Recipient: "pythonjson", Channel: harmony.Commentary}
	want := harmony.Header{Role: harmony.Assistant, Recipient: "python", Channel: harmony.Analysis, ContentType: "code"}
	if got := turn.historyHeader(h, turn.open(h)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
