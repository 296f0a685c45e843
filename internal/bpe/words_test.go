package bpe

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAppendPart shows that a piece has the same ids wherever it lies in a text, whatever was encoded before. Zero bytes
// at a piece's end are bytes like all others.
func TestAppendPart(t *testing.T) {
	tokens := append(testTokens(), []byte("ab\x00"), []byte("\x00\x00"), []byte("abcabcab"))
	v, ranks := build(t, tokens), rankMap(tokens)
	rng := rand.New(rand.NewPCG(9, 10))
	var e Encoder
	for range 2000 {
		text := string(randomPiece(rng, "abcxyz\x00", 1+rng.IntN(30)))
		for range 20 {
			from := rng.IntN(len(text) + 1)
			to := from + rng.IntN(min(len(text)-from, 18)+1)
			want := reference(ranks, []byte(text[from:to]))
			if got := e.AppendPart([]uint32{9}, v, text, from, to); !slices.Equal(got[1:], want) || got[0] != 9 {
				t.Fatalf("%q: %v, want %v", text[from:to], got[1:], want)
			}
		}
	}
}
