package gbnf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/gbnf"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// allows reports whether a grammar allows a text in which control tokens are spelled.
func allows(t *testing.T, grammar, text string) bool {
	t.Helper()
	g, err := ebnf.Read(grammar)
	if err != nil {
		t.Fatalf("%v\n%s", err, grammar)
	}
	m := g.Begin()
	for at := 0; at < len(text); {
		if id, size, _ := tokenizer.MatchSpecial([]byte(text[at:])); size > 0 {
			if !m.NextToken(id) {
				return false
			}
			at += size
			continue
		}
		c := []rune(text[at:])[0]
		if !m.Next(c) {
			return false
		}
		at += len(string(c))
	}
	return m.Complete()
}

// TestForms has each form that a tag may have, and a text in which control tokens are spelled in ordinary tokens.
func TestForms(t *testing.T) {
	w := gbnf.New(nil)
	w.Sequence()
	w.Star()
	w.Sequence()
	w.Const("<|channel|>analysis<|message|>")
	w.Text("<|end|>")
	w.Const("<|end|><|start|>assistant")
	w.Close()
	w.Close()
	w.Or()
	w.Sequence()
	w.Const("<|channel|>a \"\\\n\x01<|message|>")
	w.Grammar("root ::= r0{2} # c <\nr0 ::= [\\]\"a] | \"root\\\"\" | \"|\"\n", false)
	w.Close()
	w.Sequence()
	w.Const("<|channel|>b<|message|>")
	w.Regex(`[0-9]{2}/\/\n?`)
	w.Optional()
	w.Const("<|call|>")
	w.Close()
	w.Close()
	w.Const("c")
	w.Close()
	w.Close()
	grammar := string(w.Bytes())
	const thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
	for text, want := range map[string]bool{
		"c": true, thought + "c": true, thought + thought + "c": true, "": false, thought: false, "cc": false,
		strings.Replace(thought, "Hm.", "a < b <| c <|> d <<|", 1) + "c": true,
		strings.Replace(thought, "Hm.", "a<|return|>", 1) + "c":          false,
		"<|channel|>a \"\\\n\x01<|message|>aroot\"":                      true,
		"<|channel|>a \"\\\n\x01<|message|>]\"":                          true,
		"<|channel|>a \"\\\n\x01<|message|>aaa":                          false,
		"<|channel|>b<|message|>12//<|call|>":                            true,
		"<|channel|>b<|message|>12//\n":                                  true,
		"<|channel|>b<|message|>12/":                                     false,
	} {
		if allows(t, grammar, text) != want {
			t.Errorf("%q: want %t by\n%s", text, want, grammar)
		}
	}
	g, err := ebnf.Read(grammar)
	if err != nil {
		t.Fatal(err)
	}
	if m := g.Begin(); m.Next('<') {
		t.Error("the token <|channel|> can be written in ordinary tokens")
	}
	if w.Unheld != 0 {
		t.Errorf("%d forms are not held to", w.Unheld)
	}
}

// TestUnheld has the forms to which llama.cpp cannot hold an answer. They allow any text.
func TestUnheld(t *testing.T) {
	for name, write := range map[string]func(w *gbnf.Writer){
		"left recursion":    func(w *gbnf.Writer) { w.Grammar("root ::= root \"a\" | \"b\"\n", true) },
		"a long grammar":    func(w *gbnf.Writer) { w.Grammar("root ::= \""+strings.Repeat("a", 200<<10)+"\"\n", false) },
		"a lazy expression": func(w *gbnf.Writer) { w.Regex("a*?") },
	} {
		w := gbnf.New(nil)
		write(w)
		if !allows(t, string(w.Bytes()), "any text") || w.Unheld != 1 {
			t.Errorf("%s: %d not held to\n%s", name, w.Unheld, w.Bytes())
		}
	}
}

// TestLargeSchemas: what would take long is not held to.
func TestLargeSchemas(t *testing.T) {
	var members, names, refs strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&members, `,"m%d":{"$ref":"#/$defs/m%d"}`, i, i)
		fmt.Fprintf(&names, `,"m%d"`, i)
		fmt.Fprintf(&refs, `,"m%d":{"type":"string","maxLength":%d}`, i, i)
	}
	for _, schema := range []string{
		`{"properties":{` + members.String()[1:] + `},"required":[` + names.String()[1:] + `]}`,
		`{"properties":{` + members.String()[1:] + `},"$defs":{` + refs.String()[1:] + `}}`,
		`{"anyOf":[{}` + strings.Repeat(`,{"type":"string","maxLength":9}`, 9000) + `]}`,
		`{"enum":[` + names.String()[1:] + strings.Repeat(`,"a long value, and another one"`, 20000) + `]}`,
	} {
		w := gbnf.New(nil)
		w.JSON(schema)
		if got := len(w.Bytes()); got > 1<<20 || w.Unheld == 0 {
			t.Errorf("%.40s: %d bytes, %d not held to", schema, got, w.Unheld)
		}
	}
}

// TestSchemas has JSON that fits a schema, and JSON that does not.
func TestSchemas(t *testing.T) {
	const names = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"null"}}`
	for _, tt := range []struct {
		schema       string
		right, wrong []string
		unheld       int
	}{
		{`true`, []string{`{"a":[1,-2.5e+3,"x\n\u00e9",null,true,{}]}`, `"<"`, `"a<|"`},
			[]string{``, `{a:1}`, `01`, `"<|end|>"`, `"<|x"`, `"\q"`, "\"\n\""}, 0},
		{names + `}`, []string{`{}`, `{"a":"x"}`, `{"b":1}`, `{ "a": "x", "c": null }`, "{\n  \"b\": 12,\"c\":null}"},
			[]string{`{"c":null,"a":"x"}`, `{"d":1}`, `{"a":1}`, `{"a":"x"`, `{,"b":1}`, `{"a":"x",}`}, 0},
		{names + `,"required":["b"]}`, []string{`{"b":1}`, `{"a":"","b":1,"c":null}`}, []string{`{}`, `{"a":""}`}, 0},
		{names + `,"required":["b","z"],"additionalProperties":{"type":"boolean"}}`,
			[]string{`{"b":1,"z":[]}`, `{"b":1,"c":null,"z":{},"q":true,"r":false}`},
			[]string{`{"b":1}`, `{"b":1,"z":0,"q":1}`}, 0},
		{names + `,"additionalProperties":true}`, []string{`{}`, `{"q":1}`, `{"a":"","q":[2]}`}, []string{`{"q"}`}, 0},
		{`{"type":"object"}`, []string{`{}`, `{"q":{"r":1}}`}, []string{`[]`}, 0},
		{`{"type":"object","additionalProperties":false}`, []string{`{}`, `{ }`}, []string{`{"q":1}`}, 0},
		{`{"enum":["a\"b",1,null,{"x":[true]}]}`, []string{`"a\"b"`, `1`, `null`, `{"x":[true]}`}, []string{`"a"`, `2`}, 0},
		{`{"const":"<|end|>"}`, nil, []string{`"x"`}, 0},
		{`{"type":["string","null"]}`, []string{`"a"`, `null`}, []string{`1`}, 0},
		{`{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":2}]}`,
			[]string{`-3`, `[1]`, `[ 1.5, 2 ]`}, []string{`[]`, `[1,2,3]`, `1.5`, `["a"]`}, 0},
		{`{"type":"array","maxItems":0}`, []string{`[]`}, []string{`[1]`}, 0},
		{`{"type":"array","items":false}`, []string{`[]`}, []string{`[1]`}, 0},
		{`{"items":{"type":"boolean"},"minItems":2}`, []string{`[true,false]`, `[true,true,true]`}, []string{`[true]`}, 0},
		{`{"type":"string","minLength":2,"maxLength":3}`, []string{`"ab"`, `"\n\u00e9é"`}, []string{`"a"`, `"abcd"`}, 0},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/n"},` +
			`{"type":"null"}]}},"required":["next"]}}}`,
			[]string{`{"next":null}`, `{"next":{"next":null}}`}, []string{`{"next":1}`, `{}`}, 0},
		{`{"type":"array","items":{"$ref":"#"}}`, []string{`[]`, `[[],[[]]]`}, []string{`[1]`}, 0},
		{`{"allOf":[{"type":"integer"}],"title":"t"}`, []string{`1`}, []string{`"1"`}, 0},
		{`{"type":"string","pattern":"^a$"}`, []string{`"b"`}, []string{`1`}, 1},
		{`{"type":"integer","minimum":0,"maximum":5}`, []string{`7`}, []string{`"7"`}, 1},
		{`{"$ref":"#/nowhere"}`, []string{`7`}, nil, 1},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, []string{`7`}, nil, 1},
		{`{"type":"thing"}`, []string{`7`}, nil, 1},
		{`false`, []string{`7`}, nil, 1},
		{`{"type":`, []string{`7`}, nil, 1},
		{strings.Repeat(`{"items":`, 60) + `{}` + strings.Repeat(`}`, 60), []string{`[]`}, []string{`7`}, 1},
	} {
		w := gbnf.New(nil)
		w.JSON(tt.schema)
		grammar := string(w.Bytes())
		for _, text := range tt.right {
			if !allows(t, grammar, text) {
				t.Errorf("%s: %s is not allowed by\n%s", tt.schema, text, grammar)
			}
		}
		for _, text := range tt.wrong {
			if allows(t, grammar, text) {
				t.Errorf("%s: %s is allowed by\n%s", tt.schema, text, grammar)
			}
		}
		if w.Unheld != tt.unheld {
			t.Errorf("%s: %d not held to, want %d", tt.schema, w.Unheld, tt.unheld)
		}
	}
}
