package exchange

import (
	"bytes"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestAttemptOf: an answer is held only if it comes in the words in which the gateway asks. How many servers a request
// may meet is bounded for every other one too, since the routes are the same.
func TestAttemptOf(t *testing.T) {
	for _, tt := range []struct{ name, path, body, want string }{
		{"translated", contract.ChatPath, chatBody(true), contract.VLLM},
		{"raw", contract.CompletionsPath, `{"model":"` + testModel + `","prompt":"a"}`, contract.AnyAnswer},
	} {
		g := testGateway(func(o *Options) {
			o.Models[0].RawPrompts, o.Models[0].Routing.UntilFirstToken = contract.RawPromptsAllow, true
			o.Models[0].PoolName, o.StallTimeoutMS = "gpu", 1000
		})
		action := g.Begin("POST", tt.path).Request([]byte(tt.body), Host{Now: testNow, ID: testID})
		want := contract.Attempt{Kind: tt.want, Pool: "gpu", SilentMS: 1000}.String()
		if action.Forward == nil || action.Forward.Attempt != want {
			t.Errorf("%s: got %+v, want the attempt %q", tt.name, action.Forward, want)
		}
	}
}

// TestGivenUp: the client of a request that no further server is asked for learns what the servers have done.
func TestGivenUp(t *testing.T) {
	for status, code := range map[int]string{503: contract.CodeServerError, 504: contract.CodeServerTimeout} {
		x := testGateway(nil).Begin("POST", contract.ChatPath)
		x.Request([]byte(chatBody(true)), Host{Now: testNow, ID: testID})
		action := x.ResponseHeaders(ResponseHead{Status: status, GivenUp: true, End: true})
		if action.Reply == nil || action.Reply.Status != status || !bytes.Contains(action.Reply.Body, []byte(code)) {
			t.Errorf("%d: got %+v", status, action.Reply)
		}
	}
}
