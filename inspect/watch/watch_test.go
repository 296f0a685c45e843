package watch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/harmonyedge/harmonyedge/sight/record"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

var update = flag.Bool("update", false, "write the golden files")

// source is a recorder whose events are a test's.
type source struct {
	events chan record.Event
	known  []record.Summary
}

func (s *source) Subscribe(context.Context) <-chan record.Event { return s.events }
func (s *source) Summaries() []record.Summary                   { return s.known }

// watched returns what is printed of events.
func watched(t testing.TB, o Options, known []record.Summary, events ...record.Event) string {
	t.Helper()
	s := &source{events: make(chan record.Event, len(events)), known: known}
	for _, e := range events {
		s.events <- e
	}
	close(s.events)
	var out strings.Builder
	Watch(t.Context(), s, New(&out, o))
	checkSafe(t, out.String(), o)
	return out.String()
}

var ownEscape = regexp.MustCompile("\x1b\\[(0|1|2|3[1235])m")

// checkSafe fails the test if anything other than printable text, line ends and own colours was printed.
func checkSafe(t testing.TB, out string, o Options) {
	t.Helper()
	if o.Color {
		out = ownEscape.ReplaceAllString(out, "")
	}
	if !utf8.ValidString(out) || strings.ContainsFunc(strings.ReplaceAll(out, "\n", ""), func(r rune) bool {
		return unicode.IsControl(r) || !unicode.IsPrint(r)
	}) {
		t.Fatalf("printed raw: %q", out)
	}
	for text := range strings.SplitSeq(out, "\n") {
		if w := uniseg.StringWidth(text); strings.Contains(text, textIndent) && w > max(o.Width, MinWidth) {
			t.Fatalf("%d columns in %q, asked for %d", w, text, o.Width)
		}
	}
}

func lineOf(id, text string) record.Event {
	return record.Event{Kind: record.Line, ID: id, Line: []byte(text)}
}

func tokens(id string, choice int, content string) record.Event {
	return lineOf(id, string(line.Append(nil,
		&line.Tokens{Head: line.Head{Type: line.TypeTokens}, Choice: choice, IDs: []uint32{1}, Content: content})))
}

func message(id string, choice int, channel, recipient string) record.Event {
	return lineOf(id, string(line.Append(nil, &line.Message{Head: line.Head{Type: line.TypeMessage}, Choice: choice,
		Role: "assistant", Channel: channel, Recipient: recipient})))
}

// began is when the requests of these tests began.
var began = time.Date(2026, 11, 26, 10, 2, 3, 0, time.Local)

func ended(s record.Summary) record.Event {
	s.Time = began
	return record.Event{Kind: record.Ended, ID: s.ID, Summary: s}
}

// good is the summary of a request without any trouble.
func good(id string) record.Summary {
	return record.Summary{ID: id, API: "chat", Model: "gpt-oss-120b", Server: "vllm", Status: 200, PromptTokens: 68,
		CompletionTokens: 17, FirstTokenMS: 31, DurationMS: 431, TokensPerSecond: 40, Finish: "stop"}
}

// TestGolden compares what is printed with testdata/NAME.golden.
func TestGolden(t *testing.T) {
	withTrouble := good("b")
	withTrouble.API, withTrouble.Cut, withTrouble.Finish = "responses", "server", "cut"
	withTrouble.PromptTokens, withTrouble.CompletionTokens, withTrouble.DurationMS = 130_001, 2048, 61_200
	withTrouble.Recoveries = map[string]uint64{"stray_terminator": 2, "missing_end": 1}
	refused := record.Summary{ID: "c", API: "chat", Status: 404, FirstTokenMS: -1, DurationMS: 1}
	left := record.Summary{ID: "d", Path: "/v1/models", FirstTokenMS: -1, Broken: "no frame has come for 30m0s"}
	early := good("e")
	early.EarlyEnd, early.Finish = "reasoning", "length"
	sent := func(id string) record.Event {
		return lineOf(id, `{"type":"sent","at_ms":1,"pool":"big","api":"chat","model":"gpt-oss-120b","server":"vllm",`+
			`"translated":true,"prompt_ids":[200006,1428]}`)
	}
	conversation := []record.Event{
		{Kind: record.Began, ID: "a"}, lineOf("a", `{"type":"request","at_ms":0,"record":1,"body":{"secret":"prompt"}}`),
		sent("a"), lineOf("a", `{"type":"head","at_ms":2,"status":200}`),
		message("a", 0, "analysis", ""), tokens("a", 0, "The"), tokens("a", 0, " user wants"), tokens("a", 0,
			" the weather."),
		lineOf("a", `{"type":"recovery","at_ms":3,"choice":0,"token":7,"kind":"missing_end"}`),
		message("a", 0, "commentary", ""), tokens("a", 0, "I look it up.\n\nOne moment."),
		message("a", 0, "commentary", "functions.get_weather"), tokens("a", 0, `{"city":`), tokens("a", 0, `"Paris"}`),
		message("a", 0, "final", ""), tokens("a", 0, "It is sunny in Paris, "), tokens("a", 0, "and it will stay so."),
		lineOf("a", `{"type":"answer","at_ms":4,"body":"data: {}\n\n"}`), lineOf("a", `{"type":"news","at_ms":4}`),
		ended(good("a")),
	}
	two := []record.Event{
		sent("a"), message("a", 0, "final", ""), tokens("a", 0, "One begins,"), sent("b"),
		message("b", 0, "final", ""), tokens("b", 0, "Two is beside it."), tokens("a", 0, " goes on,"), tokens("b", 0,
			" Still."),
		message("b", 1, "final", ""), tokens("b", 1, "The second choice\nhas lines."), tokens("a", 0, " and on,"),
		ended(good("b")), tokens("a", 0, " and is alone"), tokens("a", 0, " again."), ended(good("a")),
	}
	failed := []record.Event{
		lineOf("c", `{"type":"answer_head","at_ms":1,"status":404}`),
		lineOf("c", `{"type":"answer","at_ms":1,"body":"{\"error\":{\"message\":\"no such model\"}}"}`), ended(refused),
	}
	lost := []record.Event{
		message("a", 0, "final", ""), tokens("a", 0, "lost"), message("b", 0, "final", ""), tokens("b", 0, "running"),
		{Kind: record.Line, ID: "b", Lost: 1234, Line: tokens("b", 0, " on").Line}, ended(good("b")),
	}
	for name, events := range map[string][]record.Event{
		"lines":      {ended(good("a")), ended(withTrouble), ended(refused), ended(left), ended(early), ended(good("f"))},
		"transcript": conversation, "two": two, "failed": failed, "lost": lost,
	} {
		known := []record.Summary{{ID: "b", Running: true}}
		got := watched(t, Options{Width: 60, Transcripts: true}, known, events...) + "=== colours\n" + strings.ReplaceAll(
			watched(t, Options{Width: 50, Transcripts: true, Color: true}, known, events...), "\x1b", "ESC") +
			"=== without transcripts\n" + watched(t, Options{Width: 60}, known, events...)
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs\n got\n%s\nwant\n%s", golden, got, want)
		}
	}
}

// TestStreams checks that the text of the only request is printed as it comes, not line by line.
func TestStreams(t *testing.T) {
	var out strings.Builder
	p := New(&out, Options{Width: 80, Transcripts: true})
	for _, e := range []record.Event{message("a", 0, "final", ""), tokens("a", 0, "Hel"), tokens("a", 0, "lo")} {
		p.Line(e.ID, e.Line)
	}
	if want := "[1] final\n[1]   | Hello"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
}

// TestHostile prints what a model and a client could try with a terminal.
func TestHostile(t *testing.T) {
	evil := "\x1b[2J\x1b]0;title\a\r\u202e\u0301\u200b\x9b" + strings.Repeat("\u0301", 50_000) + strings.Repeat("x",
		5000) + "\x00"
	s := good(evil)
	s.API, s.Model, s.Finish, s.Cut, s.EarlyEnd, s.Broken, s.CacheMissed = evil, evil, evil, evil, evil, evil, evil
	s.Recoveries = map[string]uint64{evil: 1}
	got := watched(t, Options{Width: 60, Transcripts: true, Color: true}, nil,
		message(evil, 0, evil, evil), tokens(evil, 0, evil), tokens(evil, 1<<40, evil), tokens(evil, -1, evil),
		lineOf(evil, `{"type":"recovery","kind":"\u001b[2J"}`), lineOf(evil, "no JSON"), lineOf(evil,
			`{"type":"tokens","choice":"x"}`),
		ended(s))
	if !strings.Contains(got, `\x1b[2J`) {
		t.Errorf("got %.200q", got)
	}
}

// TestEnds checks that nothing is printed after the first error of the output, and that Watch then returns.
func TestEnds(t *testing.T) {
	s := &source{events: make(chan record.Event, 2)} // never closed
	s.events <- ended(good("a"))
	p := New(broken{}, Options{})
	Watch(t.Context(), s, p)
	if p.Err() == nil {
		t.Error("the error is forgotten")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the output is closed") }

// TestForgets checks that ended requests leave nothing behind.
func TestForgets(t *testing.T) {
	var out strings.Builder
	p := New(&out, Options{Transcripts: true})
	for i := range 1000 {
		id := fmt.Sprint(i)
		p.Line(id, tokens(id, i%5, "x").Line)
		s := good(id)
		p.Ended(&s)
	}
	if len(p.requests) != 0 || p.lanes != 0 || p.holder != nil {
		t.Errorf("%d requests and %d lanes are left", len(p.requests), p.lanes)
	}
}

func FuzzTranscript(f *testing.F) {
	f.Add("Hello, world. This is a text.", uint8(7), uint8(0))
	f.Add("a\n\nb  c\u0301 世界世界世界世界世界世界世界世界世界世界世界世界世界世界 \x1b[2J", uint8(3), uint8(60))
	f.Fuzz(func(t *testing.T, text string, cut, width uint8) {
		o := Options{Width: int(width), Transcripts: true, Color: width%2 == 0}
		events := []record.Event{message("a", 0, "final", "")}
		for i := range 3 {
			for rest := text; rest != ""; {
				n := min(len(rest), int(cut)+1)
				events = append(events, tokens("a", i%2, rest[:n]))
				rest = rest[n:]
			}
		}
		watched(t, o, nil, append(events, ended(good("a")))...)
	})
}
