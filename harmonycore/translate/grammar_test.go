package translate

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestGrammars checks that the model is shown every grammar, and that the server is asked to enforce those that it can.
func TestGrammars(t *testing.T) {
	for _, tt := range []struct {
		grammar     openai.InputGrammar
		description string
		shown       string
		form        inputForm
		counted     int
	}{
		{openai.InputGrammar{}, "D.", "D.", inputForm{}, 0},
		{openai.InputGrammar{Syntax: "lark", Definition: "start: \"a\"\n"}, "D.",
			"D.\n\nThe input keeps to this Lark grammar:\nstart: \"a\"\n", inputForm{grammar: "root ::= \"a\"\n"}, 0},
		{openai.InputGrammar{Syntax: "lark", Definition: `start: /[\s\S]+/`}, "D.",
			"D.\n\nThe input keeps to this Lark grammar:\nstart: /[\\s\\S]+/", inputForm{}, 0},
		{openai.InputGrammar{Syntax: "lark", Definition: `start: /a$/`}, "D.",
			"D.\n\nThe input keeps to this Lark grammar:\nstart: /a$/", inputForm{}, 1},
		{openai.InputGrammar{Syntax: "regex", Definition: "a."}, "", "The whole input matches this regular expression:\na.",
			inputForm{pattern: `a[^\n]`}, 0},
		{openai.InputGrammar{Syntax: "regex", Definition: `\ba`}, "D.",
			"D.\n\nThe whole input matches this regular expression:\n\\ba", inputForm{}, 1},
	} {
		tools := []openai.Tool{{Name: "t", Custom: true, Description: tt.description, Grammar: tt.grammar}}
		if got := newToolset(tools).namespaces(tools, schemasOf(tools))[0].Tools[0].Description; got != tt.shown {
			t.Errorf("%+v: shown as %q", tt.grammar, got)
		}
		wanted := tt.form != inputForm{}
		for required, wanted := range map[bool]bool{false: wanted, true: true} {
			known := &schemas{declared: tools}
			c := newToolset(tools).constraint(known, &openai.ToolChoice{Required: required}, &openai.TextFormat{})
			form := inputForm{}
			if len(c.Calls) > 0 {
				form = inputForm{pattern: c.Calls[0].Pattern, grammar: c.Calls[0].Grammar}
			}
			if c.Free() == wanted || wanted && form != tt.form ||
				c.Loose != (wanted && !required) || known.unenforced != tt.counted {
				t.Errorf("%+v: %+v, %d", tt.grammar, c, known.unenforced)
			}
		}
	}
	dots := openai.Tool{Name: "t", Custom: true,
		Grammar: openai.InputGrammar{Syntax: "regex", Definition: strings.Repeat(".", maxInputForms/12+1)}}
	tools := []openai.Tool{dots, dots}
	if c := newToolset(tools).constraint(&schemas{declared: tools}, &openai.ToolChoice{}, &openai.TextFormat{}); len(
		c.Calls) != 2 || len(c.Calls[0].Pattern) <= maxInputForms/3 || c.Calls[1].Pattern != "" {
		t.Errorf("%d calls", len(c.Calls))
	}
}

// TestRememberedGrammars: a client's grammar is turned once, and is not another client's.
func TestRememberedGrammars(t *testing.T) {
	var memory ToolMemory
	ada, bob := grammars{&memory, "ada"}, grammars{&memory, "bob"}
	definition := func(n int) string { return `start: "` + strings.Repeat("a", n) + `"` }
	for range 3 {
		for n := range 4 {
			for _, who := range []grammars{ada, bob} {
				if got, want := who.translate(definition(n)), lark.Translate(definition(n)); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
		}
	}
	if len(memory.grammars) != 8 {
		t.Errorf("%d grammars are remembered", len(memory.grammars))
	}
	at := slices.IndexFunc(memory.grammars, func(r rememberedGrammar) bool {
		return r.owner == "bob" && r.definition == definition(1)
	})
	memory.grammars[at].translation.EBNF = "remembered"
	if bob.translate(definition(1)).EBNF != "remembered" || ada.translate(definition(1)).EBNF == "remembered" {
		t.Error("a grammar is turned again, or is another client's")
	}
	ada.translate(definition(maxRememberedGrammarSize))
	for n := range 40 {
		ada.translate(definition(n))
	}
	if len(memory.grammars) != maxRememberedGrammars || memory.grammars[0].definition != definition(39) {
		t.Errorf("%d grammars are remembered", len(memory.grammars))
	}
}
