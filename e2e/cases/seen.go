//go:build e2e

package cases

import (
	"testing"
)

// Seen is what a run of a case shows: the client's side, and the prompt on the server's.
type Seen struct {
	View   string
	Prompt string
	// Sent is the body that the server got, without the prompt's ids.
	Sent string
	IDs  []uint32
	// Chunks is how many pieces of the response the gateway was called with.
	Chunks int
}

// Compare fails the test if a host shows anything else than what is wanted.
func Compare(t *testing.T, host string, got, want Seen) {
	t.Helper()
	if got.View != want.View {
		t.Errorf("%s: the client sees\n%s\nwant\n%s", host, got.View, want.View)
	}
	if got.Prompt != want.Prompt {
		t.Errorf("%s: the server gets\n%s\nwant\n%s", host, got.Prompt, want.Prompt)
	}
	if got.Sent != want.Sent {
		t.Errorf("%s: the server gets\n%s\nwant\n%s", host, got.Sent, want.Sent)
	}
}
