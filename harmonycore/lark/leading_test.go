package lark_test

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
)

// TestLeftRecursive finds the grammars whose rules begin with themselves.
func TestLeftRecursive(t *testing.T) {
	for grammar, want := range map[string]bool{
		`start: "a" start?`:      false,
		`start: "a"*`:            false,
		`start: start "a" | "b"`: true,
		`start: b` + "\n" + `b: c | "x"` + "\n" + `c: b "y"`: true,
		`start: b` + "\n" + `b: "x" c?` + "\n" + `c: b "y"`:  false,
		`start: b? start "a" | "c"` + "\n" + `b: "x"`:        true,
		`start: b start | "c"` + "\n" + `b: "x"`:             false,
		`start: b start | "c"` + "\n" + `b: "x"?`:            true,
		`start: (b | "q")+` + "\n" + `b: ("x" start)`:        false,
	} {
		if got := lark.Translate(grammar); got.EBNF == "" || got.LeftRecursive != want {
			t.Errorf("%s: %+v, want %t", grammar, got, want)
		}
	}
}
