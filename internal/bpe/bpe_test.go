package bpe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// testTokens returns a small vocabulary with difficult cases for merging: long runs, chains of pairs whose ranks fall
// from left to right, tokens that can be made in two ways, and one (the last) that no merge can make.
func testTokens() [][]byte {
	var tokens [][]byte
	for b := range 256 {
		tokens = append(tokens, []byte{byte(255 - b)})
	}
	for _, s := range []string{
		"yz", "xy", "wx", "vw", "uv", "tu", "st", "rs", "ab", "ba", "aa", "aaaa", "aaaaaaaa", "abab", "bab", "aba", "aab",
		"ababab",
		"xyz", "wxyz", "uvw", "stu", "zz", "zzz", "zzzz", "abc", "bc", "ca", "cab", "abcabc", "xyxy", "zxy", "qqqq",
	} {
		tokens = append(tokens, []byte(s))
	}
	return tokens
}

func build(t testing.TB, tokens [][]byte) *Vocabulary {
	t.Helper()
	v, err := Open(buildTable(t, tokens))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func buildTable(t testing.TB, tokens [][]byte) []byte {
	t.Helper()
	table, err := Build(join(tokens))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func join(tokens [][]byte) (blob []byte, ends, sorted []uint32) {
	for id, token := range tokens {
		blob = append(blob, token...)
		ends = append(ends, uint32(len(blob)))
		sorted = append(sorted, uint32(id))
	}
	slices.SortStableFunc(sorted, func(a, b uint32) int { return bytes.Compare(tokens[a], tokens[b]) })
	return blob, ends, sorted
}

// reference is the rule as it is defined: the whole piece if it is a token, else merge the pair of the lowest rank
// until there is none.
func reference(ranks map[string]uint32, piece []byte) []uint32 {
	if id, ok := ranks[string(piece)]; ok {
		return []uint32{id}
	}
	text := string(piece)
	var begins []int // where the parts begin, and the end
	for i := range len(text) + 1 {
		begins = append(begins, i)
	}
	for {
		at, lowest := -1, uint32(0)
		for i := 0; i+2 < len(begins); i++ {
			if r, ok := ranks[text[begins[i]:begins[i+2]]]; ok && (at < 0 || r < lowest) {
				at, lowest = i, r
			}
		}
		if at < 0 {
			break
		}
		begins = slices.Delete(begins, at+1, at+2)
	}
	var ids []uint32
	for i := 0; i+1 < len(begins); i++ {
		ids = append(ids, ranks[text[begins[i]:begins[i+1]]])
	}
	return ids
}

func rankMap(tokens [][]byte) map[string]uint32 {
	ranks := map[string]uint32{}
	for id, token := range tokens {
		ranks[string(token)] = uint32(id)
	}
	return ranks
}

func TestMergeFormsAgree(t *testing.T) {
	tokens := testTokens()
	v, ranks := build(t, tokens), rankMap(tokens)
	rng := rand.New(rand.NewPCG(1, 1))
	var e Encoder
	check := func(piece []byte) {
		t.Helper()
		want := reference(ranks, piece)
		if got := e.Append([]uint32{9}, v, string(piece)); !slices.Equal(got[1:], want) || got[0] != 9 {
			t.Fatalf("%q: %d ids, want %d", piece, len(got)-1, len(want))
		}
		if n := e.Count(v, string(piece)); n != len(want) {
			t.Fatalf("%q: count %d, want %d", piece, n, len(want))
		}
	}
	for _, alphabet := range []string{"ab", "abc", "xyz", "zzzzzzzzzzzzy", "stuvwxyz", "a", "zq", "abcqrstuvwxyz\xff"} {
		for n := 0; n < 90; n++ {
			check(randomPiece(rng, alphabet, n))
		}
		for _, n := range []int{511, 512, 513, 700, 1100} {
			check(randomPiece(rng, alphabet, n))
		}
	}
	for _, run := range []string{"a", "zz", "ab", "q", "\xff"} { // runs that end, or are broken, anywhere
		for _, n := range []int{1090, 1091} {
			piece := bytes.Repeat([]byte(run), n/len(run))
			check(append(piece, randomPiece(rng, "abyz", rng.IntN(20))...))
			check(append(randomPiece(rng, "abyz", rng.IntN(20)), piece...))
			piece[rng.IntN(len(piece))] = 'b'
			check(piece)
		}
	}
	// The last pair of this chain takes its first byte from the pair before, and so on back to the beginning.
	chain := bytes.Repeat([]byte("rstuvwxyz"), 150)
	for n := range 3 {
		check(chain[n : len(chain)-n])
	}
}

// TestWindowsReachBack forces windows to begin further back: in this vocabulary one byte at the end decides about a
// thousand bytes before it.
func TestWindowsReachBack(t *testing.T) {
	tokens := testTokens()[:256]
	rng := rand.New(rand.NewPCG(2, 2))
	// Every two-byte string gets a token. The worst case is a path through them whose ranks fall all the way.
	order := rng.Perm(65536)
	for _, k := range order[:30000] {
		tokens = append(tokens, []byte{byte(k >> 8), byte(k)})
	}
	v, ranks := build(t, tokens), rankMap(tokens)
	var e Encoder
	for range 5 {
		piece := []byte{byte(rng.IntN(256))}
		last := uint32(1 << 30)
		for len(piece) < 700 { // the next byte gives the highest rank below the last
			best, with := uint32(0), byte(0)
			for b := range 256 {
				if r, ok := ranks[string([]byte{piece[len(piece)-1], byte(b)})]; ok && r < last && r > best {
					best, with = r, byte(b)
				}
			}
			if best == 0 {
				last, with = 1<<30, byte(rng.IntN(256))
			} else {
				last = best
			}
			piece = append(piece, with)
		}
		for cut := range 3 {
			if got, want := e.Append(nil, v, string(piece[cut:])), reference(ranks, piece[cut:]); !slices.Equal(got, want) {
				t.Fatalf("%d ids, want %d", len(got), len(want))
			}
		}
	}
}

func randomPiece(rng *rand.Rand, alphabet string, n int) []byte {
	piece := make([]byte, n)
	for i := range piece {
		piece[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return piece
}

// TestBytes: every token has its bytes, long ones and parts of long ones too.
func TestBytes(t *testing.T) {
	tokens := testTokens()
	for _, s := range []string{"rstuvwxyzrstuvw", "rstuvwxyzrstuvwx", "qrstuvwxyzrstuvwxy", strings.Repeat("a", maxToken)} {
		tokens = append(tokens, []byte(s))
	}
	v := build(t, tokens)
	for id, token := range tokens {
		if got, ok := v.Bytes(uint32(id)); !ok || !bytes.Equal(got, token) {
			t.Errorf("id %d: %q, %t; want %q", id, got, ok, token)
		}
		if got, ok := v.Lookup(string(token)); !ok || got != uint32(id) {
			t.Errorf("%q: id %d, %t; want %d", token, got, ok, id)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	valid := testTokens()
	rng := rand.New(rand.NewPCG(4, 4))
	tooMuch := slices.Clone(valid)
	for range maxBlob / maxToken {
		tooMuch = append(tooMuch, randomPiece(rng, "abcdefgh", maxToken))
	}
	for name, tokens := range map[string][][]byte{
		"none":         nil,
		"two alike":    append(slices.Clone(valid), []byte("ab")),
		"long alike":   append(slices.Clone(valid), []byte("abcabc")),
		"empty":        append(slices.Clone(valid), nil),
		"too long":     append(slices.Clone(valid), make([]byte, 256)),
		"byte missing": valid[1:],
		"too much":     tooMuch,
	} {
		if _, err := Build(join(tokens)); !errors.Is(err, ErrTable) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	blob, ends, sorted := join(valid)
	sorted[8], sorted[9] = sorted[9], sorted[8]
	if _, err := Build(blob, ends, sorted); !errors.Is(err, ErrTable) {
		t.Errorf("not sorted: error %v", err)
	}
	blob, ends, sorted = join(valid)
	ends[3] = 1 << 30
	if _, err := Build(blob, ends, sorted); !errors.Is(err, ErrTable) {
		t.Errorf("ends out of order: error %v", err)
	}
}

// TestDamage changes the table everywhere. Wrong answers are allowed; a panic is not, because it would end a wasm host.
func TestDamage(t *testing.T) {
	table := buildTable(t, testTokens())
	rng := rand.New(rand.NewPCG(3, 3))
	use := func(v *Vocabulary) {
		var e Encoder
		for _, s := range []string{"ababab", "xyzxyz", "qqqq", "stuvwxyzz", "\xff\x00", ""} {
			e.Append(nil, v, s)
			e.Count(v, strings.Repeat(s, 200))
		}
		for id := uint32(0); id < 300; id++ {
			v.Bytes(id)
		}
	}
	content := len(bytes.TrimRight(table, "\x00")) // without the padding
	damaged := bytes.Clone(table)
	for range 1000 {
		copy(damaged[:content], table)
		for n := 1 + rng.IntN(40); n > 0; n-- {
			at := rng.IntN(content)
			if rng.IntN(2) == 0 { // spare the header half of the time
				at = headerSize + rng.IntN(content-headerSize)
			}
			damaged[at] = byte(rng.IntN(256))
		}
		for at := headerSize; rng.IntN(4) != 0 && at+4 <= content; at += rng.IntN(400) { // mostly cells
			binary.NativeEndian.AppendUint32(damaged[:at], rng.Uint32()>>rng.IntN(16))
		}
		if v, err := Open(damaged); err == nil {
			use(v)
		}
	}
	for n := range len(table) {
		if n > 4096 && n%997 != 0 && n < len(table)-64 {
			continue
		}
		if _, err := Open(table[:n]); !errors.Is(err, ErrTable) {
			t.Fatalf("cut at %d: error %v", n, err)
		}
	}
}
