package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestGrammars checks that the model is shown every grammar, and that the server is asked to enforce those that it can.
func TestGrammars(t *testing.T) {
	for _, tt := range []struct {
		grammar        openai.InputGrammar
		description    string
		shown, pattern string
		wanted         bool
	}{
		{openai.InputGrammar{}, "D.", "D.", "", false},
		{openai.InputGrammar{Syntax: "lark", Definition: "start: \"a\"\n"}, "D.",
			"D.\n\nThe input keeps to this Lark grammar:\nstart: \"a\"\n", "", false},
		{openai.InputGrammar{Syntax: "regex", Definition: "a."}, "", "The whole input matches this regular expression:\na.",
			`a[^\n]`, true},
		{openai.InputGrammar{Syntax: "regex", Definition: `\ba`}, "D.",
			"D.\n\nThe whole input matches this regular expression:\n\\ba", "", false},
	} {
		tools := []openai.Tool{{Name: "t", Custom: true, Description: tt.description, Grammar: tt.grammar}}
		if got := newToolset(tools).namespaces(tools, schemasOf(tools))[0].Tools[0].Description; got != tt.shown {
			t.Errorf("%+v: shown as %q", tt.grammar, got)
		}
		for required, wanted := range map[bool]bool{false: tt.wanted, true: true} {
			c := newToolset(tools).constraint(&schemas{declared: tools}, &openai.ToolChoice{Required: required},
				&openai.TextFormat{})
			if c.Free() == wanted || wanted && c.Calls[0].Pattern != tt.pattern {
				t.Errorf("%+v: %+v", tt.grammar, c)
			}
		}
	}
	dots := openai.Tool{Name: "t", Custom: true,
		Grammar: openai.InputGrammar{Syntax: "regex", Definition: strings.Repeat(".", maxPatterns/10+1)}}
	tools := []openai.Tool{dots, dots}
	if c := newToolset(tools).constraint(&schemas{declared: tools}, &openai.ToolChoice{}, &openai.TextFormat{}); len(
		c.Calls) != 2 || len(c.Calls[0].Pattern) <= maxPatterns/2 || c.Calls[1].Pattern != "" {
		t.Errorf("%d calls", len(c.Calls))
	}
}
