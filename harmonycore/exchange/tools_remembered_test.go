package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRememberedTools: with the memory that requests share, a request is sent as it is without, and its answer repeats
// the same tools: whatever was sent before, and however often.
func TestRememberedTools(t *testing.T) {
	function := func(name, more string) string {
		return `{"type":"function","name":"` + name + `","description":"Does it.","parameters":{"type":"object",` +
			`"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}` + more + `}`
	}
	nested := func(name, more string) string {
		f := strings.Replace(function(name, more), `"type":"function",`, "", 1)
		return `{"type":"function","function":` + f + `}`
	}
	deep := strings.Repeat(`{"type":"array","items":`, 33) + `{}` + strings.Repeat(`}`, 33)
	responsesTools := []string{
		`[` + function("f", "") + `,` + function("g", "") + `]`,
		`[` + function("f", "") + `, ` + function("g", "") + `]`,
		`[` + function("f", `,"strict":true`) + `]`,
		`[{"type":"custom","name":"c","description":"Takes text.","format":{"type":"grammar","syntax":"regex",` +
			`"definition":"a+"}},` + function("f", "") + `]`,
		`[{"type":"namespace","name":"n","description":"Some.","tools":[` + function("f", "") + `]},` + function("f",
			"") + `]`,
		`[{"type":"local_shell"},{"type":"web_search"}]`, `[{"type":"builtin","name":"python"},` + function("f", "") + `]`,
		`[{"type":"web_search"}]`, `[]`, `null`, `[` + function("f", "") + `,` + function("f", "") + `]`,
		`[{"type":"function","name":"f","parameters":` + deep + `}]`,
	}
	chatTools := []string{`[` + nested("f", "") + `,` + nested("g", "") + `]`, `[` + nested("f", `,"strict":true`) +
		`]`, `[]`,
		`[{"type":"custom","custom":{"name":"c"}}]`, `[` + nested("f", "") + `,` + nested("f", "") + `]`}
	var requests [][2]string
	for _, rest := range []string{``, `,"tool_choice":"none"`, `,"tool_choice":"required"`,
		`,"tool_choice":{"type":"function",` +
			`"name":"f"}`, `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`,
		`,"instructions":"Be brief. "`, `,"tools":null`, `,"include":["harmony.messages"]`,
		`,"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}`} {
		for _, tools := range responsesTools {
			requests = append(requests, [2]string{contract.ResponsesPath,
				`{"model":"` + testModel + `","input":"What is it?","tools":` + tools + rest + `}`})
		}
	}
	for _, rest := range []string{``, `,"tool_choice":"none"`, `,"tool_choice":"required"`, `,"tools":[]`,
		`,"tool_choice":{"type":"function","function":{"name":"f"}}`, `,"stream":true`} {
		for _, tools := range append(chatTools, responsesTools[0]) {
			requests = append(requests, [2]string{contract.ChatPath,
				`{"model":"` + testModel + `","messages":[{"role":"user","content":"a"}],"tools":` + tools + rest + `}`})
		}
	}
	for _, events := range []string{"", contract.EventsChannels} {
		g := testGateway(func(o *Options) {
			o.Models[0].Answers.Events, o.Models[0].Answers.HarmonyMessages = events, true
		})
		ask := func(request [2]string, scratch *Scratch) (sent, echo string) {
			x := g.Begin("POST", request[0])
			a := x.Request([]byte(request[1]), Host{Now: testNow, ID: testID, Scratch: scratch})
			switch {
			case a.Reply != nil:
				return string(a.Reply.Body), ""
			case a.Forward == nil:
				t.Fatalf("%s: %+v", request[1], a)
			}
			sent = string(a.Forward.Body)
			x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
			answer := x.ResponseBody([]byte(`data: {"choices":[{"index":0,"text":"","token_ids":[200005,17196,200008,12194,200002],`+
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n"), true)
			return sent, string(answer.Body)
		}
		shared := &Scratch{}
		for range 3 {
			for _, request := range requests {
				want, wantEcho := ask(request, nil)
				got, echo := ask(request, shared)
				if got != want {
					t.Fatalf("%s: got %s, want %s", request[1], got, want)
				}
				if echo != wantEcho {
					t.Fatalf("%s: got the answer %s, want %s", request[1], echo, wantEcho)
				}
			}
		}
	}
}
