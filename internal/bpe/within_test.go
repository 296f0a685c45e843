package bpe

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestMergeWithin shows that a piece is given up only if it has more ids than the limit, soon after that many, and that
// otherwise all ids are the same as from Merge. The merges of this vocabulary reach back far.
func TestMergeWithin(t *testing.T) {
	v := build(t, testTokens())
	rng := rand.New(rand.NewPCG(3, 4))
	var e Encoder
	stopped := 0
	for _, alphabet := range []string{"ab", "a", "abc", "rstuvwxyz", "xyz", "aq", "ab\x00\xff"} {
		for range 60 {
			piece := string(randomPiece(rng, alphabet, windowSize+1+rng.IntN(6000)))
			want := e.Merge(nil, v, piece)
			for _, limit := range []int{0, 1, len(want) / 3, len(want) - exceedsAfter - 1, len(want) - 1, len(want),
				len(want) + 1, math.MaxInt} {
				limit = max(limit, 0)
				got, ok := e.MergeWithin([]uint32{7}, v, piece, limit)
				if !ok && len(want) <= limit {
					t.Fatalf("%.40q of %d bytes has %d ids: given up for more than %d", piece, len(piece), len(want), limit)
				}
				if !ok {
					stopped++
					if len(got)-exceedsAfter-2*windowSize > limit {
						t.Fatalf("%.40q: given up after %d ids, where %d are wanted", piece, len(got), limit)
					}
					continue
				}
				if !slices.Equal(got[1:], want) {
					t.Fatalf("%.40q: %d ids, want %d", piece, len(got)-1, len(want))
				}
				if len(want)-3*exceedsAfter-2*windowSize > limit {
					t.Fatalf("%.40q has %d ids, and was not given up for more than %d", piece, len(want), limit)
				}
			}
		}
	}
	if stopped < 1000 {
		t.Errorf("only %d pieces were given up", stopped)
	}
}

// TestExceeds shows that if exceeds reports too many ids, every continuation has too many.
func TestExceeds(t *testing.T) {
	v := build(t, testTokens())
	rng := rand.New(rand.NewPCG(5, 6))
	var e Encoder
	certain := 0
	for range 400 {
		head := string(randomPiece(rng, []string{"ab", "abc", "rstuvwxyz", "xyz"}[rng.IntN(4)], 600+rng.IntN(900)))
		ids := e.Merge(nil, v, head)
		for _, limit := range []int{len(ids) - 1, len(ids) - 4, len(ids) - 9} {
			if !e.exceeds(ids, v, head+strings.Repeat("a", 99), len(head), limit) {
				continue
			}
			certain++
			for range 8 {
				whole := head + string(randomPiece(rng, "abcrstuvwxyz", rng.IntN(60)))
				if n := len(e.Merge(nil, v, whole)); n <= limit {
					t.Fatalf("%q has %d ids, and the %d bytes before had more than %d for certain", whole, n, len(head), limit)
				}
			}
		}
	}
	if certain < 100 {
		t.Errorf("only %d were certain", certain)
	}
}

// TestFewest shows that no text has fewer ids than its lower bound.
func TestFewest(t *testing.T) {
	v := build(t, testTokens())
	f := NewFewest(v)
	rng := rand.New(rand.NewPCG(7, 8))
	var e Encoder
	for range 2000 {
		piece := string(randomPiece(rng, []string{"a", "ab", "abcxyz\x00", "q"}[rng.IntN(4)], 1+rng.IntN(9000)))
		n := len(e.Append(nil, v, piece))
		if f.Exceeds(piece, n) {
			t.Fatalf("%.40q of %d bytes has %d ids, and is said to have more", piece, len(piece), n)
		}
	}
	if digits := strings.Repeat("1", 5000); !f.Exceeds(digits, 4999) || f.Exceeds(digits, 5000) {
		t.Error("bytes that are in no longer token count for one id each")
	}
}
