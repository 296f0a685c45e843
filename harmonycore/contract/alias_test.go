package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAliases(t *testing.T) {
	for alias, ok := range map[string]bool{
		"*": true, "gpt-4o": true, "openai/*": true, "a*b": true, "*-120b": true, strings.Repeat("a", 256): true,
		"": false, "**": false, "a*b*": false, "a b": false, "é": false, "a\n": false, strings.Repeat("a", 257): false,
	} {
		if validAlias(alias) != ok {
			t.Errorf("%q", alias)
		}
	}
}

func TestPatternFits(t *testing.T) {
	for _, tt := range []struct {
		alias, name string
		fits        bool
	}{
		{"*", "x", true}, {"*", "", true}, {"a*", "a", true}, {"a*b", "ab", true}, {"a*b", "axb", true},
		{"aa*aa", "aaa", false}, {"aa*aa", "aaaa", true}, {"a*", "ba", false}, {"*b", "ba", false},
		{"*", strings.Repeat("x", MaxNameLength), true}, {"*", strings.Repeat("x", MaxNameLength+1), false},
	} {
		p, ok := PatternOf(tt.alias)
		if !ok || p.Fits(tt.name) != tt.fits {
			t.Errorf("%s, %.20s: %v", tt.alias, tt.name, !tt.fits)
		}
	}
	if _, ok := PatternOf("gpt-4o"); ok {
		t.Error("an alias without a star is no pattern")
	}
}

// TestPatternOrder checks all patterns over two letters: no two that fit one name are equal, so that the first
// one does not depend on the order of the models.
func TestPatternOrder(t *testing.T) {
	parts := []string{"", "a", "b", "aa", "ab", "ba", "bb"}
	names := append([]string{"aaaa", "aaba", "abab", "abba", "baab", "bbbb", "aba", "bab"}, parts...)
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				for _, d := range parts {
					p, q := Pattern{a, b}, Pattern{c, d}
					if p.Compare(q) != -q.Compare(p) {
						t.Fatalf("%v and %v have no order", p, q)
					}
					both := slices.ContainsFunc(names, func(n string) bool { return p.Fits(n) && q.Fits(n) })
					if p != q && both && p.Compare(q) == 0 {
						t.Fatalf("%v and %v fit one name and are equal", p, q)
					}
				}
			}
		}
	}
	if p, q := (Pattern{"openai/", ""}), (Pattern{"openai/gpt", ""}); q.Compare(p) >= 0 {
		t.Error("the longer text does not come first")
	}
	if p, q := (Pattern{"a", ""}), (Pattern{"", "b"}); p.Compare(q) >= 0 {
		t.Error("the longer beginning does not come first")
	}
}

func TestNames(t *testing.T) {
	many := make([]string, maxAliases+1)
	for i := range many {
		many[i] = fmt.Sprint("alias-", i)
	}
	for _, tt := range []struct {
		name         string
		models       []Named
		model, alias int
		reason       string
	}{
		{"none", nil, 0, 0, ""},
		{"all different", []Named{{"a", []string{"b", "c*"}}, {"d", []string{"e", "*c"}}}, 0, 0, ""},
		{"overlapping patterns", []Named{{"a", []string{"x*", "xy*"}}, {"b", []string{"*"}}}, 0, 0, ""},
		{"two names", []Named{{"a", nil}, {"b", nil}, {"a", nil}}, 2, -1,
			"a is listed twice; list all its servers in one entry"},
		{"its own name", []Named{{"a", []string{"b", "a"}}}, 0, 1, "a is the model's own name; leave it out"},
		{"a later name", []Named{{"a", []string{"b"}}, {"b", nil}}, 1, -1,
			"b is also an alias of the model a; a name stands for one model"},
		{"an earlier name", []Named{{"a", nil}, {"b", []string{"a"}}}, 1, 0,
			"a is also the name of a model; a name stands for one model"},
		{"twice", []Named{{"a", []string{"x*", "y", "x*"}}}, 0, 2, "x* is listed twice; remove one"},
		{"in two models", []Named{{"a", []string{"x"}}, {"b", nil}, {"c", []string{"y", "x"}}}, 2, 1,
			"x is also an alias of the model a; a name stands for one model"},
		{"the first of several", []Named{{"a", []string{"z", "z"}}, {"b", []string{"a"}}}, 0, 1,
			"z is listed twice; remove one"},
		{"too many", []Named{{"a", nil}, {"b", many}}, 1, maxAliases,
			"is one of 65 aliases, and a model has at most 64; write one with a star for several"},
	} {
		e := CheckNames(tt.models)
		switch {
		case tt.reason == "" && e != nil:
			t.Errorf("%s: %+v", tt.name, e)
		case tt.reason != "" && (e == nil || *e != NameError{tt.model, tt.alias, tt.reason}):
			t.Errorf("%s: %+v", tt.name, e)
		}
	}
}

// TestManyNames checks the names of very many models. With a comparison of each with each the test would take minutes.
func TestManyNames(t *testing.T) {
	models := make([]Named, 20_000)
	for i := range models {
		models[i].Name = fmt.Sprint("model-", i)
		for j := range 20 {
			models[i].Aliases = append(models[i].Aliases, fmt.Sprint("alias-", i, "-", j, "*"))
		}
	}
	started := time.Now()
	if e := CheckNames(models); e != nil {
		t.Fatal(e)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("%d names took %s", 21*len(models), took)
	}
	models[19_999].Aliases[19] = "model-7"
	if e := CheckNames(models); e == nil || e.Model != 19_999 || e.Alias != 19 {
		t.Errorf("%+v", e)
	}
}

func TestFind(t *testing.T) {
	n := NewNames([]Named{{"a", []string{"gpt-4o", "gpt-4*"}}, {"b", []string{"*", "gpt-*-b"}}, {"c", nil}})
	for name, want := range map[string]int{"a": 0, "gpt-4o": 0, "gpt-4.1": 0, "gpt-5-b": 1, "gpt-4-b": 1, "c": 2, "": 1,
		strings.Repeat("x", MaxNameLength+1): -1} {
		if got := n.Find(name); got != want {
			t.Errorf("%q: model %d, want %d", name, got, want)
		}
	}
	if none := NewNames(nil); none.Find("a") >= 0 {
		t.Error("a model is found among none")
	}
}
