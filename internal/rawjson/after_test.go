package rawjson

import (
	"slices"
	"testing"
)

// TestAfter: bytes that are the same are passed over, however many, and a byte that differs is found.
func TestAfter(t *testing.T) {
	b := []byte("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.")
	for at := range b {
		for end := at; end <= len(b); end++ {
			want := slices.Clone(b[at:end])
			if got := After(b, at, want); got != end {
				t.Fatalf("After %q at %d: %d", want, at, got)
			}
			if got := After(b, at, append(want, '!')); got != -1 {
				t.Fatalf("After %q! at %d: %d", want, at, got)
			}
			for i := range want {
				want[i]++
				if got := After(b, at, want); got != -1 {
					t.Fatalf("After %q at %d: %d", want, at, got)
				}
				want[i]--
			}
		}
	}
}
