package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Gate stands between a parser and a Choice, and shuts where the answer ends before the model does: at a stop sequence in
// the text of a final message, at the first token of reasoning beyond the cap, or where another message begins behind the
// only call that the client wants. What comes later is kept from the Choice, which is left without an open message and
// whose End is for the Gate's owner to call.
//
// Preambles are on the way to a call, and a call that a stop sequence swallowed would be an agent's turn lost: like
// reasoning and arguments they are not looked at. Nor does a sequence reach from one message into another.
type Gate struct {
	Choice
	turn  turn
	stops stops
	// oneCall says that there is to be no second call, called that the Gate has shut at it.
	oneCall, called bool
	// left is how many tokens of reasoning may still come, where there is a cap.
	capped bool
	left   int
	shut   Finish
	// held are the logprobs of tokens whose text is held back.
	held []heldLogprob
	// received and shown are how much of the final message's text has come, and gone on, in bytes.
	received, shown int
}

// heldLogprob goes on when the text before end has.
type heldLogprob struct {
	end     int
	logprob openai.Logprob
}

// reasoningLimit is the lower one of the model's limit and the client's.
func reasoningLimit(m *contract.Model, asked *int) *int {
	if m.MaxReasoningTokens > 0 && (asked == nil || *asked > m.MaxReasoningTokens) {
		return &m.MaxReasoningTokens
	}
	return asked
}

// Gate is what a parser that speaks to c must speak to instead, or nil where the request limits nothing.
func (r *Request) Gate(c Choice) *Gate {
	oneCall := r.oneCall && len(r.tools) > 0
	if len(r.Stop) == 0 && r.MaxReasoning == nil && !oneCall {
		return nil
	}
	g := &Gate{Choice: c, turn: r.newTurn(), stops: newStops(r.Stop), oneCall: oneCall}
	if r.MaxReasoning != nil {
		g.capped, g.left = true, *r.MaxReasoning
	}
	return g
}

// Shut is how the answer has ended where the Gate has shut: Stop, or at the cap Length; zero while it is open.
func (g *Gate) Shut() Finish { return g.shut }

// Called reports whether it was behind a call that the Gate has shut, and not at a stop sequence.
func (g *Gate) Called() bool { return g.called }

// Open implements harmony.Sink.
func (g *Gate) Open(h harmony.Header) {
	if g.shut != 0 {
		return
	}
	if g.oneCall && g.turn.tally.Calls > 0 {
		g.shut, g.called = Stop, true
		return
	}
	g.turn.open(h)
	g.received, g.shown = 0, 0
	g.Choice.Open(h)
}

// Logprob implements [Choice]. A token's logprob waits for the token's text, and goes where the text goes.
func (g *Gate) Logprob(l *openai.Logprob) {
	switch {
	case g.shut != 0:
	case g.turn.lane == finalLane && len(g.stops.sequences) > 0:
		g.held = append(g.held, heldLogprob{end: g.received + 1, logprob: l.Clone()})
	default:
		g.Choice.Logprob(l)
	}
}

// Content implements harmony.Sink.
func (g *Gate) Content(text []byte, tokens int) {
	if g.shut != 0 {
		return
	}
	found := false
	switch g.turn.lane {
	case reasoningLane:
		if g.capped && tokens > g.left {
			g.end(Length)
			return
		}
		g.left -= tokens
	case finalLane:
		g.complete(len(text))
		text, found = g.stops.add(text)
		g.shown += len(text)
		g.tell(g.shown)
	}
	g.Choice.Content(text, tokens)
	if found {
		g.end(Stop)
	}
}

// Close implements harmony.Sink.
func (g *Gate) Close(end harmony.End) {
	if g.shut != 0 {
		return
	}
	g.tell(g.received + 1)
	if held := g.stops.flush(); len(held) > 0 {
		g.Choice.Content(held, 0)
	}
	g.Choice.Close(end)
}

// complete says that so much text has come, with which the tokens end that had none of it.
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

// tell passes on what is known of the tokens whose text ends at upto or before.
func (g *Gate) tell(upto int) {
	n := 0
	for n < len(g.held) && g.held[n].end <= upto {
		g.Choice.Logprob(&g.held[n].logprob)
		n++
	}
	g.held = g.held[:copy(g.held, g.held[n:])]
}

func (g *Gate) end(f Finish) {
	g.shut, g.held = f, nil
	g.Choice.Close(harmony.Cut)
}
