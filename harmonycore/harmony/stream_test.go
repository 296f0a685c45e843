package harmony

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
)

// recorded is a message that a recorder received.
type recorded struct {
	Header
	text   string
	tokens int
	end    End
}

// recorder is a Sink that checks the order of its calls.
type recorder struct {
	messages []recorded
	open     bool
	faults   []string
	seen     Recoveries
}

func (r *recorder) Open(h Header) {
	if r.open {
		r.faults = append(r.faults, "Open inside a message")
	}
	r.open = true
	r.messages = append(r.messages, recorded{Header: h})
}

func (r *recorder) Content(text []byte, tokens int) {
	if !r.open {
		r.faults = append(r.faults, "Content outside a message")
		return
	}
	if !utf8.Valid(text) {
		r.faults = append(r.faults, "Content is not UTF-8")
	}
	if tokens < 0 || tokens > 1 {
		r.faults = append(r.faults, "Content of more than one token")
	}
	m := &r.messages[len(r.messages)-1]
	m.text += string(text)
	m.tokens += tokens
}

func (r *recorder) Close(end End) {
	if !r.open {
		r.faults = append(r.faults, "Close outside a message")
		return
	}
	r.open = false
	r.messages[len(r.messages)-1].end = end
}

func record(tokens []uint32) *recorder {
	r := &recorder{}
	p := NewStreamParser(o200k.Tokenizer(), r)
	for _, id := range tokens {
		p.Process(id)
	}
	p.Finish()
	r.seen = p.Recoveries()
	return r
}

// checkInvariants feeds a stream token by token and looks at what StreamParser promises for every stream.
func checkInvariants(t *testing.T, tokens []uint32) {
	t.Helper()
	tk := o200k.Tokenizer()
	r := &recorder{}
	p := NewStreamParser(tk, r)
	closed := 0
	var before []recorded
	for i, id := range tokens {
		p.Process(id)
		for j := range closed {
			if r.messages[j] != before[j] {
				t.Fatalf("token %d of %v changed the closed message %d", i, tokens, j)
			}
		}
		closed = len(r.messages)
		if r.open {
			closed--
		}
		before = append(before[:0], r.messages[:closed]...)
		if cap(p.head.text) > 1<<16 || len(p.head.ends) > MaxHeaderTokens || len(p.head.marks) > MaxHeaderTokens {
			t.Fatalf("token %d of %v: the header holds too much", i, tokens)
		}
	}
	p.Finish()
	if len(r.faults) > 0 || r.open {
		t.Fatalf("%v: %v, open %v", tokens, r.faults, r.open)
	}
	// Ordinary tokens alone can spell a marker: only without them is a marker in the output a leak.
	var raw []byte
	ordinary := 0
	for _, id := range tokens {
		if b, ok := tk.TokenBytes(id); ok && !tokenizer.IsSpecial(id) {
			ordinary++
			raw = append(raw, b...)
		}
	}
	spelled := bytes.ContainsAny(raw, "<|>")
	taken := 0
	for _, m := range r.messages {
		taken += m.tokens
		for _, c := range []byte(strings.ReplaceAll(m.text, wholerunes.Replacement, "")) {
			at := bytes.IndexByte(raw, c)
			if at < 0 {
				t.Fatalf("%v: %q is delivered twice, out of order or from nothing", tokens, m.text)
			}
			raw = raw[at+1:]
		}
		if leak := m.text + m.Name + m.Channel + m.Recipient + m.ContentType; !spelled && strings.ContainsAny(leak, "<|>") {
			t.Fatalf("%v leaks a control token: %q", tokens, leak)
		}
	}
	if taken > ordinary {
		t.Fatalf("%v: %d content tokens of %d ordinary ones", tokens, taken, ordinary)
	}
}

// discard is a Sink that allocates nothing.
type discard struct{ bytes int }

func (n *discard) Open(Header)                {}
func (n *discard) Content(text []byte, _ int) { n.bytes += len(text) }
func (n *discard) Close(End)                  {}
