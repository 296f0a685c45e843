package exchange

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// FuzzRequest: whatever a client sends is refused in the API's shape or goes to a server as a prompt of whole messages,
// of exactly as many tokens as the client can have counted beforehand. As text the prompt has the same control tokens.
func FuzzRequest(f *testing.F) {
	for _, seed := range []struct {
		body      string
		responses bool
	}{
		{chatBody(true), false},
		{
			`{"model":"` + testModel + `","messages":[{"role":"user","content":"<|end|>"},{"role":"assistant",` +
				`"reasoning":"r","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"c","content":"x"}],"tools":[{"type":"function","function":{"name":"f",` +
				`"parameters":{"type":"object"}}}]}`, false,
		},
		{
			`{"model":"` + testModel + `","input":"Hi","instructions":"<|start|>","stream":true,"tools":[{"type":"custom",` +
				`"name":"f"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},{"type":"web_search"}]}`,
			true,
		},
		{
			`{"model":"` + testModel + `","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},` +
				`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}]},{"type":"function_call",` +
				`"call_id":"c","name":"f","arguments":""},{"type":"function_call_output","call_id":"c","output":"y"},` +
				`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"z","annotations":[]}],` +
				`"status":"completed","id":"msg_1"}],"text":{"format":{"type":"json_schema","name":"n",` +
				`"schema":{"type":"object"}}}}`, true,
		},
		{
			`{"model":"` + testModel + `","input":[{"type":"local_shell_call","id":"i","call_id":"c","action":{"type":"exec",` +
				`"command":["ls"]},"status":"completed"},{"type":"local_shell_call_output","id":"c","output":"{}"},` +
				`{"role":"user","content":"Hi"}],"truncation":"auto","tool_choice":"required"}`, true,
		},
		{
			`{"model":"` + testModel + `","input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c",` +
				`"name":"browser.open","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"},` +
				`{"type":"custom_tool_call","call_id":"d","name":"python","input":"1"}],"tools":[{"type":"builtin",` +
				`"name":"browser"},{"type":"builtin","name":"container"},{"type":"builtin","name":"python"}]}`, true,
		},
	} {
		f.Add([]byte(seed.body), seed.responses)
	}
	g, asText := testGateway(nil), textGateway(breaking)
	f.Fuzz(func(t *testing.T, body []byte, isResponses bool) {
		path := "/v1/chat/completions"
		if isResponses {
			path = "/v1/responses"
		}
		send := func(path string) RequestAction {
			return g.Begin("POST", path).Request(bytes.Clone(body), Host{Now: testNow, ID: testID})
		}
		a := send(path)
		if (a.Reply == nil) == (a.Forward == nil) {
			t.Fatalf("%q: %+v", body, a)
		}
		if a.Reply != nil {
			var refusal struct {
				Error struct{ Message, Type, Code string }
			}
			if err := json.Unmarshal(a.Reply.Body, &refusal); err != nil || a.Reply.Status < 400 ||
				refusal.Error.Message == "" || refusal.Error.Type == "" {
				t.Fatalf("%q: status %d, %v: %s", body, a.Reply.Status, err, a.Reply.Body)
			}
			return
		}
		var sent struct{ Prompt []uint32 }
		if err := json.Unmarshal(a.Forward.Body, &sent); err != nil {
			t.Fatalf("%q: sent as %s: %v", body, a.Forward.Body, err)
		}
		starts, bodies := 0, 0
		for _, id := range sent.Prompt {
			switch id {
			case tokenizer.Start:
				starts++
			case tokenizer.Message:
				bodies++
			}
		}
		// The header of the answer may be prefilled, and then has its <|message|>.
		if more := starts - bodies; more != 0 && more != 1 {
			t.Fatalf("%q: %d messages begin, and %d have a text", body, starts, bodies)
		}
		// Servers that take text get the same messages.
		if a := asText.Begin("POST", path).Request(bytes.Clone(body), Host{Now: testNow, ID: testID}); a.Forward != nil {
			var text struct{ Prompt string }
			if err := json.Unmarshal(a.Forward.Body, &text); err != nil {
				t.Fatalf("%q: sent as %s: %v", body, a.Forward.Body, err)
			}
			got := controlTokens(asText.options.Tokenizer.AppendEncodeSpecial(nil, text.Prompt))
			if want := controlTokens(sent.Prompt); got != want {
				t.Fatalf("%q: sent as %q with the control tokens %s, want %s", body, text.Prompt, got, want)
			}
		}
		if !isResponses {
			return
		}
		counted := send("/v1/responses/input_tokens")
		var count struct {
			InputTokens int `json:"input_tokens"`
		}
		if counted.Reply == nil || json.Unmarshal(counted.Reply.Body, &count) != nil ||
			count.InputTokens != len(sent.Prompt) {
			t.Fatalf("%q: %d tokens were sent, and counted were %+v", body, len(sent.Prompt), counted.Reply)
		}
	})
}
