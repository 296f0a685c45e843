package structure

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// Harmony is the [Adapter] of Harmony as text, with or without its control tokens.
//
// If [Options.Marker] is set, text that turns out not to be Harmony is read like the text of a model that speaks
// marker. Otherwise it is an answer.
type Harmony struct {
	*harmony.TextParser
	sink *harmonySink
}

// NewHarmony returns an [Adapter] for a model that speaks [contract.SpeaksHarmony].
func NewHarmony(sink harmony.Sink, o Options) Adapter {
	return NewHarmonyText(sink, harmony.Stripped, o)
}

// NewHarmonyText returns an adapter of text in a dialect.
func NewHarmonyText(sink harmony.Sink, dialect harmony.Dialect, o Options) *Harmony {
	to := harmony.TextOptions{Dialect: dialect, Fallback: o.Fallback, Mark: o.Marker}
	if o.Marker != "" && to.Fallback.To == harmony.FallBackToFinal {
		to.Fallback.To = harmony.FallBackToSplit
	}
	s := &harmonySink{Sink: sink}
	s.parser = harmony.NewTextParser(s, to)
	return &Harmony{TextParser: s.parser, sink: s}
}

// Break implements [Adapter].
func (a *Harmony) Break() {
	a.TextParser.Break()
	a.sink.unmatched.clear()
}

// Finish implements [Adapter].
func (a *Harmony) Finish(whole bool) {
	a.sink.whole = whole
	a.TextParser.Finish()
	if text := a.sink.unmatched.text(); whole && len(text) > 0 {
		a.sink.missing++
		m := NewMessages(a.sink.Sink)
		m.Answer(text)
		m.Finish(true)
	}
}

// Recoveries implements [Adapter].
func (a *Harmony) Recoveries() harmony.Recoveries {
	all := a.TextParser.Recoveries()
	all[harmony.MissingMark] += a.sink.missing
	return all
}

// harmonySink corrects how messages end: most servers leave the token that ended an answer out of the text. It also
// keeps reasoning whose marker may never come.
type harmonySink struct {
	harmony.Sink
	parser *harmony.TextParser
	// whole reports whether the model has ended its answer by itself.
	whole bool
	// called reports whether the newest message is a call.
	called bool
	// split reports whether the newest message is reasoning that a marker should end. unmatched is its text. missing is 1
	// if no marker has come.
	split     bool
	unmatched repeated
	missing   uint32
}

// Open implements [harmony.Sink].
func (s *harmonySink) Open(h harmony.Header) {
	s.called = h.Recipient != ""
	s.split = h.Channel == harmony.Analysis && s.parser.Splitting()
	s.unmatched.clear()
	s.Sink.Open(h)
}

// Content implements [harmony.Sink].
func (s *harmonySink) Content(text []byte, tokens int) {
	if s.split {
		s.unmatched.add(text)
	}
	s.Sink.Content(text, tokens)
}

// Close implements [harmony.Sink].
func (s *harmonySink) Close(end harmony.End) {
	switch {
	case end != harmony.Cut || !s.whole:
	case s.called:
		end = harmony.EndedByCall
	default:
		end = harmony.EndedByReturn
	}
	s.Sink.Close(end)
}
