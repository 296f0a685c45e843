package lark_test

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// TestAny: a grammar of any text is known as one, and a grammar that only nearly is one is not.
func TestAny(t *testing.T) {
	// As the tool of an agent has it that runs programs: a first line with a comment, or no such line.
	program := `start: marked | plain
marked: MARK NEWLINE SOURCE
plain: SOURCE
MARK: /[ \t]*\/\/ @run:[^\r\n]*/
NEWLINE: /\r?\n/
SOURCE: /[\s\S]+/
`
	for definition, want := range map[string]bool{
		program:                              true,
		`start: /[\s\S]*/`:                   true,
		`start: /(.|\n)+/`:                   true,
		`start: /.+/s`:                       true,
		`start: X+` + "\nX: /[^a]|a/":        true,
		`start: "a"? (/[\d\D]+/ | "b") /x*/`: true,
		`start: /.+/`:                        false,
		`start: /[\s\S]/`:                    false,
		`start: /[\s\S]{2,}/`:                false,
		`start: "a" /[\s\S]+/`:               false,
		`start: /[^\u0000]+/`:                false,
		`start: start`:                       false,
	} {
		got := lark.Translate(definition)
		if got.Any != want || want && (got.EBNF != "" || got.Reason != "") {
			t.Errorf("%s: %+v", definition, got)
		}
	}
}

// TestNotTranslated has what no EBNF is made of, and why.
func TestNotTranslated(t *testing.T) {
	for definition, want := range map[string]string{
		``:                           "no rule named start",
		`begin: "a"`:                 "no rule named start",
		`START: "a"`:                 "no rule named start",
		`start: a`:                   "no definition",
		`start: A`:                   "no definition",
		"start: \"a\"\nstart: \"b\"": "two definitions",
		"start: A\nA: \"a\"\n%import common.LF -> A": "two definitions",
		`start: start "a"`:                           "has no text",
		"start: a | \"x\"\na: b\nb: a \"x\"":         "has no text",
		"start: \"a\"\n%ignore B\nB: B":              "has no text",
		"start: A\n%declare A":                       "directive",
		"%override start: \"a\"":                     "directive",
		"start: %json {}":                            "not Lark",
		"%import python.NAME\nstart: NAME":           "%import",
		"%import .other.NAME\nstart: NAME":           "%import",
		"%import common.NOTHING\nstart: NOTHING":     "%import",
		`start: list{"a"}` + "\nlist{x}: x":          "templates",
		`start[max_tokens=3]: "a"`:                   "templates",
		`start: "a`:                                  "not Lark",
		`start: "a" )`:                               "not Lark",
		`start: ("a"`:                                "not Lark",
		`start: ["a")`:                               "not Lark",
		`start: "a"~`:                                "not Lark",
		`start "a"`:                                  "not Lark",
		`start: * "a"`:                               "not Lark",
		`start: <|end|>`:                             "not Lark",
		"start: \"a\xff\"":                           "not Lark",
		`start: "\ud800"`:                            "string",
		`start: "é"i`:                                "string",
		`start: "ab".."c"`:                           "string",
		`start: "c".."a"`:                            "string",
		`start: /a/x`:                                "flag",
		`start: /a/l`:                                "flag",
		`start: /(?=a)/`:                             "lookaround",
		`start: /(?<!a)b/`:                           "lookaround",
		`start: /(?i)a/`:                             "lookaround",
		`start: /(a)\1/`:                             "escape",
		`start: /\q/`:                                "escape",
		`start: /\x2a/`:                              "escape",
		`start: /[\x5d]/`:                            "escape",
		`start: /^a/`:                                "anchors",
		`start: /a$/`:                                "anchors",
		`start: /\ba/`:                               "anchors",
		`start: /a*?/`:                               "lazy",
		`start: /a++/`:                               "lazy",
		`start: /*a/`:                                "not a regular expression",
		`start: /a**/`:                               "lazy",
		`start: /{2}/`:                               "not a regular expression",
		`start: /a{,2}/`:                             "not a regular expression",
		`start: /(a/`:                                "not a regular expression",
		`start: /a)/`:                                "not a regular expression",
		`start: /[a/`:                                "class",
		`start: /[b-a]/`:                             "class",
		`start: /[\w-z]/`:                            "class",
		`start: /[a-\d]/`:                            "class",
		`start: /[[a]]/`:                             "class",
		`start: /[a&&b]/`:                            "class",
		`start: /[^\s\S]/`:                           "class",
		`start: /a{3,2}/`:                            "too long",
		`start: /a{1001}/`:                           "too long",
		`start: "a"~2..1`:                            "too long",
		`start: /((a{1000}){1000}){1000}/`:           "too long",
		`start: (("a"~1000)~1000)~99999999999999999999`: "too long",
	} {
		got := lark.Translate(definition)
		if got.EBNF != "" || got.Any || !strings.Contains(got.Reason, want) {
			t.Errorf("%s: %+v, want %q", definition, got, want)
		}
	}
}

// TestHostile: grammars that are made to cost much are refused, or their EBNF is small.
func TestHostile(t *testing.T) {
	rules, doubled, chained := "start: r0\n", "start: d0\n", "start: c0\n"
	for i := range 10_000 {
		rules += "r" + digits(i) + ": \"a\" r" + digits(i+1) + "?\n"
	}
	for i := range 200 {
		doubled += "d" + digits(i) + ": d" + digits(i+1) + " d" + digits(i+1) + "\n"
		chained += "c" + digits(i) + ": c" + digits(i+1) + " | \"x\" c" + digits(i) + "\n"
	}
	doubled += "d200: \"a\"?\n"
	chained += "c200: \"y\"\n"
	for name, definition := range map[string]string{
		"rules": rules, "doubled": doubled, "chained": chained,
		"groups":       "start: " + strings.Repeat("(", 30_000) + `"a"` + strings.Repeat(")", 30_000),
		"options":      "start: " + strings.Repeat("[", 30_000) + `"a"` + strings.Repeat("]", 30_000),
		"groups in re": "start: /" + strings.Repeat("(", 30_000) + "a" + strings.Repeat(")", 30_000) + "/",
		"alternatives": "start: " + strings.Repeat(`"a"|`, 15_000) + `"a"`,
		"tokens":       "start: " + strings.Repeat("A ", 30_000) + "\nA: \"a\"",
		"stars":        "start: /" + strings.Repeat("(a*)*", 10_000) + "/",
		"repetitions":  "start: " + strings.Repeat(`("a"|"b")~1000 `, 4_000),
		"long text":    `start: "` + strings.Repeat("a", 60_000) + `"`,
		"long re":      `start: /` + strings.Repeat("a", 60_000) + `/`,
		"class":        `start: /[` + strings.Repeat("acegik", 10_000) + `]/`,
		"wide class":   `start: /[` + strings.Repeat("\u0400", 20_000) + `]/`,
		"names":        "start: " + strings.Repeat("a", 60_000),
		"blanks":       "start:" + strings.Repeat(" ", 60_000) + `"a"`,
		"comments":     strings.Repeat("#\n", 30_000) + `start: "a"`,
		"bars":         "start: " + strings.Repeat("|", 60_000),
		"controls":     `start: "` + strings.Repeat("\x01", 60_000) + `"`,
		"ignored":      `start: "a"+` + strings.Repeat("\n%ignore \"b\"", 5_000),
		"percents":     strings.Repeat("%", 60_000),
		"self":         "start: " + strings.Repeat("start|", 10_000) + `"a"`,
		"covering":     "start: " + strings.Repeat("a? ", 600) + "\n" + chain("a", 400),
		"longer":       `start: "a"` + strings.Repeat("\n", 70_000),
	} {
		began := time.Now()
		got := lark.Translate(definition)
		took := time.Since(began)
		if len(got.EBNF) > 64<<10 || got.EBNF == "" && got.Reason == "" && !got.Any {
			t.Errorf("%s: %d bytes of EBNF, %q", name, len(got.EBNF), got.Reason)
		}
		t.Logf("%s: %v, %d bytes of EBNF, %q", name, took, len(got.EBNF), got.Reason)
	}
}

// chain returns rules of which each may be empty, and has the next one twice.
func chain(name string, n int) string {
	text := name + ": " + name + "0 " + name + "0\n"
	for i := range n {
		text += name + digits(i) + ": " + name + digits(i+1) + "? " + name + digits(i+1) + "?\n"
	}
	return text + name + digits(n) + ": \"a\"?\n"
}

// digits is n as Lark's names may have it.
func digits(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return digits(n/10) + digits(n%10)
}

// FuzzTranslate: whatever the grammar is, the EBNF can be read.
func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{`start: "a"`, "start: a | start \"b\"\na: /[^\\n]{2,3}/i", "start: A\nA: \"x\"..\"z\"~1..2\n%ignore /\\s/",
		`start: ["a" -> b] ("c"i)*`, "%import common (WS, INT)\nstart: INT+\n%ignore WS", `start: /[\s\S]+|(?:\u00e9|\/)\x41/s`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, definition string) {
		got := lark.Translate(definition)
		if got.EBNF == "" {
			if got.Any == (got.Reason != "") {
				t.Errorf("%q: %+v", definition, got)
			}
			return
		}
		grammar, err := ebnf.Read(got.EBNF)
		if err != nil {
			t.Fatalf("%q: %v\n%s", definition, err, got.EBNF)
		}
		if text, ok := grammar.Shortest(); !ok || len(text) < 200 && !grammar.Allows(text) {
			t.Errorf("%q: its shortest text %q\n%s", definition, text, got.EBNF)
		}
	})
}
