package tokenizer_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestAppendWithin: a text is given up only when it has more ids than are wanted; otherwise its ids are the same as
// from Append.
func TestAppendWithin(t *testing.T) {
	tok := o200k.Tokenizer()
	rng := rand.New(rand.NewPCG(1, 2))
	var e tokenizer.Encoder
	atoms := []string{"the ", "quick", " brown", "x", strings.Repeat("q", 40), "\n", "    ", "12345", "🏳️‍🌈", "世界",
		"<|start|>", "<|reserved_200013|>", "é", "\xff", "!!", strings.Repeat(" ", 200),
		strings.Repeat("ab", 700), "zqjxkvbp", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
	stopped := 0
	for range 200 {
		var text strings.Builder
		for range 1 + rng.IntN(60) {
			text.WriteString(strings.Repeat(atoms[rng.IntN(len(atoms))], 1+rng.IntN(3)*rng.IntN(40)))
		}
		for name, form := range map[string]struct {
			all    func(dst []uint32, t *tokenizer.Tokenizer, text string) []uint32
			within func(dst []uint32, t *tokenizer.Tokenizer, text string, limit int) ([]uint32, bool)
		}{"plain": {e.Append, e.AppendWithin}, "special": {e.AppendSpecial, e.AppendSpecialWithin}} {
			want := form.all(nil, tok, text.String())
			for _, limit := range []int{0, len(want) / 2, len(want) - 1, len(want), len(want) + 1} {
				got, ok := form.within([]uint32{7}, tok, text.String(), max(limit, 0))
				if ok != (len(want) <= max(limit, 0)) {
					t.Fatalf("%s: %d ids, no more than %d: %t", name, len(want), limit, ok)
				}
				if !ok {
					stopped++
				} else if !slices.Equal(got[1:], want) {
					t.Fatalf("%s: %d ids, want %d", name, len(got)-1, len(want))
				}
			}
		}
	}
	if stopped < 500 {
		t.Errorf("only %d texts were given up", stopped)
	}
}
