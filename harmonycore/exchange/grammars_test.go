package exchange

import (
	"encoding/json"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// beforeLlamaCPP returns the grammar that llama.cpp gets with a request, or the code of its refusal, and how many forms
// are counted that it cannot be held to.
func beforeLlamaCPP(t *testing.T, members string) (grammar, code string, unenforced int) {
	t.Helper()
	g := testGateway(func(o *Options) {
		o.Models[0].StructuredOutputs, o.Models[0].Server = contract.StructuralTags, contract.LlamaCPP
	})
	x := g.Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"Hi"}],`+members+`}`),
		Host{Now: testNow, ID: testID})
	if a.Forward == nil {
		var refusal struct{ Error struct{ Code string } }
		if err := json.Unmarshal(a.Reply.Body, &refusal); err != nil {
			t.Fatal(err)
		}
		return "", refusal.Error.Code, 0
	}
	var sent struct{ Grammar string }
	if err := json.Unmarshal(a.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	return sent.Grammar, "", x.Report().UnenforcedGrammars
}

// grammarAllows reports whether a grammar allows an answer in which control tokens are spelled.
func grammarAllows(t *testing.T, grammar, text string) bool {
	t.Helper()
	g, err := ebnf.Read(grammar)
	if err != nil {
		t.Fatalf("%v\n%s", err, grammar)
	}
	way := g.Begin()
	for text != "" {
		if id, size, _ := tokenizer.MatchSpecial([]byte(text)); size > 0 {
			if !way.NextToken(id) {
				return false
			}
			text = text[size:]
			continue
		}
		c := []rune(text)[0]
		if !way.Next(c) {
			return false
		}
		text = text[len(string(c)):]
	}
	return way.Complete()
}

// TestGrammarsForLlamaCPP: llama.cpp is held to what others are held to by a structural tag. The model thinks before
// it, and ends a call with <|call|> or without it.
func TestGrammarsForLlamaCPP(t *testing.T) {
	const (
		thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
		said    = thought + "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
		final   = "<|channel|>final<|message|>"
		toF     = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
		toP     = "<|channel|>commentary to=functions.p<|message|>"
		format  = `"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":`
	)
	f := func(strict, a string) string {
		return `{"type":"function","function":{"name":"f","strict":` + strict + `,"parameters":{"type":"object",` +
			`"properties":{"a":{"type":"string"` + a + `}},"required":["a"]}}}`
	}
	loose, strict := f("false", ""), f("true", "")
	patch, free := larkTool("p", `start: "a"+`), larkTool("p", `start: /[\s\S]+/`)
	for _, tt := range []struct {
		members      string
		right, wrong []string
		unenforced   int
	}{
		{`"tools":[` + patch + `,` + loose + `]`, []string{final + "Hi", said + toP + "aa<|call|>", thought + toF + "any"},
			[]string{toP + "b", toP + "<|call|>", "Hi", final + "<|end|>"}, 0},
		{`"tools":[` + patch + `,` + strict + `]`, []string{final + "Hi", toP + "a", toF + `{"a":"x"}<|call|>`},
			[]string{toP + "b", toF + "any", toF + `{"a":1}`}, 0},
		{`"tools":[` + patch + `,` + loose + `],` + required, []string{said + toP + "a", toF + `{"a":"x"}`},
			[]string{final + "Hi", thought, toF + `[]`}, 0},
		{`"tools":[` + patch + `],"tool_choice":{"type":"custom","custom":{"name":"p"}}`, []string{toP + "aaa<|call|>"},
			[]string{final + "Hi", toP}, 0},
		{`"tools":[` + loose + `],"tool_choice":{"type":"function","function":{"name":"f"}}`,
			[]string{thought + toF + `{"a":"x"}<|call|>`}, []string{final + "Hi"}, 0},
		{format + `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}}}`,
			[]string{thought + final + `{"x":1}`}, []string{final + "Hi", final + `{"x":"1"}`}, 0},
		{`"response_format":{"type":"json_object"}`, []string{final + `{"x":[1]}`}, []string{final + `[1]`, final}, 0},
		{`"guided_choice":["yes","no"]`, []string{final + "yes", thought + final + "no"}, []string{final + "maybe"}, 0},
		{`"guided_regex":"[0-9]{2}/x?"`, []string{final + "12/"}, []string{final + "1/"}, 0},
		{`"guided_grammar":"root ::= r0\nr0 ::= \"x\" | \"y\"\n"`, []string{final + "y"}, []string{final + "z"}, 0},
		{`"tools":[` + larkTool("p", `start: start "a" | "b"`) + `],` + required, []string{toP + "any"},
			[]string{final + "Hi"}, 1},
		{`"tools":[` + f("true", `,"pattern":"^a$"`) + `]`,
			[]string{toF + `{"a":"b"}`}, []string{toF + `{"a":1}`}, 1},
	} {
		grammar, code, unenforced := beforeLlamaCPP(t, tt.members)
		if grammar == "" || unenforced != tt.unenforced {
			t.Errorf("%s: %q, %d are not enforced, want %d, and the grammar is %q", tt.members, code, unenforced,
				tt.unenforced, grammar)
			continue
		}
		for _, text := range tt.right {
			if !grammarAllows(t, grammar, text) {
				t.Errorf("%s: %s is not allowed by\n%s", tt.members, text, grammar)
			}
		}
		for _, text := range tt.wrong {
			if grammarAllows(t, grammar, text) {
				t.Errorf("%s: %s is allowed by\n%s", tt.members, text, grammar)
			}
		}
	}
	for _, members := range []string{`"tools":[` + loose + `]`, `"tools":[` + free + `,` + loose + `]`} {
		if grammar, code, _ := beforeLlamaCPP(t, members); grammar != "" || code != "" {
			t.Errorf("%s: %s, %s", members, code, grammar)
		}
	}
	_, code, _ := beforeLlamaCPP(t, format+`{"type":"string","pattern":"^a$"}}}`)
	if code != contract.CodeUnsupportedParameter {
		t.Errorf("a strict schema with a pattern: %q", code)
	}
}
