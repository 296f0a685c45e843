package translate

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPortable(t *testing.T) {
	for pattern, want := range map[string]string{
		`a`: `a`, ``: ``, `^\d{4}-\d{2,}$`: `^\d{4}-\d{2,}$`, `a|b+?(?:c{1,2}|)*`: `a|b+?(?:c{1,2}|)*`,
		`[^a-z\]\-_.{]$`: `[^a-z\]\-_.{]$`, `\.\/\#\"\^\$`: `\.\/\#\"\^\$`,
		`(?P<year>\d+) (?<m_1>Jan|Feb)`: `(?:\d+) (?:Jan|Feb)`, `.*\..`: `[^\n]*\.[^\n]`, `é[à-ü]`: `é[à-ü]`, `a}]`: `a}]`,
		`[$^(.]`:                 `[$^(.]`,
		`[-a]|[a-]|[\w-]|[a-c-]`: `[-a]|[a-]|[\w-]|[a-c-]`, `(a|b)+?c{0,3}?`: `(a|b)+?c{0,3}?`, `[\t-\r\\]`: `[\t-\r\\]`,
	} {
		got, ok := portable(pattern)
		if !ok || got != want {
			t.Errorf("%q: %v %q, want %q", pattern, ok, got, want)
		}
		before, after := regexp.MustCompile("^(?:"+pattern+")$"), regexp.MustCompile("^(?:"+got+")$")
		for _, text := range []string{"a", "", "2026-01", "bc", "]", ".", "2026 Jan", "x.y", "x\n.y", "éà", "^", `./#"^$`,
			"a}]"} {
			if before.MatchString(text) != after.MatchString(text) {
				t.Errorf("%q and %q do not agree on %q", pattern, got, text)
			}
		}
	}
	// For this pattern, Go's own engine needs more stack than TinyGo's goroutines have.
	if got, ok := portable(`a{0,1000}`); !ok || got != `a{0,1000}` {
		t.Errorf("a count at the limit: %v %q", ok, got)
	}
	for _, pattern := range []string{
		`(?i)a`, `(?=a)`, `(?!a)`, `(?<=a)`, `(?<!a)`, `(?P=n)`, `(?P<n`, `(?<a b>c)`, `(?`, `(?P`, `a\b`, `\Aa`, `\<a`,
		`a\>`, `\pL`, `\p{L}`, `\x41`, `\u0041`, `(a)\1`, `\`, `[a`, `[`, `[^`, `[]a]`, `[^]a]`,
		`[[:alpha:]]`, `[a&&b]`, `[a--b]`, `[\p{L}]`, `a^b`, `a$b`, `{2}{`, `a{,2}`, `a{x}`, `a{1,2,3}`, `a{1`, "\\é",
		`[\w-.]+@x`, `[a-\d]`, `[z-a]`, `[a-[]`, `(abc`, `abc)`, `)(`, `*a`, `^*`, `(*a)`, `a|+`, `a**`, `a++`, `a+?+`,
		`a??+`, `a{3,1}`, `a{1001}`, `a{99999999999999999999}`, `a{2}{3}`, `a{+1}`, `(?<>a)`, `(?<a-b>c)`,
		"a\x00b", "a\nb", "[\x01]", "[\xff]", strings.Repeat("(", 33) + strings.Repeat(")", 33),
	} {
		if got, ok := portable(pattern); ok {
			t.Errorf("%q is not the same everywhere, but %q", pattern, got)
		}
	}
}

// FuzzPortable checks that Go reads every rewritten expression, and that it matches what the original matches.
func FuzzPortable(f *testing.F) {
	for _, pattern := range []string{`(?P<a>x|[^a-c\d-]+?){2,3}.$`, `[\-\]a]*`, `^(a|)`, `é{1}`} {
		f.Add(pattern, "ax-1]")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 200 || !utf8.ValidString(pattern) {
			return
		}
		got, ok := portable(pattern)
		if !ok {
			return
		}
		after, err := regexp.Compile("^(?:" + got + ")$")
		if err != nil {
			// Go limits the product of nested repetitions.
			if strings.Contains(err.Error(), "invalid repeat count") {
				return
			}
			t.Fatalf("%q as %q: %v", pattern, got, err)
		}
		before, err := regexp.Compile("^(?:" + pattern + ")$")
		if err != nil && strings.Contains(err.Error(), "duplicate capture group name") {
			return
		}
		if err != nil || before.MatchString(text) != after.MatchString(text) {
			t.Fatalf("%q and %q do not agree on %q: %v", pattern, got, text, err)
		}
	})
}
