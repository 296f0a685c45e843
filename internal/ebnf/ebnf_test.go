package ebnf_test

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

func TestAllows(t *testing.T) {
	for _, tt := range []struct {
		grammar, shortest string
		right, wrong      []string
	}{
		{`root ::= "a" | "b\n" c*` + "\nc ::= [^x\\n]{2,3}", "a", []string{"a", "b\n", "b\nyy", "b\nyyyyy"}, []string{"",
			"b", "b\ny", "ab"}},
		{`root ::= "(" root ")" | ("x" | "")`, "", []string{"", "x", "((x))"}, []string{"(", "xx"}},
		{`root ::= root "a" | "b"`, "b", []string{"b", "baaa"}, []string{"a", "ab"}},
		{`root ::= [a-c\x01]+ "\"\\"?`, "a", []string{"a", "bc\x01", "a\"\\"}, []string{"d", "\"\\"}},
		{`root ::= [^a-]{2,}`, "xx", []string{"bc", "日本語"}, []string{"b", "b-"}},
	} {
		g, err := ebnf.Read(tt.grammar)
		if err != nil {
			t.Errorf("%s: %v", tt.grammar, err)
			continue
		}
		if got, ok := g.Shortest(); got != tt.shortest || !ok {
			t.Errorf("%s: %q is the shortest text", tt.grammar, got)
		}
		for _, text := range tt.right {
			if !g.Allows(text) {
				t.Errorf("%s: %q is not allowed", tt.grammar, text)
			}
		}
		for _, text := range tt.wrong {
			if g.Allows(text) {
				t.Errorf("%s: %q is allowed", tt.grammar, text)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, grammar := range []string{"", `start ::= "a"`, `root ::= a`, `root ::= "a`, `root ::= [a`, `root ::= (`,
		`root ::= "a")`,
		"root ::= \"a\"\nroot ::= \"b\"", `root ::= [b-a]`, `root ::= "\q"`, `root ::= "\x0af"`, `root ::= "a"{x}`,
		`root = "a"`} {
		if _, err := ebnf.Read(grammar); err == nil {
			t.Errorf("%s is read", grammar)
		}
	}
	if g, err := ebnf.Read(`root ::= root "a"`); err != nil {
		t.Error(err)
	} else if _, ok := g.Shortest(); ok {
		t.Error("a grammar without a text has one")
	}
}
