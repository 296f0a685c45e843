package structure

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

const (
	thinkTag    = "<think>"
	thinkEndTag = "</think>"
)

// chat is the [Adapter] of text that is an answer, but for reasoning between <think> and </think>. Inside reasoning
// <think> is text, and the first </think> ends it. Outside </think> is text. A tag leads if only space and reasoning
// precede it; the space before it is dropped. All other space is kept.
//
// With [contract.ThinkOpened] an answer begins inside reasoning, and a leading <think> is dropped. If the model ends
// its answer without any tag, it may not have reasoned. Then the text is sent as the answer too, although it was sent
// as reasoning before.
type chat struct {
	*Messages
	anywhere   bool
	state      chatState
	first      leading
	begin, end *Mark
	// answered reports whether text of the answer has come.
	answered bool
	// untagged reports whether an answer that began inside reasoning has had no tag. unmatched is its text.
	untagged  bool
	unmatched repeated
}

// chatState is where the next byte of text is.
type chatState uint8

const (
	// plain is an answer without any further tag. outside is an answer in which a tag may come.
	plain chatState = iota
	outside
	// leadingTag is before all text of the answer. openedTag is at the beginning of reasoning that the prompt has opened.
	leadingTag
	openedTag
	inside
)

// NewChat returns an [Adapter] for a model that speaks [contract.SpeaksChat].
func NewChat(sink harmony.Sink, o Options) Adapter {
	a := &chat{Messages: NewMessages(sink), anywhere: o.ThinkTags == contract.ThinkAnywhere}
	switch o.ThinkTags {
	case contract.ThinkOff:
		return a
	case contract.ThinkOpened:
		a.state, a.untagged = openedTag, true
	default:
		a.state = leadingTag
	}
	a.first.begin(thinkTag)
	a.begin, a.end = NewMark(thinkTag), NewMark(thinkEndTag)
	return a
}

// Timed implements [Adapter].
func (*chat) Timed() bool { return false }

// Write implements [Adapter].
func (a *chat) Write(b []byte, _ int64) {
	for len(b) > 0 {
		b = a.read(b)
	}
}

// read reads a piece of b, which is not empty, and returns the rest.
func (a *chat) read(b []byte) []byte {
	switch a.state {
	case leadingTag, openedTag:
		v, used := a.first.next(b)
		switch v {
		case marked:
			a.beginReasoning()
			a.untagged = false
		case unmarked:
			a.beginText(b[used:])
			return nil
		}
		return b[used:]
	case inside:
		held, text, rest, found := a.end.Next(b)
		a.reason(held)
		a.reason(text)
		if found {
			a.endReasoning()
		}
		return rest
	case outside:
		held, text, rest, found := a.begin.Next(b)
		a.Answer(held)
		a.Answer(text)
		if found {
			a.beginReasoning()
		}
		return rest
	default:
		a.Answer(b)
		return nil
	}
}

func (a *chat) beginReasoning() {
	a.Close(harmony.EndedByEnd)
	a.state = inside
}

func (a *chat) endReasoning() {
	a.Close(harmony.EndedByEnd)
	a.untagged = false
	a.unmatched.clear()
	if a.answered {
		a.state = outside
		return
	}
	a.first.begin(thinkTag)
	a.state = leadingTag
}

// beginText reads on from what may have been a leading tag but is not. rest follows it in the same piece.
func (a *chat) beginText(rest []byte) {
	switch {
	case a.state == openedTag:
		a.state = inside
	case a.anywhere:
		a.state, a.answered = outside, true
	default:
		a.state = plain
	}
	a.Write(a.first.take(rest), 0)
}

func (a *chat) reason(text []byte) {
	a.Reasoning(text)
	if a.untagged {
		a.unmatched.add(text)
	}
}

// release delivers what is held back.
func (a *chat) release() {
	if a.state == leadingTag || a.state == openedTag {
		if len(a.first.held) == 0 {
			return
		}
		a.beginText(nil)
	}
	switch a.state {
	case inside:
		a.reason(a.end.Release())
	case outside:
		a.Answer(a.begin.Release())
	}
}

// Break implements [Adapter]. A server that sends reasoning of its own before all text has separated it from the text.
func (a *chat) Break() {
	a.release()
	if a.state == openedTag {
		a.state, a.untagged = leadingTag, false
	}
	a.unmatched.clear()
	a.Close(harmony.EndedByEnd)
}

// Finish implements [Adapter].
func (a *chat) Finish(whole bool) {
	a.release()
	if whole && a.state == inside {
		a.Count(harmony.MissingMark)
		if text := a.unmatched.text(); len(text) > 0 {
			a.Answer(text)
		}
	}
	a.Messages.Finish(whole)
}
