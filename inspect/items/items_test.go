package items

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

var update = flag.Bool("update", false, "write the golden files")

// read reads a turn as harmony responses show --json prints it.
func read(t testing.TB, line string) *Turn {
	t.Helper()
	var turn struct {
		Response      json.RawMessage
		Input, Output []json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &turn); err != nil {
		t.Fatal(err)
	}
	if string(turn.Response) == "null" {
		turn.Response = nil
	}
	return &Turn{Object: turn.Response, Input: turn.Input, Output: turn.Output}
}

func written(t testing.TB, o explain.Options, turns ...*Turn) string {
	t.Helper()
	var b strings.Builder
	transcript := explain.NewTranscript(&b, o)
	for _, turn := range turns {
		Write(transcript, turn)
	}
	if err := transcript.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGolden compares the transcript of testdata/turns.jsonl, which has every type of item, with testdata/turns.golden.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/turns.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var turns []*Turn
	for line := range strings.Lines(string(text)) {
		turns = append(turns, read(t, line))
	}
	got := written(t, explain.Options{Width: 80}, turns...) + "=== colours\n" +
		strings.ReplaceAll(written(t, explain.Options{Width: 60, Color: true}, turns[0]), "\x1b", "ESC")
	const golden = "testdata/turns.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != got {
		t.Errorf("%v\ngot:\n%s", err, got)
	}
}

// FuzzMessage checks that whatever an item holds, only printable text and line ends are printed, and something is.
func FuzzMessage(f *testing.F) {
	text, err := os.ReadFile("testdata/turns.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		turn := read(f, line)
		for _, raw := range append(turn.Input, turn.Output...) {
			f.Add([]byte(raw))
		}
	}
	f.Add([]byte(`{"type":"message","role":5}`))
	f.Add([]byte("\x1b[2J"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := written(t, explain.Options{Width: 40}, &Turn{Object: raw, Input: []json.RawMessage{raw}})
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) ||
			!strings.Contains(out, "#1 ") && !strings.Contains(out, "#2 ") {
			t.Fatalf("printed: %q", out)
		}
	})
}
