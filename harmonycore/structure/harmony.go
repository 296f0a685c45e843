package structure

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// harmonyText is the [Adapter] of Harmony as text, with or without its control tokens.
type harmonyText struct {
	*harmony.TextParser
	ends *endSink
}

// NewHarmony returns an [Adapter] for a model that speaks [contract.SpeaksHarmony].
func NewHarmony(sink harmony.Sink, o Options) Adapter {
	ends := &endSink{Sink: sink}
	return &harmonyText{
		TextParser: harmony.NewTextParser(ends, harmony.TextOptions{Dialect: harmony.Stripped, Fallback: o.Fallback}),
		ends:       ends,
	}
}

// Finish implements [Adapter].
func (a *harmonyText) Finish(whole bool) {
	a.ends.whole = whole
	a.TextParser.Finish()
}

// endSink corrects how messages end. Most servers leave the token that ended an answer out of the text.
type endSink struct {
	harmony.Sink
	// whole reports whether the model has ended its answer by itself.
	whole bool
	// called reports whether the newest message is a call.
	called bool
}

// Open implements [harmony.Sink].
func (s *endSink) Open(h harmony.Header) {
	s.called = h.Recipient != ""
	s.Sink.Open(h)
}

// Close implements [harmony.Sink].
func (s *endSink) Close(end harmony.End) {
	switch {
	case end != harmony.Cut || !s.whole:
	case s.called:
		end = harmony.EndedByCall
	default:
		end = harmony.EndedByReturn
	}
	s.Sink.Close(end)
}
