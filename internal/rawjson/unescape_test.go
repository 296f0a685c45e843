package rawjson

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// checkUnescaped compares both ways to unescape a text at once with the one that goes on from any place.
func checkUnescaped(t *testing.T, raw []byte) {
	t.Helper()
	want := AppendUnescaped(nil, raw)
	if got := unescape(make([]byte, len(raw)), raw, false); !bytes.Equal(got, want) {
		t.Fatalf("%q: got %q, want %q", raw, got, want)
	}
	shared := bytes.Clone(raw)
	if got := unescape(shared, shared, true); !bytes.Equal(got, want) {
		t.Fatalf("%q: got %q in its own memory, want %q", raw, got, want)
	}
}

// TestUnescape: texts of all kinds of escapes, close to each other and far apart, also in their own memory.
func TestUnescape(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 40))
	pieces := []string{`\n`, `\"`, `\\`, `\u00e9`, `\u0000`, `\ud83d\ude00`, `\ud83d`, `é`, `x`, `seventy`, `one more than eight`}
	for range 5000 {
		var raw []byte
		for range rng.IntN(30) {
			raw = append(raw, pieces[rng.IntN(len(pieces))]...)
		}
		checkUnescaped(t, raw)
	}
}

// FuzzUnescape: the same of any text, also of one that no check has accepted.
func FuzzUnescape(f *testing.F) {
	f.Add([]byte(`a\n\u00e9 \ud83d\ude00 \u12 \`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkUnescaped(t, raw)
		checkUnescaped(t, bytes.Repeat(raw, 3))
	})
}
