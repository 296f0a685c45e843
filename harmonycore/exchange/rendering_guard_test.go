package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// renderGuarded sends a request up to the call, and returns what the call has, or what the client gets instead.
func renderGuarded(t *testing.T, g *Gateway, path, body string) (x *Exchange, sent, refusal string) {
	t.Helper()
	x = g.Begin("POST", path)
	x.RequestHeaders()
	a := x.Request([]byte(body), renderHost())
	if a.Reply != nil {
		if a.Reply.Status != 400 {
			t.Fatalf("%s: %+v", body, a.Reply)
		}
		return x, "", string(a.Reply.Body)
	}
	if a.Render == nil {
		t.Fatalf("%s: %+v", body, a)
	}
	return x, string(a.Render.Body), ""
}

// TestRenderControlTokens: text that spells a control token reaches no server that would read it as one, whichever API
// it comes in and wherever it is. Broken, it does.
func TestRenderControlTokens(t *testing.T) {
	const chat, responses, messages = contract.ChatPath, contract.ResponsesPath, contract.MessagesPath
	hermes := func(c *contract.Config) { c.Models[0].Speaks = contract.SpeaksHermes }
	breaks := func(c *contract.Config) {
		hermes(c)
		c.Models[0].ControlTokens = contract.ControlTokensBreak
	}
	for _, tt := range []struct {
		path, members, param string
		breaks               bool
	}{
		{chat, `"messages":[{"role":"user","content":"Hi"},{"role":"user","content":"a %"}]`, "messages[1].content", true},
		{chat, `"messages":[{"role":"developer","content":"%"},{"role":"user","content":"a"}]`, "messages[0].content", true},
		{chat, `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"%"}]}]`,
			"messages[0].content[1].text", true},
		{chat, `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function",` +
			`"function":{"name":"f","arguments":"{\"a\":\"%\"}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`,
			"messages[1].tool_calls[0].function.arguments", true},
		{chat, `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function",` +
			`"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"%"}]`,
			"messages[2].content", true},
		{chat, `"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f",` +
			`"description":"%"}}]`, "tools[0].function.description", true},
		{chat, `"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f",` +
			`"parameters":{"type":"object","properties":{"a":{"type":"string","enum":["%"]}}}}}]`,
			"tools[0].function.parameters.properties.a.enum[0]", false},
		{chat, `"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"a":"%"}`, "chat_template_kwargs.a", false},
		{responses, `"input":"%"`, "input", true},
		{responses, `"input":"Hi","instructions":"%"`, "instructions", true},
		{responses, `"input":[{"role":"user","content":[{"type":"input_text","text":"%"}]}]`, "input[0].content[0].text", true},
		{responses, `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f",` +
			`"arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"%"}]`, "input[2].output", true},
		{responses, `"input":"Hi","tools":[{"type":"function","name":"f","description":"%"}]`, "tools[0].description", true},
		{messages, `"max_tokens":9,"messages":[{"role":"user","content":"%"}]`, "messages.0.content", true},
		{messages, `"max_tokens":9,"system":[{"type":"text","text":"%"}],"messages":[{"role":"user","content":"a"}]`,
			"system.0.text", true},
		{messages, `"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":` +
			`"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c",` +
			`"content":"%"}]}]`, "messages.2.content.0.content", true},
		{messages, `"max_tokens":9,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","description":"%",` +
			`"input_schema":{"type":"object"}}]`, "tools.0.description", true},
	} {
		for _, spelling := range []string{"<|im_end|>", `\u003c|im_end|\u003e`, "<|im_start|>system", "[INST]", "<｜User｜>"} {
			body := `{"model":"qwen",` + strings.ReplaceAll(tt.members, "%", spelling) + `}`
			_, _, refusal := renderGuarded(t, renderingGateway(hermes), tt.path, body)
			ok := strings.Contains(refusal, `"code":"control_token_in_text"`) && strings.Contains(refusal, `"param":"`+tt.param+`"`)
			if tt.path == messages {
				ok = strings.HasPrefix(refusal, `{"type":"error"`) && strings.Contains(refusal, "control token")
			}
			if !ok {
				t.Errorf("%s: got %s, not %s", body, refusal, tt.param)
			}
			x, sent, refusal := renderGuarded(t, renderingGateway(breaks), tt.path, body)
			if !tt.breaks {
				if refusal == "" {
					t.Errorf("%s: %s is sent", body, sent)
				}
				continue
			}
			if refusal != "" || x.Report().BrokenSpellings != 1 || !json.Valid([]byte(sent)) ||
				strings.Count(sent, "\u200b") != 1 || strings.Contains(sent, "<|im_") || strings.Contains(sent, "[INST]") {
				t.Errorf("%s: %s is sent; %s; %d broken", body, sent, refusal, x.Report().BrokenSpellings)
			}
		}
	}
}

// TestRenderOwnTokens: where the operator names the model's tokens, only these count. What the model has said may have
// the marks of its calls and of its reasoning.
func TestRenderOwnTokens(t *testing.T) {
	named := func(c *contract.Config) {
		c.Models[0].Speaks = contract.SpeaksHermes
		c.Models[0].ControlSpellings = []string{"<|turn>", "<tool_call>"}
	}
	user := func(text string) string {
		return `{"model":"qwen","messages":[{"role":"user","content":"` + text + `"}]}`
	}
	said := func(text string) string {
		return `{"model":"qwen","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"` + text +
			`"},{"role":"user","content":"b"}]}`
	}
	for body, refused := range map[string]bool{
		user("<|im_end|>"): false, user("<|turn>"): true, user("<tool_call>"): true, said("<tool_call>"): false,
		said("<think>"): false, said("<|turn>"): true, user("<think>"): false,
	} {
		if _, sent, refusal := renderGuarded(t, renderingGateway(named), contract.ChatPath, body); refused != (refusal != "") {
			t.Errorf("%s: %s %s", body, sent, refusal)
		}
	}
}

// TestRenderGuardMemory: a broken request is whole when the body of the next one lies where its own did.
func TestRenderGuardMemory(t *testing.T) {
	g := renderingGateway(func(c *contract.Config) { c.Models[0].ControlTokens = contract.ControlTokensBreak })
	h := renderHost()
	for _, n := range []int{1, 1000, 3} {
		x := g.Begin("POST", contract.ChatPath)
		x.RequestHeaders()
		body := []byte(`{"model":"qwen","messages":[{"role":"user","content":"` + strings.Repeat(`<|a|>\n`, n) + `"}]}`)
		a := x.Request(body, h)
		for i := range body {
			body[i] = 'x'
		}
		if a.Render == nil || strings.Count(string(a.Render.Body), "<\u200b|a|>\\n") != n || !json.Valid(a.Render.Body) ||
			x.Report().BrokenSpellings != n {
			t.Fatalf("got %+v", a)
		}
	}
}
