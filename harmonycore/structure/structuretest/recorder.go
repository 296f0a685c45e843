package structuretest

import (
	"fmt"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// recorder is a sink that records messages, and whether a sink's rules are kept.
type recorder struct {
	messages []Message
	open     bool
	tokens   int
	faults   []string
}

func (r *recorder) fault(what string) { r.faults = append(r.faults, what) }

// Open implements [harmony.Sink].
func (r *recorder) Open(h harmony.Header) {
	if r.open {
		r.fault("Open inside a message")
	}
	r.open = true
	r.messages = append(r.messages, Message{Header: h})
}

// Content implements [harmony.Sink].
func (r *recorder) Content(text []byte, tokens int) {
	switch {
	case !r.open:
		r.fault("Content outside of messages")
		return
	case !utf8.Valid(text):
		r.fault(fmt.Sprintf("%q is not valid UTF-8", text))
	case tokens < 0:
		r.fault(fmt.Sprintf("%d tokens", tokens))
	}
	r.tokens += tokens
	r.messages[len(r.messages)-1].Text += string(text)
}

// Close implements [harmony.Sink].
func (r *recorder) Close(end harmony.End) {
	if !r.open {
		r.fault("Close outside of messages")
		return
	}
	r.open = false
	r.messages[len(r.messages)-1].End = end
}
