package structure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// brk in an input is a call of Break, which is written | in what is wanted.
const brk = "\x00"

// said is a message that a recorder received.
type said struct {
	harmony.Header
	text string
	end  harmony.End
}

func (s said) String() string {
	name := s.Channel
	if s.Recipient != "" {
		name += ">" + s.Recipient
	}
	return fmt.Sprintf("[%s] %s %s", name, s.text, [...]string{"cut", "end", "return", "call"}[s.end])
}

// recorder records messages, and whether a Sink's rules are kept.
type recorder struct {
	messages []said
	open     bool
	tokens   int
	faults   []string
}

func (r *recorder) Open(h harmony.Header) {
	if r.open {
		r.faults = append(r.faults, "open in an open message")
	}
	r.open = true
	r.messages = append(r.messages, said{Header: h})
}

func (r *recorder) Content(text []byte, tokens int) {
	switch {
	case !r.open:
		r.faults = append(r.faults, "content outside of messages")
		return
	case !utf8.Valid(text):
		r.faults = append(r.faults, fmt.Sprintf("invalid text %q", text))
	}
	r.tokens += tokens
	r.messages[len(r.messages)-1].text += string(text)
}

func (r *recorder) Close(end harmony.End) {
	if !r.open {
		r.faults = append(r.faults, "close outside of messages")
		return
	}
	r.open = false
	r.messages[len(r.messages)-1].end = end
}

// outcome is what becomes of a text.
type outcome struct {
	messages   []said
	recoveries harmony.Recoveries
	tokens     int
}

func (o outcome) String() string {
	var out []string
	for _, m := range o.messages {
		out = append(out, m.String())
	}
	for kind, n := range o.recoveries {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %d", harmony.Recovery(kind), n))
		}
	}
	return strings.Join(out, "; ")
}

func read(t *testing.T, adapter structure.New, o structure.Options, pieces []string, whole bool) outcome {
	t.Helper()
	r := &recorder{}
	a := adapter(r, o)
	for _, piece := range pieces {
		if piece == brk {
			if a.Break(); r.open {
				t.Fatalf("%q: a message is open after Break", pieces)
			}
			continue
		}
		a.Write([]byte(piece), 0)
	}
	a.Finish(whole)
	if r.open {
		r.faults = append(r.faults, "a message is open at the end")
	}
	if len(r.faults) > 0 {
		t.Fatalf("%q: %q", pieces, r.faults)
	}
	return outcome{r.messages, a.Recoveries(), r.tokens}
}

// split splits a text at each Break, which stays as a piece.
func split(text string) []string {
	var pieces []string
	for i, part := range strings.Split(text, brk) {
		if i > 0 {
			pieces = append(pieces, brk)
		}
		if part != "" {
			pieces = append(pieces, part)
		}
	}
	return pieces
}

// everyCut returns the text cut in two at every place, and into single bytes.
func everyCut(text string) [][]string {
	all := [][]string{nil}
	for i := range len(text) {
		all[0] = append(all[0], text[i:i+1])
		all = append(all, append(split(text[:i]), split(text[i:])...))
	}
	return all
}

// readAll reads a text whole and at every cut, which must make no difference.
func readAll(t *testing.T, adapter structure.New, o structure.Options, text string, whole bool) outcome {
	t.Helper()
	want := read(t, adapter, o, split(text), whole)
	for _, pieces := range everyCut(text) {
		got := read(t, adapter, o, pieces, whole)
		if !slices.Equal(got.messages, want.messages) || got.recoveries != want.recoveries || got.tokens != want.tokens {
			t.Fatalf("%q\n got %s, %d tokens\nwant %s, %d tokens", pieces, got, got.tokens, want, want.tokens)
		}
	}
	return want
}
