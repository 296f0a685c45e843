package backend

import (
	"bytes"
	"testing"
)

// trimmed returns what [promptTrimmer] leaves of a stream that arrives byte by byte.
func trimmed(stream string) []byte {
	var t promptTrimmer
	var out []byte
	for i := range len(stream) {
		c := stream[i]
		if t.inside && c != ']' && c != '\n' {
			continue
		}
		if t.inside {
			t.inside = false
		} else {
			t.step(c)
		}
		out = append(out, c)
	}
	return out
}

// FuzzPromptTrimmer compares the search for the key with the plain automaton, wherever the stream is cut.
func FuzzPromptTrimmer(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"index":0,"prompt_token_ids":[1,2,3],"token_ids":[4,5]}]}`, `"prompt_token_ids"prompt_token_ids":[1]`,
		`"prompt_token_ids":  [1,2`, "\"prompt_token_ids\":[1\n2]",
		`prompt_token_ids":["prompt_token_ids":"prompt_token_ids":[`,
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		// Parts of the key make streams that come near it.
		parts := [...]string{`"`, `"prompt`, `_token_ids`, `":`, ` `, `[`, `1`, `]`, "\n", promptKey, promptKey[1:],
			promptKey[:18]}
		var near []byte
		for _, c := range stream {
			near = append(near, parts[int(c)%len(parts)]...)
		}
		for _, in := range [][]byte{stream, near} {
			want := trimmed(string(in))
			var trimmer promptTrimmer
			var got []byte
			for rest := bytes.Clone(in); len(rest) > 0; {
				n := min(int(size)+1, len(rest))
				got = append(got, trimmer.trim(rest[:n])...)
				rest = rest[n:]
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%q in pieces of %d: %q, want %q", in, int(size)+1, got, want)
			}
		}
	})
}

// TestKeyShifts checks the table [keyShifts] against [promptKey].
func TestKeyShifts(t *testing.T) {
	var want [256]uint8
	for i := range len(promptKey) - 1 {
		want[promptKey[i]] = uint8(len(promptKey) - 1 - i)
	}
	if keyShifts != want {
		t.Errorf("got %v, want %v", keyShifts, want)
	}
}
