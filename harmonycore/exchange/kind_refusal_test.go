package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestSaltRefused: a cache_salt that the operator has not allowed is refused, with any kind of server and by either API.
// Chat requests to servers that take conversations pass with it. What only shapes an answer is passed over.
func TestSaltRefused(t *testing.T) {
	for _, kind := range contract.ServerKinds() {
		for path, said := range map[string]string{contract.ChatPath: `"messages":[{"role":"user","content":"Hi"}]`,
			contract.ResponsesPath: `"input":"Hi"`} {
			ask := func(members string, extras ...string) RequestAction {
				return testGateway(func(o *Options) {
					o.Models[0].Server, o.Models[0].ServerExtras = kind, extras
				}).Begin("POST", path).Request([]byte(`{"model":"`+testModel+`",`+said+members+`}`),
					Host{Now: testNow, ID: testID})
			}
			for _, members := range []string{`,"cache_salt":null`, `,"priority":7`, `,"top_k":7`} {
				if a := ask(members); a.Forward == nil && a.Render == nil {
					t.Errorf("%s, %s: %s: %+v", kind, path, members, a.Reply)
				}
			}
			a := ask(`,"cache_salt":"tenant"`, "priority", "top_k")
			if kind == contract.Chat && path == contract.ChatPath {
				if a.Forward == nil || !strings.Contains(string(a.Forward.Body), `"cache_salt":"tenant"`) {
					t.Errorf("%s, %s: %+v", kind, path, a)
				}
				continue
			}
			if a.Reply == nil || a.Reply.Status != 400 || !strings.Contains(string(a.Reply.Body),
				`"param":"cache_salt","code":"unsupported_parameter"`) {
				t.Errorf("%s, %s: %+v", kind, path, a)
			}
		}
	}
}

// TestKindRefusals: what a kind of server cannot do is refused before a server is asked, by an error that names the
// kind. Another kind is asked for the same.
func TestKindRefusals(t *testing.T) {
	chat := func(members string) string {
		return `{"model":"` + testModel + `","messages":[{"role":"user","content":"Hi"}]` + members + `}`
	}
	for _, tt := range []struct{ kind, can, body, code, param string }{
		{contract.TRTLLM, contract.SGLangCompletions, chat(`,"n":2`), contract.CodeChoicesNotSupported, "n"},
		{contract.TRTLLM, contract.SGLang, chat(`,"logprobs":true`), contract.CodeUnsupportedParameter, "logprobs"},
		{contract.SGLangCompletions, contract.VLLM, chat(`,"logprobs":true`), contract.CodeUnsupportedParameter, "logprobs"},
		{contract.TRTLLM, contract.SGLangCompletions, chat(`,"cache_salt":"s"`), contract.CodeUnsupportedParameter,
			"cache_salt"},
		{contract.TRTLLM, contract.VLLMGenerate, chat(`,"priority":1`), contract.CodeUnsupportedParameter, "priority"},
	} {
		ask := func(kind string) RequestAction {
			return testGateway(func(o *Options) {
				o.Models[0].Server, o.Models[0].ServerExtras = kind, []string{"cache_salt", "priority"}
			}).Begin("POST", contract.ChatPath).Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		}
		if a := ask(tt.can); a.Forward == nil {
			t.Errorf("%s refuses %s: %+v", tt.can, tt.body, a.Reply)
		}
		a := ask(tt.kind)
		if a.Reply == nil || a.Reply.Status != 400 {
			t.Errorf("%s, %s: got %+v", tt.kind, tt.body, a)
			continue
		}
		for _, want := range []string{`"code":"` + tt.code + `"`, `"param":"` + tt.param + `"`, "(" + tt.kind + ")"} {
			if !strings.Contains(string(a.Reply.Body), want) {
				t.Errorf("%s, %s: no %s in %s", tt.kind, tt.body, want, a.Reply.Body)
			}
		}
	}
}
