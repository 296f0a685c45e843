package exchange

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

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
