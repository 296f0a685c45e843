package structure_test

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure/structuretest"
)

// plain reads a whole text in the simplest way. It is the twin of the adapters: what they make of a text must be equal.
type plain struct {
	structuretest.Result
	whole bool
}

func (p *plain) add(channel, text string) {
	if text == "" {
		return
	}
	header := harmony.Header{Role: harmony.Assistant, Channel: channel}
	p.Messages = append(p.Messages, structuretest.Message{Header: header, Text: text, End: harmony.EndedByEnd})
}

// finish ends the newest message. open reports whether its end has not come before.
func (p *plain) finish(open bool) structuretest.Result {
	if n := len(p.Messages); open && n > 0 {
		p.Messages[n-1].End = harmony.Cut
		if p.whole {
			p.Messages[n-1].End = harmony.EndedByReturn
		}
	}
	return p.Result
}

// cutSpace returns s without its space, if that may lead to a mark.
func cutSpace(s string) string {
	if t := strings.TrimLeft(s, " \t\n\v\f\r"); len(s)-len(t) <= 256 {
		return t
	}
	return s
}

func plainChat(text, tags string, whole bool) structuretest.Result {
	p := &plain{whole: whole}
	if tags == contract.ThinkOff {
		p.add(harmony.Final, text)
		return p.finish(true)
	}
	inside, answered, untagged := tags == contract.ThinkOpened, false, tags == contract.ThinkOpened
	if inside {
		if rest, ok := strings.CutPrefix(cutSpace(text), "<think>"); ok {
			text, untagged = rest, false
		} else if text == "" {
			return p.Result
		}
	}
	begun := false // a message is open
	for {
		switch {
		case inside:
			reasoning, rest, ok := strings.Cut(text, "</think>")
			p.add(harmony.Analysis, reasoning)
			if !ok {
				if whole {
					p.Recoveries[harmony.MissingMark]++
					if untagged {
						p.add(harmony.Final, reasoning)
					}
				}
				return p.finish(reasoning != "")
			}
			text, inside, begun, untagged = rest, false, false, false
		case !answered:
			if rest, ok := strings.CutPrefix(cutSpace(text), "<think>"); ok {
				text, inside = rest, true
				continue
			}
			answered = true
		default:
			if tags != contract.ThinkAnywhere {
				p.add(harmony.Final, text)
				return p.finish(text != "" || begun)
			}
			answer, rest, ok := strings.Cut(text, "<think>")
			p.add(harmony.Final, answer)
			if !ok {
				return p.finish(answer != "")
			}
			text, inside = rest, true
		}
	}
}

func plainMarker(text, marker string, whole bool) structuretest.Result {
	p := &plain{whole: whole}
	if rest, ok := strings.CutPrefix(cutSpace(text), marker); ok {
		p.add(harmony.Final, rest)
		return p.finish(true)
	}
	reasoning, answer, ok := strings.Cut(text, marker)
	p.add(harmony.Analysis, reasoning)
	p.add(harmony.Final, answer)
	if !ok && whole && reasoning != "" {
		p.Recoveries[harmony.MissingMark]++
		p.add(harmony.Final, reasoning)
	}
	return p.finish(!ok || answer != "")
}

var (
	allTags = []string{contract.ThinkLeading, contract.ThinkAnywhere, contract.ThinkOpened, contract.ThinkOff}
	markers = []string{"===FINAL===", "aab", "<", "<think>", "x  y", "éé"}
)

// checkPlain compares the adapters with their twins, at every cut.
func checkPlain(t *testing.T, text string, whole bool) {
	t.Helper()
	for _, tags := range allTags {
		got := structuretest.Read(t, structure.NewChat, structure.Options{ThinkTags: tags}, text, whole)
		same(t, text+" with think tags "+tags, got, plainChat(text, tags, whole))
	}
	for _, marker := range markers {
		got := structuretest.Read(t, structure.NewMarker, structure.Options{Marker: marker}, text, whole)
		same(t, text+" with marker "+marker, got, plainMarker(text, marker, whole))
	}
}

func same(t *testing.T, what string, got, want structuretest.Result) {
	t.Helper()
	if !slices.Equal(got.Messages, want.Messages) || got.Recoveries != want.Recoveries {
		t.Fatalf("%q\n got %s\nwant %s", what, got, want)
	}
}

var pieces = []string{"<think>", "</think>", "<thi", "nk>", "</", "<", " ", "\n", "a", "b", "é", "=", "===", "FINAL",
	"===FINAL===", "aab", "x  y", "éé"}

func randomText(random *rand.Rand, most int) string {
	var text strings.Builder
	for range random.Intn(most) {
		text.WriteString(pieces[random.Intn(len(pieces))])
	}
	return text.String()
}

// texts is how many random texts a test makes.
func texts() int {
	if testing.Short() {
		return 200
	}
	return 2000
}

func TestLikePlain(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range texts() {
		checkPlain(t, randomText(random, 14), random.Intn(2) == 0)
	}
	space := strings.Repeat(" ", 256)
	for _, text := range []string{space + "<think>a", space + " <think>a", "<think>a</think>" + space + "<think>b",
		"<think>a</think>" + space + " <think>b", space + "===FINAL===a", space + " ===FINAL===a"} {
		checkPlain(t, text, true)
	}
}

// TestBreaksLoseNothing: wherever a message comes beside the text, and whatever follows, all text is in a message but
// for tags and the space before them.
func TestBreaksLoseNothing(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	letters := func(r rune) rune { // those that no tag has
		if strings.ContainsRune("<think/> \n\x00", r) {
			return -1
		}
		return r
	}
	for range texts() {
		text := ""
		for range 1 + random.Intn(4) {
			text += randomText(random, 6) + brk
		}
		for _, tags := range allTags {
			got := structuretest.Read(t, structure.NewAuto, structure.Options{ThinkTags: tags}, text, false)
			all := ""
			for _, m := range got.Messages {
				all += m.Text
			}
			if strings.Map(letters, all) != strings.Map(letters, text) {
				t.Fatalf("%s: %q became %q", tags, text, all)
			}
		}
	}
}

// FuzzAdapters: any text, in every form, at every cut.
func FuzzAdapters(f *testing.F) {
	for _, seed := range []string{"<think>Hm</think>Hi", " <think></think>\n<think>a", "Hm===FINAL===Hi", "aaaab",
		"analysisWe<think>", "<|channel|>final<|message|>\xff", "assistant to=functions.f json{}", "</thi\xf0\x9f</think>é"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, whole bool) {
		if len(text) > 150 {
			return
		}
		o := structure.Options{ThinkTags: contract.ThinkLeading, Fallback: harmony.Fallback{
			To: harmony.FallBackToFinal, MinTokens: 2,
		}}
		auto := structuretest.Read(t, structure.NewAuto, o, text, whole)
		chat := structuretest.Read(t, structure.NewChat, o, text, whole)
		spoken := structuretest.Read(t, structure.NewHarmony, o, text, whole)
		o.Marker = "aab"
		structuretest.Read(t, structure.NewHarmony, o, text, whole)
		trimmed := structuretest.Read(t, structure.NewHarmony, structure.Options{}, cutSpace(text), whole)
		if !slices.Equal(auto.Messages, chat.Messages) && !slices.Equal(auto.Messages, spoken.Messages) &&
			!slices.Equal(auto.Messages, trimmed.Messages) {
			t.Fatalf("%q: auto has %s, chat %s, Harmony %s", text, auto, chat, spoken)
		}
		if utf8.ValidString(text) && !strings.Contains(text, brk) {
			checkPlain(t, text, whole)
		}
	})
}
