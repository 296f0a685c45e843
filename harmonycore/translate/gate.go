package translate

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// Gate stands between a parser and a Choice, and shuts where the answer ends before the model does: at a stop sequence in
// the text of a final message, or at the first token of reasoning beyond the cap. What comes later is kept from the
// Choice, which is left without an open message and whose End is for the Gate's owner to call.
//
// Preambles are on the way to a call, and a call that a stop sequence swallowed would be an agent's turn lost: like
// reasoning and arguments they are not looked at. Nor does a sequence reach from one message into another.
type Gate struct {
	Choice
	turn  turn
	stops stops
	// left is how many tokens of reasoning may still come, where there is a cap.
	capped bool
	left   int
	shut   Finish
}

// reasoningLimit is the lower one of the model's limit and the client's.
func (m *Model) reasoningLimit(asked *int) *int {
	if m.MaxReasoning > 0 && (asked == nil || *asked > m.MaxReasoning) {
		return &m.MaxReasoning
	}
	return asked
}

// Gate is what a parser that speaks to c must speak to instead, or nil where the request limits nothing.
func (r *Request) Gate(c Choice) *Gate {
	if len(r.Stop) == 0 && r.MaxReasoning == nil {
		return nil
	}
	g := &Gate{Choice: c, turn: r.newTurn(), stops: newStops(r.Stop)}
	if r.MaxReasoning != nil {
		g.capped, g.left = true, *r.MaxReasoning
	}
	return g
}

// Shut is why the Gate has shut: Stop at a stop sequence, Length at the cap; zero while it is open.
func (g *Gate) Shut() Finish { return g.shut }

// Open implements harmony.Sink.
func (g *Gate) Open(h harmony.Header) {
	if g.shut != 0 {
		return
	}
	g.turn.open(h)
	g.Choice.Open(h)
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
		text, found = g.stops.add(text)
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
	if held := g.stops.flush(); len(held) > 0 {
		g.Choice.Content(held, 0)
	}
	g.Choice.Close(end)
}

func (g *Gate) end(f Finish) {
	g.shut = f
	g.Choice.Close(harmony.Cut)
}
