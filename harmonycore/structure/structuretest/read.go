package structuretest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// Break in a text is a message that comes beside the text: [structure.Adapter.Break] is called.
const Break = "\x00"

// Message is a message that an adapter has delivered.
type Message struct {
	harmony.Header
	Text string
	End  harmony.End
}

// String returns the message as [CHANNEL>RECIPIENT] TEXT END.
func (m Message) String() string {
	name := m.Channel
	if m.Recipient != "" {
		name += ">" + m.Recipient
	}
	return fmt.Sprintf("[%s] %s %s", name, m.Text, [...]string{"cut", "end", "return", "call"}[m.End])
}

// Result is what becomes of a text.
type Result struct {
	Messages   []Message
	Recoveries harmony.Recoveries
	// Tokens is the number of tokens that the sink was told.
	Tokens int
}

// String returns the messages, and the repairs with their counts.
func (r Result) String() string {
	var parts []string
	for _, m := range r.Messages {
		parts = append(parts, m.String())
	}
	for kind, n := range r.Recoveries {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", harmony.Recovery(kind), n))
		}
	}
	return strings.Join(parts, "; ")
}

// Equal reports whether two results are the same.
func (r Result) Equal(other Result) bool {
	return slices.Equal(r.Messages, other.Messages) && r.Recoveries == other.Recoveries && r.Tokens == other.Tokens
}

// Read gives a text to adapters: whole, cut in two at every place, and byte by byte. whole reports whether the model
// has ended the answer by itself. The test fails if a cut makes a difference, or if an adapter breaks a rule of its
// sink.
func Read(t testing.TB, create structure.New, o structure.Options, text string, whole bool) Result {
	t.Helper()
	want := ReadPieces(t, create, o, split(text), whole)
	bytes := make([]string, 0, len(text))
	for i := range len(text) {
		bytes = append(bytes, text[i:i+1])
		pieces := append(split(text[:i]), split(text[i:])...)
		if got := ReadPieces(t, create, o, pieces, whole); !got.Equal(want) {
			t.Fatalf("%q\n got %s, %d tokens\nwant %s, %d tokens", pieces, got, got.Tokens, want, want.Tokens)
		}
	}
	if got := ReadPieces(t, create, o, bytes, whole); !got.Equal(want) {
		t.Fatalf("%q\n got %s, %d tokens\nwant %s, %d tokens", bytes, got, got.Tokens, want, want.Tokens)
	}
	return want
}

// ReadPieces gives a text in pieces to one adapter. A piece that is [Break] is no text.
func ReadPieces(t testing.TB, create structure.New, o structure.Options, pieces []string, whole bool) Result {
	t.Helper()
	r := &recorder{}
	a := create(r, o)
	for _, piece := range pieces {
		if piece != Break {
			a.Write([]byte(piece), 0)
			continue
		}
		if a.Break(); r.open {
			r.fault("a message is open after Break")
		}
	}
	a.Finish(whole)
	if r.open {
		r.fault("a message is open at the end")
	}
	if len(r.faults) > 0 {
		t.Fatalf("%q: %q", pieces, r.faults)
	}
	return Result{r.messages, a.Recoveries(), r.tokens}
}

// split splits a text at each Break, which stays as a piece.
func split(text string) []string {
	var pieces []string
	for i, part := range strings.Split(text, Break) {
		if i > 0 {
			pieces = append(pieces, Break)
		}
		if part != "" {
			pieces = append(pieces, part)
		}
	}
	return pieces
}
