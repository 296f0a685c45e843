package explain

import (
	"io"
	"strings"
)

// Message is a message of a [Transcript].
type Message struct {
	// Author is who wrote it, such as assistant.
	Author string
	// Fields are shown beside the author.
	Fields []Field
	// Channel is the channel whose colour the message has. Empty: none.
	Channel string
	// Reference is its id. Empty: it has none.
	Reference string
	// Warning is what is unusual about it, such as failed. Empty: nothing.
	Warning string
	Parts   []Part
}

// Field is a name with a value.
type Field struct{ Name, Value string }

// Part is a text of a message. The label tells it from the message's other texts. It may be empty.
type Part struct{ Label, Text string }

// Transcript prints messages that are not made of tokens as [Write] prints those that are.
type Transcript struct {
	p      printer
	number int
}

// NewTranscript returns a transcript that is written to w. Call [Transcript.Flush] at its end.
func NewTranscript(w io.Writer, o Options) *Transcript {
	return &Transcript{p: newPrinter(w, nil, o)}
}

// Heading prints a line about the messages that follow. warning is what is unusual about them.
func (t *Transcript) Heading(text, warning string) { t.p.heading(warning, text) }

// Message prints a message. Messages are numbered from 1.
func (t *Transcript) Message(m *Message) {
	t.number++
	colour := channelColour(m.Channel)
	pieces := titleOf(t.number, escape(m.Author, false), colour, m.Fields)
	if m.Reference != "" {
		pieces = append(pieces, piece{"  [" + escape(m.Reference, false) + "]", faint})
	}
	if m.Warning != "" {
		pieces = append(pieces, piece{"  " + escape(m.Warning, false), alert})
	}
	t.p.line("", "  ", pieces...)
	for _, part := range m.Parts {
		if part.Label != "" {
			t.p.line("  ", "    ", piece{escape(part.Label, false) + ":", faint})
		}
		if part.Text == "" {
			continue
		}
		for line := range strings.SplitSeq(part.Text, "\n") {
			t.p.line(textIndent, textIndent, piece{escape(line, false), colour})
		}
	}
}

// Flush writes what is left, and returns the first error in writing.
func (t *Transcript) Flush() error { return t.p.w.Flush() }
