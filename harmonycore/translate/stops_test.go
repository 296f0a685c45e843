package translate

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// stopAt is the plain twin of [Stops]: it searches the whole text for the place where it ends.
func stopAt(text string, sequences []string) (string, bool) {
	end, cut := len(text)+1, 0
	for _, s := range sequences {
		if s == "" {
			continue
		}
		at := strings.Index(text, s)
		if at < 0 {
			continue
		}
		if e := at + len(s); e < end || e == end && at < cut {
			end, cut = e, at
		}
	}
	if end > len(text) {
		return text, false
	}
	return text[:cut], true
}

// stopIn runs [Stops] over the text in pieces, and checks at every step that it shows as much as possible.
func stopIn(t *testing.T, pieces, sequences []string) (string, bool) {
	t.Helper()
	s := NewStops(sequences)
	var got strings.Builder
	seen := ""
	for _, piece := range pieces {
		show, found := s.Add([]byte(piece))
		got.Write(show)
		if found {
			return got.String(), true
		}
		seen += piece
		if held := seen[got.Len():]; held != "" && !beginsOne(held, sequences) {
			t.Fatalf("%q is held back of %q, but is not the beginning of any of %q", held, seen, sequences)
		}
	}
	got.Write(s.Flush())
	return got.String(), false
}

func beginsOne(held string, sequences []string) bool {
	for _, s := range sequences {
		if strings.HasPrefix(s, held) {
			return true
		}
	}
	return false
}

func checkStops(t *testing.T, text string, sequences []string, cut func() int) {
	t.Helper()
	want, wantFound := stopAt(text, sequences)
	var pieces []string
	for rest := text; rest != ""; {
		n := min(max(cut(), 0), len(rest))
		pieces = append(pieces, rest[:n])
		rest = rest[n:]
	}
	if got, found := stopIn(t, pieces, sequences); got != want || found != wantFound {
		t.Fatalf("%q for %q: got %q %v, want %q %v", pieces, sequences, got, found, want, wantFound)
	}
}

func TestStops(t *testing.T) {
	for _, tt := range []struct {
		text      string
		sequences []string
		want      string
		found     bool
	}{
		{"one two three", []string{"two"}, "one ", true},
		{"one two three", []string{"four"}, "one two three", false},
		{"aaab", []string{"aab"}, "a", true},
		{"abcabcabd", []string{"abcabd"}, "abc", true},
		{"xabcd", []string{"abcd", "bc"}, "xa", true},
		{"xabc", []string{"bc", "abc"}, "x", true},
		{"é è", []string{"è"}, "é ", true},
		{"😀😁", []string{"😁"}, "😀", true},
		{"stop", []string{"stop"}, "", true},
		{"sto", []string{"stop"}, "sto", false},
		{"text", nil, "text", false},
	} {
		if got, found := stopAt(tt.text, tt.sequences); got != tt.want || found != tt.found {
			t.Errorf("the plain one: %q for %q: %q %v", tt.text, tt.sequences, got, found)
		}
		for n := 1; n <= len(tt.text); n++ {
			checkStops(t, tt.text, tt.sequences, func() int { return n })
		}
	}
}

// TestStopsBeginAnew checks that the end of one text never matches as the beginning of a sequence in the next.
func TestStopsBeginAnew(t *testing.T) {
	s := NewStops([]string{"ab"})
	show, _ := s.Add([]byte("xa"))
	if string(show) != "x" || string(s.Flush()) != "a" {
		t.Fatalf("shown %q", show)
	}
	if show, found := s.Add([]byte("b")); string(show) != "b" || found {
		t.Errorf("shown %q, found %v", show, found)
	}
}

// FuzzStops compares [Stops] with [strings.Index], wherever the text is cut.
func FuzzStops(f *testing.F) {
	f.Add("abcabcabd", "abcabd", "bcab", uint64(1))
	f.Add("aaaa\nb", "\n", "aaaaa", uint64(2))
	f.Add("ééè", "éè", "\xc3", uint64(3))
	f.Fuzz(func(t *testing.T, text, one, two string, seed uint64) {
		text, one, two = text[:min(len(text), 64)], one[:min(len(one), 16)], two[:min(len(two), 16)]
		rng := rand.New(rand.NewPCG(seed, 1))
		for _, sequences := range [][]string{{one}, {one, two}, {two, one, one + two, two + one}} {
			for n := 1; n <= len(text); n++ {
				checkStops(t, text, sequences, func() int { return n })
			}
			checkStops(t, text, sequences, func() int { return rng.IntN(4) })
		}
	})
}
