package lark_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// ebnfFile is where tools/lark/check.sh wants all grammars, their EBNF and their texts.
var ebnfFile = flag.String("ebnf", "", "write the EBNF of the grammars in testdata and their texts to this file")

// translated is what is written there of one grammar.
type translated struct {
	Lark  string          `json:"lark"`
	EBNF  string          `json:"ebnf"`
	Texts map[string]bool `json:"texts"`
}

// example is a grammar of testdata, and texts of which the library lark says whether the grammar allows them.
type example struct {
	name, grammar string
	texts         []string
	allowed       []bool
}

// examples reads testdata, which tools/lark/vectors.py writes.
func examples(t *testing.T) []example {
	t.Helper()
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".txt")
		if !ok {
			continue
		}
		content, err := os.ReadFile(filepath.Join("testdata", file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(content), "-- grammar --\n")
		grammar, text, _ := strings.Cut(text, "-- seeds --\n")
		_, cases, _ := strings.Cut(text, "-- cases --\n")
		e := example{name: name, grammar: grammar}
		for line := range strings.Lines(cases) {
			var text string
			if err := json.Unmarshal([]byte(line[1:]), &text); err != nil {
				t.Fatal(err)
			}
			e.texts, e.allowed = append(e.texts, text), append(e.allowed, line[0] == '+')
		}
		all = append(all, e)
	}
	return all
}

// TestAsLark: the EBNF of each grammar allows the texts that the library lark takes, and no others.
func TestAsLark(t *testing.T) {
	all := examples(t)
	if len(all) < 31 {
		t.Errorf("%d grammars", len(all))
	}
	right, wrong, written := 0, 0, map[string]translated{}
	for _, e := range all {
		got := lark.Translate(e.grammar)
		if got.EBNF == "" {
			t.Errorf("%s: %+v", e.name, got)
			continue
		}
		grammar, err := ebnf.Read(got.EBNF)
		if err != nil {
			t.Errorf("%s: %v\n%s", e.name, err, got.EBNF)
			continue
		}
		written[e.name] = translated{e.grammar, got.EBNF, map[string]bool{}}
		for i, text := range e.texts {
			written[e.name].Texts[text] = e.allowed[i]
			if grammar.Allows(text) != e.allowed[i] {
				t.Errorf("%s: %q: want %t\n%s", e.name, text, e.allowed[i], got.EBNF)
			}
			if e.allowed[i] {
				right++
			} else {
				wrong++
			}
		}
	}
	if right < 400 || wrong < 400 {
		t.Errorf("%d right texts and %d wrong ones", right, wrong)
	}
	if *ebnfFile != "" {
		content, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*ebnfFile, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
