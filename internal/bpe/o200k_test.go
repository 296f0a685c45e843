package bpe_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/bpe"
)

func open(t testing.TB) *bpe.Vocabulary {
	t.Helper()
	v, err := bpe.Open(o200k.Table())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLookup shows that every token is found, and that strings that differ from a token in one byte are found only if
// they are tokens too.
func TestLookup(t *testing.T) {
	v := open(t)
	if v.Len() != 199998 {
		t.Fatalf("%d tokens", v.Len())
	}
	tokens := map[string]uint32{}
	for id := range uint32(v.Len()) {
		b, ok := v.Bytes(id)
		if !ok {
			t.Fatalf("id %d has no bytes", id)
		}
		tokens[string(b)] = id
	}
	if len(tokens) != v.Len() {
		t.Fatalf("%d different tokens of %d", len(tokens), v.Len())
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for token, id := range tokens {
		b := []byte(token)
		if got, ok := v.Lookup(string(b)); !ok || got != id {
			t.Fatalf("%q: id %d %v, want %d", token, got, ok, id)
		}
		if testing.Short() && id%16 != 0 {
			continue
		}
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		for _, near := range [][]byte{b, append(b, token...), b[:len(b)/2], append([]byte(token), 'x')} {
			want, known := tokens[string(near)]
			if got, ok := v.Lookup(string(near)); ok != known || known && got != want {
				t.Fatalf("%q: id %d %v, want %d %v", near, got, ok, want, known)
			}
		}
	}
	for _, id := range []uint32{199998, 200006, 1 << 20, 1<<32 - 1} {
		if _, ok := v.Bytes(id); ok {
			t.Errorf("id %d has bytes", id)
		}
	}
	if _, ok := v.Lookup(""); ok {
		t.Error("the empty piece is a token")
	}
}

// naive merges by the rule, with Lookup alone.
func naive(v *bpe.Vocabulary, piece []byte) []uint32 {
	if id, ok := v.Lookup(string(piece)); ok {
		return []uint32{id}
	}
	ends := make([]int, len(piece)+1) // part i is piece[ends[i]:ends[i+1]]
	for i := range ends {
		ends[i] = i
	}
	for {
		at, lowest := -1, uint32(1<<31)
		for i := 0; i+2 < len(ends); i++ {
			if id, ok := v.Lookup(string(piece[ends[i]:ends[i+2]])); ok && id < lowest {
				at, lowest = i, id
			}
		}
		if at < 0 {
			break
		}
		ends = slices.Delete(ends, at+1, at+2)
	}
	var ids []uint32
	for i := 0; i+1 < len(ends); i++ {
		id, _ := v.Lookup(string(piece[ends[i]:ends[i+1]]))
		ids = append(ids, id)
	}
	return ids
}

func checkMerge(t *testing.T, e *bpe.Encoder, v *bpe.Vocabulary, piece []byte) {
	t.Helper()
	want := naive(v, piece)
	if got := e.Append(nil, v, string(piece)); !slices.Equal(got, want) {
		t.Fatalf("%q: %v, want %v", piece, got, want)
	}
	if n := e.Count(v, string(piece)); n != len(want) {
		t.Fatalf("%q: count %d, want %d", piece, n, len(want))
	}
}

func TestMergeO200k(t *testing.T) {
	v := open(t)
	rng := rand.New(rand.NewPCG(3, 4))
	var e bpe.Encoder
	for range 1000 { // made of tokens and of parts of tokens
		var piece []byte
		for want := 1 + rng.IntN(1+rng.IntN(150)); len(piece) < want; {
			b, _ := v.Bytes(uint32(rng.IntN(v.Len()) >> rng.IntN(12)))
			piece = append(piece, b[rng.IntN(len(b)):]...)
		}
		checkMerge(t, &e, v, piece)
	}
	for _, unit := range []string{"a", " ", "ab", "中", "\xe4\xb8", "=", "the", "\n\n\r", "aaaab", "\xd0\xbe\xd0"} {
		checkMerge(t, &e, v, bytes.Repeat([]byte(unit), 900/len(unit)))
	}
	long := make([]byte, 1200)
	for i := range long {
		long[i] = "abeinorst"[rng.IntN(9)]
	}
	checkMerge(t, &e, v, long)
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("internationalisation"), 1)
	f.Add([]byte("aaab"), 300)
	f.Add([]byte("\xe4\xb8\xad\xff\x00"), 50)
	v := open(f)
	f.Fuzz(func(t *testing.T, unit []byte, times int) {
		if times < 1 || len(unit)*times > 1500 {
			return
		}
		var e bpe.Encoder
		checkMerge(t, &e, v, bytes.Repeat(unit, times))
	})
}

// BenchmarkMerge shows the cost of pieces that are not tokens. Compare with
//
//	go test -run '^$' -bench Merge -count 10 ./internal/bpe | tee new.txt; benchstat old.txt new.txt
func BenchmarkMerge(b *testing.B) {
	v := open(b)
	for _, size := range []int{8, 16, 32, 64, 128, 512, 4096} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(5, 6))
			pieces := make([]string, 64)
			for i := range pieces {
				for len(pieces[i]) < size {
					token, _ := v.Bytes(uint32(rng.IntN(20000)))
					pieces[i] += string(token)
				}
				pieces[i] = pieces[i][:size]
			}
			var e bpe.Encoder
			var ids []uint32
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				ids = e.Append(ids[:0], v, pieces[i%len(pieces)])
			}
		})
	}
	b.Run("spaces and line ends", func(b *testing.B) {
		rng := rand.New(rand.NewPCG(7, 8))
		var piece strings.Builder
		for piece.Len() < 64<<10 {
			piece.WriteString(strings.Repeat(" ", rng.IntN(9)) + "\n")
		}
		var e bpe.Encoder
		var ids []uint32
		b.SetBytes(int64(piece.Len()))
		for b.Loop() {
			ids = e.Append(ids[:0], v, piece.String())
		}
	})
}

// TestMergeBrokenRuns has what takes fewest tokens for its length: runs of spaces and marks, broken by others. Their
// tokens are found without merging each byte (leap.go).
func TestMergeBrokenRuns(t *testing.T) {
	v := open(t)
	rng := rand.New(rand.NewPCG(11, 12))
	units := []string{" ", "-", "=", "#", ".", "*", "_", "/", "\t", "\u3000", "\u00a0", "—", "…", "─", "□"}
	var e bpe.Encoder
	for range 250 {
		var piece []byte
		few := []string{units[rng.IntN(len(units))], units[rng.IntN(len(units))], "+", "\n", "\r\n", " \n"}
		for want, width := 20+rng.IntN(500), 1+rng.IntN(200); len(piece) < want; {
			if rng.IntN(3) == 0 {
				width = 1 + rng.IntN(300)
			}
			unit := few[rng.IntN(2)]
			piece = append(piece, strings.Repeat(unit, 1+width/len(unit))...)
			if rng.IntN(4) > 0 {
				piece = append(piece, few[rng.IntN(len(few))]...)
			}
		}
		checkMerge(t, &e, v, piece)
	}
}
