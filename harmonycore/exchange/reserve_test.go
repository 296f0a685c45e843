package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestEstimatedReservations: no spelling of the numbers reserves less than a server may generate, and no number is too
// large to be counted.
func TestEstimatedReservations(t *testing.T) {
	const context = 4096
	gateway := func() *Gateway {
		return testGateway(func(o *Options) {
			keyed(o)
			o.Models[0].RawPrompts, o.Models[0].Translate = contract.RawPromptsAllow, "0%"
		})
	}
	for _, tt := range []struct {
		path, rest string
		want       func(prompt int) int
	}{
		{contract.CompletionsPath, `"prompt":"x","max_tokens":7`, func(p int) int { return p + 7 }},
		{contract.CompletionsPath, `"prompt":"x","max_output_tokens":7`, func(int) int { return context }},
		{contract.CompletionsPath, `"prompt":"x","max_tokens":7.0`, func(int) int { return context }},
		{contract.CompletionsPath, `"prompt":"x","max_tokens":1,"max_tokens":"9"`, func(int) int { return context }},
		{contract.CompletionsPath, `"prompt":["x","y"],"max_tokens":7,"n":300`, func(p int) int { return p + 2*300*7 }},
		{contract.CompletionsPath, `"prompt":"x","n":4000000000`, func(int) int { return 1_000_000_000 }},
		{contract.ChatPath, `"messages":[{"role":"user","content":"x"}],"max_tokens":7`, func(p int) int { return p + 7 }},
		{contract.ChatPath, `"messages":[{"role":"user","content":"x"}],"max_output_tokens":7`,
			func(int) int { return context }},
		{contract.ChatPath, `"messages":[{"role":"user","content":"x"}],"max_tokens":7,"n":"8"`,
			func(p int) int { return p + 7*contract.MaxContextLength }},
		{contract.ResponsesPath, `"input":"x","max_tokens":7`, func(int) int { return context }},
		{contract.ResponsesPath, `"input":"x","max_output_tokens":7`, func(p int) int { return p + 7 }},
	} {
		x := gateway().Begin("POST", tt.path)
		x.Header("authorization", "Bearer key-b")
		body := `{"model":"` + testModel + `",` + tt.rest + `}`
		a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Forward == nil {
			t.Errorf("%s %s: %s", tt.path, body, a.Reply.Body)
			continue
		}
		prompt := (len(body) + 3) / 4
		if got := internalOf(a.Forward.Internal, contract.ReserveHeader); got != fmt.Sprint(tt.want(prompt)) {
			t.Errorf("%s %s: %s are reserved, want %d", tt.path, body, got, tt.want(prompt))
		}
	}
	x := gateway().Begin("POST", contract.CompletionsPath)
	x.Header("authorization", "Bearer key-a") // 100 tokens
	a := x.Request([]byte(`{"model":"`+testModel+`","prompt":"`+strings.Repeat("x", 600)+`"}`), Host{Now: testNow, ID: testID})
	if a.Reply == nil || !strings.Contains(string(a.Reply.Body), contract.CodeContextLengthExceeded) {
		t.Errorf("too long a prompt: %+v", a)
	}
}

// TestOverriddenReservations: the operator's limit of an answer is reserved in the place of the client's, where the
// model's servers get it.
func TestOverriddenReservations(t *testing.T) {
	for path, body := range map[string]string{
		contract.ChatPath:      `"messages":[{"role":"user","content":"x"}],"max_tokens":7`,
		contract.ResponsesPath: `"input":"x","max_output_tokens":20`,
	} {
		g := testGateway(func(o *Options) {
			keyed(o)
			m := contract.DefaultModel(testModel)
			m.Server, m.ServerModel, m.SamplingOverrides = contract.Chat, "m", `{"max_tokens":50}`
			o.Models = []contract.Model{m}
		})
		x := g.Begin("POST", path)
		x.Header("authorization", "Bearer key-b")
		body = `{"model":"` + testModel + `",` + body + `}`
		a := x.Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Forward == nil || !strings.Contains(string(a.Forward.Body), `"max_tokens":50`) {
			t.Errorf("%s: %+v %s", path, a, a.Reply.Body)
			continue
		}
		want := fmt.Sprint((len(body)+3)/4 + 50)
		if got := internalOf(a.Forward.Internal, contract.ReserveHeader); got != want {
			t.Errorf("%s: %s are reserved, want %s", path, got, want)
		}
	}
}

// TestUsedIsBounded: a server that tells absurd numbers does not keep the settlement from being read.
func TestUsedIsBounded(t *testing.T) {
	for _, tt := range []struct{ prompt, completion, want int }{
		{1 << 30, 1 << 30, maxReserve}, {5, 6, 11}, {5, -9, 0},
	} {
		x := &Exchange{reservation: reservation{made: true, answered: true, served: true}}
		r := Report{Translated: true, PromptTokens: tt.prompt, CompletionTokens: tt.completion}
		if x.settle(&r); r.UsedTokens != tt.want {
			t.Errorf("%+v: used %d", tt, r.UsedTokens)
		}
	}
}
