package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCutKeepsCharactersWhole(t *testing.T) {
	for size, want := range map[int]string{0: "", 1: "a", 2: "a", 3: "a", 4: "a中", 5: "a中b", 9: "a中b"} {
		if got := cut("a中b", size); got != want {
			t.Errorf("%d bytes: %q, want %q", size, got, want)
		}
	}
}

func TestMessagesAreNewToEverySet(t *testing.T) {
	var text strings.Builder
	for i := range 4000 {
		text.WriteRune(rune(0x4e00 + i))
	}
	text.WriteString(text.String()) // cut at the same places, the second half would repeat the first
	sets := messages(text.String(), 120, 4)
	seen := map[string]bool{}
	for _, set := range sets {
		if len(set) != 25 {
			t.Errorf("a set of %d messages, want 25", len(set))
		}
		for _, m := range set {
			if seen[m] || !utf8.ValidString(m) || len(m) > 120 {
				t.Errorf("message %q: seen before %v", m, seen[m])
			}
			seen[m] = true
		}
	}
}

func TestAssembleBeginsAgain(t *testing.T) {
	file := t.TempDir() + "/text"
	w := writer{folder: t.TempDir()}
	files := append(w.text("a", "first\x00 "), w.text("b", strings.Repeat("second ", 10))...)
	if w.err != nil {
		t.Fatal(w.err)
	}
	text, err := assemble([]part{{100, files[:1]}, {7, files[1:]}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, "first second first second ") || len(text) < corpusSize {
		t.Errorf("%d bytes that begin with %.40q", len(text), text)
	}
	if _, err := assemble([]part{{100, []string{file}}}); err == nil {
		t.Error("no error for a file that is not there")
	}
}
