package exchange

import (
	"fmt"
	"strconv"
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
}

// TestUncountedPrompts: a client's context holds for prompts that the gateway does not render, and what it charges for
// them has no limit but the prompt.
func TestUncountedPrompts(t *testing.T) {
	const context = 4096 // of the model
	ids := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	chat := func(text string) string { return `"messages":[{"role":"user","content":"` + text + `"}]` }
	for _, tt := range []struct {
		name, key, path, rest string
		// least and most are of what is reserved. Zero: the request is refused.
		least, most int
	}{
		{"a raw text", "key-a", contract.CompletionsPath, `"prompt":"` + strings.Repeat("x", 600) + `"`, 0, 0},
		{"raw ids", "key-a", contract.CompletionsPath, `"prompt":` + ids(101), 0, 0},
		{"fewer raw ids", "key-a", contract.CompletionsPath, `"max_tokens":5,"prompt":` + ids(50), 55, 80},
		{"many short prompts", "key-a", contract.CompletionsPath,
			`"max_tokens":5,"prompt":[` + strings.Repeat(ids(50)+",", 9) + ids(50) + `]`, 550, 600},
		{"a long one among short ones", "key-a", contract.CompletionsPath,
			`"prompt":[` + strings.Repeat("[1],", 50) + ids(101) + `]`, 0, 0},
		{"a long text among short ones", "key-a", contract.CompletionsPath,
			`"prompt":["` + strings.Repeat(`x","`, 50) + strings.Repeat("x", 600) + `"]`, 0, 0},
		{"a Chat request", "key-a", contract.ChatPath, chat(strings.Repeat("x", 600)), 0, 0},
		{"a Responses request", "key-a", contract.ResponsesPath, `"input":"` + strings.Repeat("x", 600) + `"`, 0, 0},
		{"an answer that is too long", "key-a", contract.ChatPath, `"max_tokens":101,` + chat("x"), 0, 0},
		{"a short Chat request, whose answer nobody limits", "key-a", contract.ChatPath, chat("x"), context, context},
		{"more ids than the context", "key-b", contract.CompletionsPath, `"max_tokens":5,"prompt":` + ids(400_000),
			400_000, 400_050},
		{"more text than the context", "key-b", contract.ChatPath, `"max_tokens":5,` + chat(strings.Repeat("x", 400_000)),
			100_000, 100_050},
	} {
		g := testGateway(func(o *Options) {
			keyed(o)
			o.Models[0].RawPrompts, o.Models[0].Translate = contract.RawPromptsAllow, "0%"
		})
		x := g.Begin("POST", tt.path)
		x.Header("authorization", "Bearer "+tt.key) // the client a has 100 tokens
		a := x.Request([]byte(`{"model":"`+testModel+`",`+tt.rest+`}`), Host{Now: testNow, ID: testID})
		if tt.most == 0 {
			if a.Reply == nil || a.Reply.Status != 400 ||
				!strings.Contains(string(a.Reply.Body), contract.CodeContextLengthExceeded) {
				t.Errorf("%s: %+v", tt.name, a)
			}
			continue
		}
		if a.Forward == nil {
			t.Errorf("%s: %s", tt.name, a.Reply.Body)
			continue
		}
		if n, _ := strconv.Atoi(internalOf(a.Forward.Internal, contract.ReserveHeader)); n < tt.least || n > tt.most {
			t.Errorf("%s: %d are reserved, want %d to %d", tt.name, n, tt.least, tt.most)
		}
	}
}

// TestExpectedAnswers: an answer whose length the request does not say reserves what is expected of it, where the
// gateway counts its tokens.
func TestExpectedAnswers(t *testing.T) {
	const whole = contract.DefaultContextLength
	for _, tt := range []struct {
		name, kind, path, rest string
		expected, want         int // beside the prompt; whole: with it
	}{
		{"Chat", "", contract.ChatPath, `"messages":[{"role":"user","content":"x"}]`, 0, 4096},
		{"Responses", "", contract.ResponsesPath, `"input":"x"`, 0, 4096},
		{"a setting", "", contract.ChatPath, `"messages":[{"role":"user","content":"x"}]`, 100, 100},
		{"choices", "", contract.ChatPath, `"n":3,"messages":[{"role":"user","content":"x"}]`, 100, 300},
		{"a length", "", contract.ChatPath, `"max_tokens":5000,"messages":[{"role":"user","content":"x"}]`, 100, 5000},
		{"more than there is", "", contract.ChatPath, `"messages":[{"role":"user","content":"x"}]`, whole, whole},
		{"a chat server", contract.Chat, contract.ChatPath, `"messages":[{"role":"user","content":"x"}]`, 0, 4096},
		{"Responses at a chat server", contract.Chat, contract.ResponsesPath, `"input":"x"`, 0, 4096},
		{"not translated", "0%", contract.ChatPath, `"messages":[{"role":"user","content":"x"}]`, 0, whole},
		{"a raw prompt", "raw", contract.CompletionsPath, `"prompt":"x"`, 0, whole},
	} {
		g := testGateway(func(o *Options) {
			keyed(o)
			m := contract.DefaultModel(testModel)
			switch tt.kind {
			case contract.Chat:
				m.Server, m.ServerModel = contract.Chat, "m"
			case "0%":
				m.Translate = "0%"
			case "raw":
				m.RawPrompts = contract.RawPromptsAllow
			}
			o.Models, o.Clients.ExpectedAnswer = []contract.Model{m}, tt.expected
		})
		x := g.Begin("POST", tt.path)
		x.Header("authorization", "Bearer key-b")
		a := x.Request([]byte(`{"model":"`+testModel+`",`+tt.rest+`}`), Host{Now: testNow, ID: testID})
		if a.Forward == nil {
			t.Errorf("%s: %s", tt.name, a.Reply.Body)
			continue
		}
		n, _ := strconv.Atoi(internalOf(a.Forward.Internal, contract.ReserveHeader))
		if want := tt.want; want == whole && n != whole || want != whole && n-x.reservation.prompt != want {
			t.Errorf("%s: %d are reserved, %d of them for the prompt; want %d", tt.name, n, x.reservation.prompt, want)
		}
	}
}

// TestOverriddenReservations: the operator's limit of an answer is reserved instead of the client's, where the
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
