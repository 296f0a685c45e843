package explain

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

var update = flag.Bool("update", false, "write the golden files")

func explained(t testing.TB, ids []uint32, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, o200k.Tokenizer(), ids, o); err != nil {
		t.Fatal(err)
	}
	checkSafe(t, out.String(), ids, o)
	return out.String()
}

var ownEscape = regexp.MustCompile("\x1b\\[(0|1|2|1;31|3[2356])m")

// checkSafe fails the test if anything other than printable text, line ends and our own colours was written, or if a
// line is too wide.
func checkSafe(t testing.TB, out string, ids []uint32, o Options) {
	t.Helper()
	if o.Color {
		out = ownEscape.ReplaceAllString(out, "")
	}
	if unsafe(strings.ReplaceAll(out, "\n", "")) {
		t.Fatalf("%v: printed raw: %q", ids, out)
	}
	for line := range strings.SplitSeq(out, "\n") {
		if w := uniseg.StringWidth(line); w > max(o.Width, MinWidth) {
			t.Fatalf("%v: %d columns in %q, asked for %d", ids, w, line, o.Width)
		}
	}
}

func unsafe(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(
		s, func(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) })
}

// TestGolden compares the transcript of testdata/NAME.txt, which is Harmony text, with testdata/NAME.golden.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ids, err := ReadText(o200k.Tokenizer(), f)
		if err != nil {
			t.Fatal(err)
		}
		got := explained(t, ids, Options{Width: 76}) + "=== no ids\n" + explained(t, ids, Options{Width: 50, NoIDs: true}) +
			"=== colours\n" + strings.ReplaceAll(explained(t, ids, Options{Width: 90, Color: true}), "\x1b", "ESC")
		golden := strings.TrimSuffix(file, ".txt") + ".golden"
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

// TestEveryToken goes through the whole vocabulary, whose tokens contain every possible byte.
func TestEveryToken(t *testing.T) {
	some := []uint32{tokenizer.Message}
	for id := uint32(0); id <= tokenizer.LastSpecial+3; id++ {
		text, _ := o200k.Tokenizer().TokenBytes(id)
		if got := escape(string(text), true); unsafe(got) {
			t.Fatalf("%d: %q is escaped as %q", id, text, got)
		}
		if id%16 == 0 || id < 300 {
			some = append(some, id)
		}
	}
	explained(t, some, Options{Width: 100, Color: true})
}

// checkBlocks fails the test unless each token is in exactly one block, in order, and each recovery is reported once.
func checkBlocks(t testing.TB, ids []uint32, begin Begin) {
	t.Helper()
	r := record(o200k.Tokenizer(), nil, ids, begin)
	at := 0
	for _, b := range r.blocks {
		if b.from != at || b.to < b.from || b.to == b.from && !b.message {
			t.Fatalf("%v: block [%d,%d) begins where [..,%d) ended", ids, b.from, b.to, at)
		}
		at = b.to
	}
	if at != len(ids) {
		t.Fatalf("%v: the blocks end at %d of %d", ids, at, len(ids))
	}
	var shown harmony.Recoveries
	for _, x := range r.tokens {
		for _, kind := range x.notes {
			shown[kind]++
		}
	}
	for _, kind := range r.atEnd {
		shown[kind]++
	}
	if shown != r.seen {
		t.Fatalf("%v: %v shown of %v", ids, shown, r.seen)
	}
}

func FuzzWrite(f *testing.F) {
	special := []uint32{tokenizer.Start, tokenizer.Channel, tokenizer.Message, tokenizer.Constrain, tokenizer.End,
		tokenizer.Return,
		tokenizer.Call, tokenizer.EndOfText, 200500, 201089}
	words := []string{"assistant", "user", "analysis", "commentary", "final", " to=", "functions.f", " json", "世界 ",
		"one two three", "\n", "👩‍🚀"}
	f.Add([]byte{1, 12, 2, 18, 19, 4, 0, 10, 1, 14, 2, 20, 5}, uint8(80))
	f.Add([]byte{2, 0x1b, '[', '2', 'J', 0xc2, 0x9b, 4, 4, 1, 0xff, 1, 12, 1}, uint8(0))
	f.Add([]byte{0, 0, 10, 1, 1, 9, 9, 2, 21, 0xf0, 0x9f, 3, 1, 12, 2, 5, 5, 21, 0}, uint8(30))
	f.Fuzz(func(t *testing.T, data []byte, width uint8) {
		tok := o200k.Tokenizer()
		var ids []uint32
		for _, c := range data {
			switch i := int(c); {
			case i < len(special):
				ids = append(ids, special[i])
			case i < len(special)+len(words):
				ids = tok.AppendEncode(ids, words[i-len(special)])
			default:
				ids = tok.AppendEncode(ids, string([]byte{c}))
			}
		}
		for _, begin := range []Begin{ByFirstToken, InAssistant, AtStart} {
			checkBlocks(t, ids, begin)
			explained(t, ids, Options{Begin: begin, Width: int(width), Color: width%2 == 0, NoIDs: width%3 == 0})
		}
	})
}

// TestMeanings shows that every kind of recovery has an explanation.
func TestMeanings(t *testing.T) {
	var all harmony.Recoveries
	for kind := range all {
		if Meaning(harmony.Recovery(kind)) == "" {
			t.Errorf("%v has no meaning", harmony.Recovery(kind))
		}
	}
	if len(meanings) != len(all) {
		t.Errorf("%d meanings for %d kinds", len(meanings), len(all))
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 5, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc|d"}, {"ab cd", 4, "ab |cd"}, {"a b c d", 4, "a b |c d"},
		{"世界世界", 5, "世界|世界"}, {"xx longerword y", 6, "xx |longer|word y"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301|e\u0301"},
	} {
		if got := strings.Join(wrap(tt.text, tt.width), "|"); got != tt.want {
			t.Errorf("%q in %d: got %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// TestEscaper checks that a line has the same escapes in one piece and in several.
func TestEscaper(t *testing.T) {
	for _, pieces := range [][]string{
		{"e", "\u0301", "x"}, {"\u0301e"}, {"a\x1b", "\u0301", "[2J"}, {"न", "म", "स", "्", "त", "े"}, {"", "\n", "\u202e"},
	} {
		var e Escaper
		got := ""
		for _, piece := range pieces {
			got += e.Escape(piece)
		}
		if want := escape(strings.Join(pieces, ""), false); got != want || unsafe(got) {
			t.Errorf("%q: got %q, want %q", pieces, got, want)
		}
	}
}
