package translate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

func TestPortable(t *testing.T) {
	for pattern, want := range map[string]string{
		`a`: `a`, ``: ``, `^\d{4}-\d{2,}$`: `^\d{4}-\d{2,}$`, `a|b+?(?:c{1,2}|)*`: `a|b+?(?:c{1,2}|)*`, `[^a-z\]\-_.{]$`: `[^a-z\]\-_.{]$`, `\.\/\#\"\^\$`: `\.\/\#\"\^\$`,
		`(?P<year>\d+) (?<m_1>Jan|Feb)`: `(?:\d+) (?:Jan|Feb)`, `.*\..`: `[^\n]*\.[^\n]`, `é[à-ü]`: `é[à-ü]`, `a}]`: `a}]`, `[$^(.]`: `[$^(.]`,
	} {
		got, ok := portable(pattern)
		if !ok || got != want {
			t.Errorf("%q: %v %q, want %q", pattern, ok, got, want)
		}
		before, after := regexp.MustCompile("^(?:"+pattern+")$"), regexp.MustCompile("^(?:"+got+")$")
		for _, text := range []string{"a", "", "2026-01", "bc", "]", ".", "2026 Jan", "x.y", "x\n.y", "éà", "^", `./#"^$`, "a}]"} {
			if before.MatchString(text) != after.MatchString(text) {
				t.Errorf("%q and %q do not agree on %q", pattern, got, text)
			}
		}
	}
	for _, pattern := range []string{
		`(?i)a`, `(?=a)`, `(?!a)`, `(?<=a)`, `(?<!a)`, `(?P=n)`, `(?P<n`, `(?<a b>c)`, `(?`, `(?P`, `a\b`, `\Aa`, `\<a`, `a\>`, `\pL`, `\p{L}`, `\x41`, `\u0041`, `(a)\1`, `\`, `[a`, `[`, `[^`, `[]a]`, `[^]a]`,
		`[[:alpha:]]`, `[a&&b]`, `[a--b]`, `[\p{L}]`, `a^b`, `a$b`, `{2}{`, `a{,2}`, `a{x}`, `a{1,2,3}`, `a{1`, "\\é",
	} {
		if got, ok := portable(pattern); ok {
			t.Errorf("%q is not the same everywhere, but %q", pattern, got)
		}
	}
}

// TestGrammars: every grammar is shown, and a server is asked for what it can hold the input to.
func TestGrammars(t *testing.T) {
	for _, tt := range []struct {
		grammar        openai.InputGrammar
		description    string
		shown, pattern string
		wanted         bool
	}{
		{openai.InputGrammar{}, "D.", "D.", "", false},
		{openai.InputGrammar{Syntax: "lark", Definition: "start: \"a\"\n"}, "D.", "D.\n\nThe input keeps to this Lark grammar:\nstart: \"a\"\n", "", false},
		{openai.InputGrammar{Syntax: "regex", Definition: "a."}, "", "The whole input matches this regular expression:\na.", `a[^\n]`, true},
		{openai.InputGrammar{Syntax: "regex", Definition: `\ba`}, "D.", "D.\n\nThe whole input matches this regular expression:\n\\ba", "", false},
	} {
		tools := []openai.Tool{{Name: "t", Custom: true, Description: tt.description, Grammar: tt.grammar}}
		if got := newToolset(tools).namespaces(tools)[0].Tools[0].Description; got != tt.shown {
			t.Errorf("%+v: shown as %q", tt.grammar, got)
		}
		for required, wanted := range map[bool]bool{false: tt.wanted, true: true} {
			c := newToolset(tools).constraint(tools, &openai.ToolChoice{Required: required}, &openai.TextFormat{})
			if c.Free() == wanted || wanted && c.Calls[0].Pattern != tt.pattern {
				t.Errorf("%+v: %+v", tt.grammar, c)
			}
		}
	}
	dots := openai.Tool{Name: "t", Custom: true, Grammar: openai.InputGrammar{Syntax: "regex", Definition: strings.Repeat(".", maxPatterns/10+1)}}
	tools := []openai.Tool{dots, dots}
	if c := newToolset(tools).constraint(tools, &openai.ToolChoice{}, &openai.TextFormat{}); len(c.Calls) != 2 || len(c.Calls[0].Pattern) <= maxPatterns/2 || c.Calls[1].Pattern != "" {
		t.Errorf("%d calls", len(c.Calls))
	}
}
