package exchange

import (
	"encoding/json"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestCallsInTurns has answers whose calls do not come in one run of pieces each, and the items of them, in each size
// of pieces that matters. In a stream no call is completed before its arguments are whole.
func TestCallsInTurns(t *testing.T) {
	piece := func(index, arguments string) string { return call(index, "null", "null", arguments) }
	f, g := call("0", `"c1"`, `"f"`, ""), call("1", `"c2"`, `"g"`, "")
	const a, b = `{\"q\":\"a\"}`, `{\"q\":\"b\"}`
	const callF, callG = `function_call(c1 f {"q":"a"})`, `function_call(c2 g {"q":"b"})`
	for _, tt := range []struct{ name, answer, want string }{
		{"heads, then arguments", f + g + piece("0", a) + piece("1", b), callF + " " + callG},
		{"heads, then arguments the other way round", f + g + piece("1", b) + piece("0", a), callF + " " + callG},
		{"piece by piece", f + g + piece("0", `{\"q\"`) + piece("1", `{\"q\":`) +
			piece("0", `:\"a\"`) + piece("1", `\"b\"}`) +
			piece("0", `}`), callF + " " + callG},
		{"both in one chunk", chunk(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}},`+
			`{"index":1,"id":"c2","function":{"name":"g","arguments":""}}]`) + chunk(`"tool_calls":[{"index":1,"function":{`+
			`"arguments":"`+b+`"}},{"index":0,"function":{"arguments":"`+a+`"}}]`), callF + " " + callG},
		{"a second call within the first", f + piece("0", `{\"q\":`) + g + piece("1", b) + piece("0", `\"a\"}`),
			callF + " " + callG},
		{"reasoning after the head", f + chunk(`"reasoning_content":"hm"`) + piece("0", a), "reasoning(hm) " + callF},
		{"text after the head", f + chunk(`"content":"Hi"`) + piece("0", a), "message(Hi) " + callF},
		{"a line end after the head", f + chunk(`"content":"\n"`) + piece("0", a), callF},
		{"reasoning and text within the arguments", f + piece("0", `{\"q\":`) + chunk(`"reasoning_content":"h"`) +
			chunk(`"reasoning_content":"m"`) + chunk(`"content":"Hi"`) + piece("0", `\"a\"}`),
			callF + " reasoning(hm) message(Hi)"},
		{"a line end within the arguments", f + piece("0", `{\"q\":`) + chunk(`"content":"\n"`) + piece("0", `\"a\"}`),
			callF},
		{"everything within the arguments", f + piece("0", `{\"q\":`) + g + chunk(`"content":"Hi"`) + piece("0", `\"a\"}`) +
			piece("1", b), callF + " message(Hi) " + callG},
		{"no arguments", f + g + piece("1", b), "function_call(c1 f ) " + callG},
		{"text after no arguments", f + chunk(`"content":"Hi"`), "message(Hi) function_call(c1 f )"},
		{"arguments that never end", f + piece("0", `{`) + g + piece("1", b) + chunk(`"content":"Hi"`),
			"function_call(c1 f {) " + callG + " message(Hi)"},
		{"white space after the end", f + piece("0", a) + chunk(`"content":"Hi"`) + piece("0", `\n`),
			callF + " message(Hi)"},
		{"one id, two indexes", f + call("1", `"c1"`, "null", a), callF},
		{"custom", call("0", `"c1"`, `"patch"`, ``) + g + piece("0", `{\"input\":\"`) + piece("1", b) + piece("0", `x\"}`),
			"custom_tool_call(c1 patch x) " + callG},
		{"functions. before a declared name", call("0", `"c1"`, `"functions.f"`, a), callF},
		{"functions. twice", call("0", `"c1"`, `"functions.functions.f"`, a), callF},
		{"functions. before another name", call("0", `"c1"`, `"functions.f2"`, a), `reasoning({"q":"a"})`},
		{"a namespace", call("0", `"c2"`, `"mcp__shop.list"`, b), `function_call(c2 list {"q":"b"})`},
		{"functions. before a namespace", call("0", `"c2"`, `"functions.mcp__shop__list"`, b),
			`function_call(c2 list {"q":"b"})`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const tools = `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"function",` +
				`"name":"g","parameters":{"type":"object"}},{"type":"custom","name":"patch"},{"type":"namespace",` +
				`"name":"mcp__shop","description":"A shop","tools":[{"type":"function","name":"list"}]}]}`
			answer := tt.answer + finish("tool_calls")
			for n := 1; n <= len(answer); n += 1 + n/16 {
				_, got, _ := ask(t, conversing(nil), contract.ResponsesPath, `{"model":"qwen","input":"hi",`+tools,
					"text/event-stream", answer, n)
				if items := itemsOf(t, got); items != tt.want {
					t.Fatalf("in pieces of %d: %s, want %s\n%s", n, items, tt.want, got)
				}
				_, got, _ = ask(t, conversing(nil), contract.ResponsesPath, `{"model":"qwen","stream":true,"input":"hi",`+tools,
					"text/event-stream", answer, n)
				if items := itemsOf(t, lastResponse(t, got)); items != tt.want {
					t.Fatalf("streamed in pieces of %d: %s, want %s\n%s", n, items, tt.want, got)
				}
			}
		})
	}
}

// TestCutCallsInTurns: at the token limit no call is completed with half its arguments.
func TestCutCallsInTurns(t *testing.T) {
	f, g := call("0", `"c1"`, `"f"`, `{\"q\":`), call("1", `"c2"`, `"g"`, `{}`)
	for name, answer := range map[string]string{
		"a call within another": f + g, "text within a call": f + chunk(`"content":"Hi"`),
	} {
		t.Run(name, func(t *testing.T) {
			_, got, _ := ask(t, conversing(nil), contract.ResponsesPath, `{"model":"qwen","input":"hi","tools":[`+
				`{"type":"function","name":"f"},{"type":"function","name":"g"}]}`,
				"text/event-stream", answer+finish("length"), 1<<20)
			var response struct {
				Status string
				Output []struct{ Type, Status, Arguments string }
			}
			if err := json.Unmarshal([]byte(got), &response); err != nil {
				t.Fatal(err)
			}
			for _, item := range response.Output {
				if item.Type == "function_call" && item.Status == "completed" && !json.Valid([]byte(item.Arguments)) {
					t.Errorf("half a call is completed: %s", got)
				}
			}
			if response.Status != "incomplete" || len(response.Output) == 0 {
				t.Errorf("got %s", got)
			}
		})
	}
}
