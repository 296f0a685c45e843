package record

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// choice makes lines of what a server generates for one choice. It is the [harmony.Sink] of its parser.
type choice struct {
	answer *answer
	index  int
	parser parser
	// pending are tokens that are not written yet, and notes the repairs that were made with them.
	pending line.Tokens
	content []byte
	notes   []line.Recovery
	// taken is the number of tokens, or an estimate. told is the part of it that the summary has.
	taken, told int
	seen        harmony.Recoveries
	stopped     bool
}

// parser finds the messages in what a server generates.
type parser interface {
	take(c *choice, e *backend.Event)
	// finish ends the answer. whole reports whether the model has ended it by itself.
	finish(whole bool)
	recoveries() harmony.Recoveries
}

func newChoice(a *answer, index int) *choice {
	c := &choice{answer: a, index: index}
	options := a.stream.entry.recorder.options
	switch {
	case a.kind.Conversations:
		c.parser = newConversationParser(c, a.stream.sentHead.Speaks)
	case !a.kind.TextAnswers || a.kind.ControlTokens:
		c.parser = newIDParser(options.Tokenizer(), c, a.stream.begun.ids)
	default:
		c.parser = newTextParser(c, a.stream.begun.text)
	}
	c.seen = c.parser.recoveries() // of what the prompt has of the answer
	return c
}

func (c *choice) take(e *backend.Event) {
	if c.parser != nil {
		c.parser.take(c, e)
	}
	c.stopped = c.stopped || e.Finish == backend.Stopped
}

// The most that waits to be written: tokens, and bytes of text.
const (
	maxPendingTokens = 4096
	maxPendingText   = 256 << 10
)

// addID adds a token that the parser has read.
func (c *choice) addID(id uint32) {
	c.pending.IDs = append(c.pending.IDs, id)
	if c.index == 0 {
		c.answer.stream.generated(id)
	}
	c.taken++
	c.settle()
}

// addText adds text that the parser has read, and the tokens that it is.
func (c *choice) addText(text []byte, tokens int) {
	c.pending.Text += string(text)
	c.taken += tokens
	c.settle()
}

// settle notes new repairs, and writes what has become long.
func (c *choice) settle() {
	now := c.parser.recoveries()
	for kind := range now {
		for ; c.seen[kind] < now[kind]; c.seen[kind]++ {
			c.notes = append(c.notes, line.Recovery{Choice: c.index, Token: max(c.taken-1, 0),
				Kind: harmony.Recovery(kind).String()})
		}
	}
	if len(c.notes) > 0 || len(c.pending.IDs) >= maxPendingTokens ||
		len(c.pending.Text)+len(c.content) >= maxPendingText {
		c.flush()
	}
}

// flush writes the pending tokens, and the repairs after them.
func (c *choice) flush() {
	a := c.answer
	if len(c.pending.IDs) > 0 || len(c.pending.Text) > 0 || len(c.content) > 0 {
		l := c.pending
		l.Head, l.Choice, l.Content = a.stream.head(line.TypeTokens), c.index, string(c.content)
		c.pending, c.content = line.Tokens{}, c.content[:0]
		a.write(&l)
	}
	a.wrote(c.taken - c.told)
	c.told = c.taken
	for i := range c.notes {
		n := &c.notes[i]
		n.Head = a.stream.head(line.TypeRecovery)
		a.write(n)
	}
	c.notes = nil
}

// end ends the choice.
func (c *choice) end() {
	if c.parser == nil {
		return
	}
	c.parser.finish(c.stopped)
	c.settle()
	c.flush()
	c.parser = nil
}

// Open implements [harmony.Sink].
func (c *choice) Open(h harmony.Header) {
	c.flush()
	c.answer.write(&line.Message{
		Head: c.answer.stream.head(line.TypeMessage), Choice: c.index, Role: h.Role.String(), Name: h.Name,
		Channel: h.Channel, Recipient: h.Recipient, ContentType: h.ContentType,
	})
}

// Content implements [harmony.Sink].
func (c *choice) Content(text []byte, _ int) { c.content = append(c.content, text...) }

// Close implements [harmony.Sink].
func (c *choice) Close(harmony.End) {}
