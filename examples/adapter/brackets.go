// Package brackets reads the text of a model that writes its reasoning between [[THINK]] and [[/THINK]]. It is an
// example of an adapter outside Harmony Edge: docs/structure.md.
//
// It knows the text. It does not know how a program uses an adapter.
package brackets

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
)

// Speaks is the value of the setting speaks for such models.
const Speaks = "x-brackets"

// Adapters are what a program gives its gateway.
func Adapters() map[string]structure.New { return map[string]structure.New{Speaks: New} }

// adapter reads one answer.
type adapter struct {
	*structure.Messages
	begin, end *structure.Mark
	// thinking reports whether the next text is reasoning.
	thinking bool
}

// New returns an adapter for one answer.
func New(sink harmony.Sink, _ structure.Options) structure.Adapter {
	return &adapter{
		Messages: structure.NewMessages(sink),
		begin:    structure.NewMark("[[THINK]]"), end: structure.NewMark("[[/THINK]]"),
	}
}

// Write implements [structure.Adapter].
func (a *adapter) Write(text []byte, _ int64) {
	for len(text) > 0 {
		held, before, rest, found := a.mark().Next(text)
		a.add(held)
		a.add(before)
		if found {
			a.Close(harmony.EndedByEnd)
			a.thinking = !a.thinking
		}
		text = rest
	}
}

// mark returns the mark that ends the message.
func (a *adapter) mark() *structure.Mark {
	if a.thinking {
		return a.end
	}
	return a.begin
}

func (a *adapter) add(text []byte) {
	if a.thinking {
		a.Reasoning(text)
	} else {
		a.Answer(text)
	}
}

// Timed implements [structure.Adapter].
func (*adapter) Timed() bool { return false }

// Break implements [structure.Adapter].
func (a *adapter) Break() {
	a.add(a.mark().Release())
	a.Close(harmony.EndedByEnd)
}

// Finish implements [structure.Adapter].
func (a *adapter) Finish(whole bool) {
	a.add(a.mark().Release())
	if whole && a.thinking {
		a.Count(harmony.MissingMark)
	}
	a.Messages.Finish(whole)
}
