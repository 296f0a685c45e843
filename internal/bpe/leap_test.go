package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// runTokens returns a vocabulary of runs: all single bytes, then runs of a, b and c of random lengths, and joints of
// two runs. Many cannot be merged from their bytes, or only out of the order of their ids.
func runTokens(rng *rand.Rand) [][]byte {
	seen := map[string]bool{}
	var tokens [][]byte
	add := func(token string) {
		if !seen[token] && len(token) <= 100 {
			seen[token] = true
			tokens = append(tokens, []byte(token))
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	run := func() string { return strings.Repeat(string("abc"[rng.IntN(3)]), 1+rng.IntN(1+rng.IntN(60))) }
	if rng.IntN(2) == 0 {
		for n := 2; n <= 64; n *= 2 {
			for _, unit := range "abc" {
				add(strings.Repeat(string(unit), n))
			}
		}
	}
	for range 20 + rng.IntN(100) {
		if rng.IntN(4) == 0 {
			add(run() + run())
		} else {
			add(run())
		}
	}
	return tokens
}

// trainedTokens returns a vocabulary that is trained on broken runs as real ones are on text: each token joins the pair
// of tokens that is most frequent.
func trainedTokens(rng *rand.Rand) [][]byte {
	var tokens [][]byte
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
	}
	var parts []string
	for _, b := range []byte(brokenRuns(rng, []string{"a", "b", "c"}, 70, 3000)) {
		parts = append(parts, string([]byte{b}))
	}
	for range 60 {
		counts := map[[2]string]int{}
		var best [2]string
		for i := range len(parts) - 1 {
			pair := [2]string{parts[i], parts[i+1]}
			counts[pair]++
			if more := counts[pair] - counts[best]; more > 0 || more == 0 && pair[0]+pair[1] < best[0]+best[1] {
				best = pair
			}
		}
		joined := best[0] + best[1]
		if len(joined) > 100 || slices.ContainsFunc(tokens, func(b []byte) bool { return string(b) == joined }) {
			break
		}
		tokens = append(tokens, []byte(joined))
		for i := 0; i+1 < len(parts); i++ {
			if parts[i] == best[0] && parts[i+1] == best[1] {
				parts[i] = joined
				parts = slices.Delete(parts, i+1, i+2)
			}
		}
	}
	return tokens
}

// brokenRuns returns runs of the letters of an alphabet, each up to so long.
func brokenRuns(rng *rand.Rand, alphabet []string, longest, size int) string {
	var text strings.Builder
	width := 1 + rng.IntN(longest)
	for text.Len() < size {
		if rng.IntN(3) == 0 {
			width = 1 + rng.IntN(longest)
		}
		text.WriteString(strings.Repeat(alphabet[rng.IntN(len(alphabet))], width))
		if rng.IntN(2) == 0 {
			text.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
	}
	return text.String()
}

// TestLeap shows that leaping gives what merging all bytes gives, whatever the vocabulary.
func TestLeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	leapt := 0
	for i := range 60 {
		tokens := runTokens(rng)
		if i%2 == 0 {
			tokens = trainedTokens(rng)
		}
		v := build(t, tokens)
		var e, plain Encoder
		for range 60 {
			piece := brokenRuns(rng, []string{"a", "b", "c", "d", "ab"}, 1+rng.IntN(200), leapMin+rng.IntN(2000))
			want := plain.mergeStretch(nil, v, piece)
			if got := e.merge(nil, v, piece); !slices.Equal(got, want) {
				t.Fatalf("%q: got %v, want %v", piece, got, want)
			}
			got, done := e.leap(nil, v, 0, piece, 0, len(piece))
			if done == len(piece) {
				leapt++
			}
			if want = plain.mergeStretch(nil, v, piece[:done]); !slices.Equal(got, want) {
				t.Fatalf("%d bytes of %q: got %v, want %v", done, piece, got, want)
			}
		}
	}
	if leapt < 500 {
		t.Errorf("only %d pieces were leapt to their ends", leapt)
	}
}
