package structure

import (
	"cmp"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
)

// marker is the [Adapter] of text that is reasoning, a marker, and an answer. Only the first marker counts. Space
// before a marker that begins the text is dropped.
//
// If the model ends its answer without the marker, nobody knows where the answer begins. Then the text is sent as the
// answer too, although it was sent as reasoning before.
type marker struct {
	*Messages
	mark      *Mark
	first     leading
	state     markerState
	unmatched repeated
}

type markerState uint8

const (
	atBeginning markerState = iota
	reasoning
	answering
)

// NewMarker returns an [Adapter] for a model that speaks [contract.SpeaksMarker].
func NewMarker(sink harmony.Sink, o Options) Adapter {
	text := cmp.Or(o.Marker, contract.DefaultMarker)
	a := &marker{Messages: NewMessages(sink), mark: NewMark(text)}
	a.first.begin(string(a.mark.mark))
	return a
}

// Timed implements [Adapter].
func (*marker) Timed() bool { return false }

// Write implements [Adapter].
func (a *marker) Write(b []byte, _ int64) {
	if a.state == atBeginning {
		v, used := a.first.next(b)
		b = b[used:]
		switch v {
		case undecided:
			return
		case marked:
			a.state = answering
		case unmarked:
			a.state = reasoning
			b = a.first.take(b)
		}
	}
	a.read(b)
}

func (a *marker) read(b []byte) {
	if a.state == answering {
		a.Answer(b)
		return
	}
	held, text, rest, found := a.mark.Next(b)
	a.reason(held)
	a.reason(text)
	if found {
		a.state = answering
		a.Close(harmony.EndedByEnd)
		a.unmatched.clear()
		a.Answer(rest)
	}
}

func (a *marker) reason(text []byte) {
	a.Reasoning(text)
	a.unmatched.add(text)
}

// release delivers what is held back.
func (a *marker) release() {
	switch a.state {
	case atBeginning:
		if len(a.first.held) > 0 {
			a.state = reasoning
			a.reason(a.first.take(nil))
		}
	case reasoning:
		a.reason(a.mark.Release())
	}
}

// Break implements [Adapter]. Reasoning before a call needs no marker.
func (a *marker) Break() {
	a.release()
	a.unmatched.clear()
	a.Close(harmony.EndedByEnd)
}

// Finish implements [Adapter].
func (a *marker) Finish(whole bool) {
	a.release()
	if text := a.unmatched.text(); whole && a.state == reasoning && len(text) > 0 {
		a.Count(harmony.MissingMark)
		a.Answer(text)
	}
	a.Messages.Finish(whole)
}
