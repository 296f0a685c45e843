package structure

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// sizes counts what a sink receives. last is the newest message if it is an answer.
type sizes struct {
	opened, contents, bytes int
	answer                  bool
	last                    strings.Builder
}

func (s *sizes) Open(h harmony.Header) {
	s.opened++
	s.answer = h.Channel == harmony.Final
	s.last.Reset()
}

func (s *sizes) Content(text []byte, _ int) {
	s.contents++
	s.bytes += len(text)
	if s.answer {
		s.last.Write(text)
	}
}

func (*sizes) Close(harmony.End) {}

// TestRepeatedIsBounded: of reasoning that nothing ends, a known amount is kept and repeated, from the beginning of a
// line on.
func TestRepeatedIsBounded(t *testing.T) {
	kept := map[string]func(Adapter) *repeated{
		contract.SpeaksMarker:  func(a Adapter) *repeated { return &a.(*marker).unmatched },
		contract.SpeaksChat:    func(a Adapter) *repeated { return &a.(*chat).unmatched },
		contract.SpeaksHarmony: func(a Adapter) *repeated { return &a.(*Harmony).sink.unmatched },
	}
	for name, of := range kept {
		for _, piece := range []int{1, 256, 3 << 20} {
			t.Run(fmt.Sprintf("%s in pieces of %d", name, piece), func(t *testing.T) {
				create, _ := Named(name, nil)
				var s sizes
				a := create(&s, Options{Marker: "##", ThinkTags: contract.ThinkOpened,
					Fallback: harmony.Fallback{To: harmony.FallBackToFinal}})
				text := []byte("We é.\n" + strings.Repeat("Hm, 世界.\n", 20_000))
				for rest := text; len(rest) > 0; {
					n := min(piece, len(rest))
					a.Write(rest[:n], 0)
					rest = rest[n:]
					if c := cap(of(a).kept); c > 3*maxRepeated {
						t.Fatalf("%d bytes are kept", c)
					}
				}
				a.Finish(true)
				got := s.last.String()
				if s.opened != 2 || len(got) > maxRepeated || len(got) < maxRepeated-20 || !strings.HasPrefix(got, "Hm, 世界.\n") ||
					!bytes.HasSuffix(text, []byte(got)) {
					t.Errorf("%d messages, %d bytes, %.20q", s.opened, len(got), got)
				}
			})
		}
	}
}

// TestRepeatedRunes: a text without lines that is too long begins with a whole rune.
func TestRepeatedRunes(t *testing.T) {
	for shift := range 4 {
		var r repeated
		r.add([]byte(strings.Repeat("x", shift) + strings.Repeat("😀", maxRepeated/4)))
		if got := r.text(); len(got) > maxRepeated || len(got) < maxRepeated-4 || !bytes.HasPrefix(got, []byte("😀")) {
			t.Errorf("shift %d: %d bytes, %q", shift, len(got), got[:4])
		}
	}
}

// TestRudest: the text that costs an adapter the most costs it no more than a few events for each mark, and holds back
// nothing that grows.
func TestRudest(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	for name, text := range map[string]string{
		"tags":             "x" + strings.Repeat("<think></think>", n),
		"tags with text":   "x" + strings.Repeat("<think>a</think>b", n),
		"beginnings":       "x" + strings.Repeat("<", 8*n),
		"long beginnings":  "x" + strings.Repeat("<think", n),
		"space":            strings.Repeat(" ", 8*n),
		"leading tags":     strings.Repeat(" <think>a</think>", n),
		"words of Harmony": strings.Repeat("assistant", n),
		"control tokens":   strings.Repeat("<|channel|>", n),
		"parted headers":   strings.Repeat("<|channel|>final<|message|>a", n),
		"not UTF-8":        strings.Repeat("\xf0\x9f", 4*n),
	} {
		for _, o := range []Options{{ThinkTags: contract.ThinkAnywhere}, {ThinkTags: contract.ThinkLeading},
			{ThinkTags: contract.ThinkOpened, Marker: "<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<x"}} {
			for _, speaks := range []string{contract.SpeaksAuto, contract.SpeaksChat, contract.SpeaksMarker} {
				create, _ := Named(speaks, nil)
				for _, piece := range []int{7, 256} {
					var s sizes
					a := create(&s, o)
					for rest := text; rest != ""; {
						k := min(piece, len(rest))
						a.Write([]byte(rest[:k]), 0)
						rest = rest[k:]
					}
					a.Finish(true)
					if most := len(text)/3 + len(text)/piece + 10; s.contents > most {
						t.Errorf("%s as %s in pieces of %d: %d events for %d bytes", name, speaks, piece, s.contents, len(text))
					}
				}
			}
		}
	}
}

// TestWriteAllocatesNothing: text inside a message costs no memory.
func TestWriteAllocatesNothing(t *testing.T) {
	for name, o := range map[string]Options{
		"leading": {ThinkTags: contract.ThinkLeading}, "anywhere": {ThinkTags: contract.ThinkAnywhere},
		"opened": {ThinkTags: contract.ThinkOpened}, "marker": {Marker: "##"},
	} {
		create := NewAuto
		if o.Marker != "" {
			create = NewMarker
		}
		a := create(&sizes{}, o)
		text := []byte(" is <b>4</b>, é.")
		for range 4 * maxRepeated / len(text) { // until what is kept grows no more
			a.Write(text, 0)
		}
		if n := testing.AllocsPerRun(1000, func() { a.Write(text, 0) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	text := []byte(" is <b>4</b>, and 世界 is a word of more than one token, as this one.")
	for _, speaks := range []string{contract.SpeaksChat, contract.SpeaksMarker, contract.SpeaksHarmony} {
		for _, tags := range []string{contract.ThinkLeading, contract.ThinkAnywhere} {
			b.Run(speaks+" "+tags, func(b *testing.B) {
				create, _ := Named(speaks, nil)
				a := create(&sizes{}, Options{ThinkTags: tags})
				a.Write([]byte("x"), 0)
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					a.Write(text, 0)
				}
			})
		}
	}
}

// TestPiecesStayWhole: what was held back comes in one event with the text that shows what it is.
func TestPiecesStayWhole(t *testing.T) {
	for _, tt := range []struct {
		speaks string
		pieces []string
		want   int
	}{
		{contract.SpeaksChat, []string{"\n\n", "Hi"}, 1},
		{contract.SpeaksChat, []string{"<think>Hm</think>", "\n\n", "Hi"}, 2},
		{contract.SpeaksChat, []string{"<thi", "s is it"}, 1},
		{contract.SpeaksMarker, []string{"\n", "Hm"}, 1},
	} {
		create, _ := Named(tt.speaks, nil)
		var s sizes
		a := create(&s, Options{ThinkTags: contract.ThinkLeading})
		for _, piece := range tt.pieces {
			a.Write([]byte(piece), 0)
		}
		if s.contents != tt.want {
			t.Errorf("%s: %q gives %d events", tt.speaks, tt.pieces, s.contents)
		}
	}
}
