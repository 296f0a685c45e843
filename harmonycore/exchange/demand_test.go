package exchange

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestRawDemand: what nobody counts later is reserved for the most that a server may read in the body.
func TestRawDemand(t *testing.T) {
	for _, tt := range []struct {
		path, body string
		want       demand
	}{
		{contract.CompletionsPath, `{"prompt":"x","max_tokens":7,"n":3}`, demand{prompts: 1, choices: 3, answer: 7}},
		{contract.CompletionsPath, `{"prompt":"x","max_output_tokens":1}`, demand{prompts: 1, choices: 1}},
		{contract.CompletionsPath, `{"prompt":["a","b",[1,2]],"max_tokens":7}`, demand{prompts: 3, choices: 1, answer: 7}},
		{contract.CompletionsPath, `{"prompt":[1,2,3],"max_tokens":7}`, demand{prompts: 1, choices: 1, answer: 7}},
		{contract.CompletionsPath, `{"max_tokens":1,"max\u005ftokens":9,"best_of":2}`,
			demand{prompts: 1, choices: 2, answer: 9}},
		{contract.CompletionPath, `{"prompt":"x","max_tokens":1}`, demand{prompts: 1, choices: 1}},
		{contract.CompletionPath, `{"prompt":"x","n_predict":-1}`,
			demand{prompts: 1, choices: 1, answer: contract.MaxContextLength}},
		{contract.GeneratePath, `{"text":"x","max_tokens":1,"max_new_tokens":1,"sampling_params":{"max_new_tokens":900}}`,
			demand{prompts: 1, choices: 1, answer: 900}},
		{contract.GeneratePath, `{"text":["x","y"],"sampling_params":[{"max_new_tokens":5,"n":2},{"max_new_tokens":6}]}`,
			demand{prompts: 2, choices: 2, answer: 6}},
		{contract.GeneratePath, `{"text":["x","y"],"sampling_params":[{"max_new_tokens":5},{}]}`,
			demand{prompts: 2, choices: 1}},
		{contract.GeneratePath, `{"text":"x"}`, demand{prompts: 1, choices: 1}},
		{contract.InferenceGeneratePath, `{"token_ids":[1],"sampling_params":{"max_tokens":8}}`,
			demand{prompts: 1, choices: 1, answer: 8}},
		{"/api/generate", `{"prompt":"x","":5}`, demand{prompts: 1, choices: 1}},
	} {
		got := rawDemand(tt.path, []byte(tt.body))
		if got.unsaid = false; got != tt.want {
			t.Errorf("%s %s: got %+v, want %+v", tt.path, tt.body, got, tt.want)
		}
	}
}

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
