package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Gate stands between a parser and a [Choice]. It ends the answer before the model does: at a stop sequence
// in the text of a final message, at the first reasoning token beyond the maximum, or at the message after the only call
// that the client wants (RATIONALE.md#43). The Choice gets nothing that comes later, and has no open message then. The
// owner of the Gate calls the Choice's End.
//
// Stop sequences are looked for in final messages only, not in reasoning, preambles or arguments. A preamble leads to a
// call, and an agent would lose its turn if a stop sequence cut the call off. A sequence never spans two messages.
type Gate struct {
	Choice
	turn  turn
	stops Stops
	// oneCall reports whether a second call is not wanted. endedByCall reports whether it ended at one.
	oneCall, endedByCall bool
	// capped reports whether the reasoning has a maximum. reasoningLeft is the number of reasoning tokens that may still
	// come.
	capped        bool
	reasoningLeft int
	ended         Finish
	// held holds the logprobs of tokens whose text is held back.
	held []heldLogprob
	// received and shown count the bytes of the final message's text that came in and that were passed on.
	received, shown int
}

// heldLogprob is passed on after the text before end.
type heldLogprob struct {
	end     int
	logprob openai.Logprob
}

// reasoningLimit returns the lower of the model's maximum and the client's.
func reasoningLimit(m *contract.Model, requested *int) *int {
	if m.MaxReasoningTokens > 0 && (requested == nil || *requested > m.MaxReasoningTokens) {
		return &m.MaxReasoningTokens
	}
	return requested
}

// Gate returns the Gate to put between a parser and c, or nil if the request limits nothing.
func (r *Request) Gate(c Choice) *Gate {
	oneCall := r.oneCall && len(r.tools) > 0
	if len(r.Stop) == 0 && r.MaxReasoning == nil && !oneCall {
		return nil
	}
	g := &Gate{Choice: c, turn: r.newTurn(), stops: NewStops(r.Stop), oneCall: oneCall}
	if r.MaxReasoning != nil {
		g.capped, g.reasoningLeft = true, *r.MaxReasoning
	}
	return g
}

// Ended returns how the answer ended if the Gate ended it: [Stop], or [Length] at the maximum of reasoning. It
// returns 0 while the answer goes on.
func (g *Gate) Ended() Finish { return g.ended }

// EndedByCall reports whether the Gate ended the answer after a call, not at a stop sequence.
func (g *Gate) EndedByCall() bool { return g.endedByCall }

// Open implements [harmony.Sink].
func (g *Gate) Open(h harmony.Header) {
	if g.ended != 0 {
		return
	}
	if g.oneCall && g.turn.tally.Calls > 0 {
		g.ended, g.endedByCall = Stop, true
		return
	}
	g.turn.open(h)
	g.received, g.shown = 0, 0
	g.Choice.Open(h)
}

// Logprob implements [Choice]. The logprob of a token waits for the token's text, and is passed on or dropped with it.
func (g *Gate) Logprob(l *openai.Logprob) {
	switch {
	case g.ended != 0:
	case g.turn.lane == finalLane && len(g.stops.sequences) > 0:
		g.held = append(g.held, heldLogprob{end: g.received + 1, logprob: l.Clone()})
	default:
		g.Choice.Logprob(l)
	}
}

// Content implements [harmony.Sink].
func (g *Gate) Content(text []byte, tokens int) {
	if g.ended != 0 {
		return
	}
	found := false
	switch g.turn.lane {
	case reasoningLane:
		if g.capped && tokens > g.reasoningLeft {
			g.end(Length)
			return
		}
		g.reasoningLeft -= tokens
	case finalLane:
		g.complete(len(text))
		text, found = g.stops.Add(text)
		g.shown += len(text)
		g.releaseLogprobs(g.shown)
	}
	g.Choice.Content(text, tokens)
	if found {
		if c, ok := g.Choice.(stopTeller); ok {
			c.stoppedAt(g.stops.Found())
		}
		g.end(Stop)
	}
}

// stopTeller is a [Choice] that tells its client which stop sequence has ended the text.
type stopTeller interface{ stoppedAt(sequence string) }

// Close implements [harmony.Sink].
func (g *Gate) Close(end harmony.End) {
	if g.ended != 0 {
		return
	}
	g.releaseLogprobs(g.received + 1)
	if held := g.stops.Flush(); len(held) > 0 {
		g.Choice.Content(held, 0)
	}
	g.Choice.Close(end)
}

// complete counts n more bytes of text. Earlier tokens that had no text of their own end with this text.
func (g *Gate) complete(n int) {
	if n == 0 {
		return
	}
	for i := range g.held {
		if g.held[i].end > g.received {
			g.held[i].end = g.received + n
		}
	}
	g.received += n
}

// releaseLogprobs passes on the logprobs of the tokens whose text ends at upto or before.
func (g *Gate) releaseLogprobs(upto int) {
	n := 0
	for n < len(g.held) && g.held[n].end <= upto {
		g.Choice.Logprob(&g.held[n].logprob)
		n++
	}
	g.held = g.held[:copy(g.held, g.held[n:])]
}

func (g *Gate) end(f Finish) {
	g.ended, g.held = f, nil
	g.Choice.Close(harmony.Cut)
}
