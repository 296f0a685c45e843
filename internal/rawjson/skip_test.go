package rawjson

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// randomJSON appends a random value whose strings contain everything that could be mistaken for their end.
func randomJSON(rng *rand.Rand, dst []byte, depth int) []byte {
	space := func() {
		dst = append(dst, strings.Repeat(" \n\t", rng.IntN(2)*rng.IntN(4))...)
	}
	text := func() {
		dst = append(dst, '"')
		for range rng.IntN(12) {
			dst = append(dst, []string{`\"`, `\\`, "[", "]", "{", "}", ",", "é", "世界", "a", "long enough for eight", `\u00e9`,
				" ", ";", "\x7f", "!"}[rng.IntN(16)]...)
		}
		dst = append(dst, '"')
	}
	kind := rng.IntN(6)
	if depth == 0 {
		kind = rng.IntN(4)
	}
	switch kind {
	case 0:
		return append(dst, []string{"true", "false", "null"}[rng.IntN(3)]...)
	case 1:
		return append(dst, []string{"0", "-1.5e+10", "12345678901234567890"}[rng.IntN(3)]...)
	case 2, 3:
		text()
		return dst
	}
	dst = append(dst, "[{"[kind-4])
	for i := range rng.IntN(5) {
		if i > 0 {
			dst = append(dst, ',')
		}
		space()
		if kind == 5 {
			text()
			space()
			dst = append(dst, ':')
			space()
		}
		dst = randomJSON(rng, dst, depth-1)
		space()
	}
	return append(dst, "]}"[kind-4])
}

// TestSkip shows that [Skip] returns the same end of a value as the reader.
func TestSkip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		head := strings.Repeat("x", rng.IntN(9))
		data := randomJSON(rng, []byte(head), 4)
		if err := Validate(data[len(head):], MaxDepth); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		end := len(data)
		data = append(data, []string{"", ",1", "]", "}  ", " "}[rng.IntN(5)]...)
		r := reader{data: data, pos: len(head)}
		r.value()
		if got := Skip(data, len(head)); got != end || r.pos != end {
			t.Fatalf("%s from %d: ends at %d, the reader at %d, want %d", data, len(head), got, r.pos, end)
		}
	}
}

// TestSkipValid shows that [SkipValid] finds the end of a value that [Validate] accepts, and of no other.
func TestSkipValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		head := strings.Repeat("x", rng.IntN(9))
		data := randomJSON(rng, []byte(head), 4)
		end := len(data)
		data = append(data, []string{"", ",1", "]", "}x", "\"", ":"}[rng.IntN(6)]...)
		if got := SkipValid(data, len(head), MaxDepth); got != end {
			t.Fatalf("%s from %d: ends at %d, want %d", data, len(head), got, end)
		}
		broken := data[:len(head)+rng.IntN(end-len(head))]
		want := -1
		if n := len(strings.TrimRight(string(broken), ",")); Validate(broken[len(head):n], MaxDepth) == nil {
			want = n // a number is cut, and shorter
		}
		if got := SkipValid(broken, len(head), MaxDepth); got != want {
			t.Fatalf("%s from %d: ends at %d, want %d", broken, len(head), got, want)
		}
	}
	for _, deep := range []struct{ depth, want int }{{3, 6}, {2, -1}} {
		if got := SkipValid([]byte("[[[]]]"), 0, deep.depth); got != deep.want {
			t.Errorf("depth %d: %d", deep.depth, got)
		}
	}
}

// TestSkipAnything shows that [Skip] returns a position within data, and not before its start, for text that is not
// JSON.
func TestSkipAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		var text strings.Builder
		for range rng.IntN(30) {
			text.WriteString([]string{`"`, `\`, "[", "{", "]", "}", ",", "a", "1", " ", "\xff", "\x00"}[rng.IntN(12)])
		}
		at := rng.IntN(text.Len() + 1)
		if end := Skip([]byte(text.String()), at); end < at || end > text.Len() {
			t.Fatalf("%q from %d: %d", text.String(), at, end)
		}
	}
}

// TestPlain shows that plain finds the first byte that does not stand for itself, at any position.
func TestPlain(t *testing.T) {
	for at := range 20 {
		for size := at + 1; size < 24; size++ {
			for b := range 256 {
				data := []byte(strings.Repeat("!#~[ ", 5)[:size])
				data[at] = byte(b)
				want := at
				if b >= ' ' && b < 0x80 && b != '"' && b != '\\' {
					want = size
				}
				if got := plain(data, 0); got != want {
					t.Fatalf("%q: %d, want %d", data, got, want)
				}
			}
		}
	}
}
