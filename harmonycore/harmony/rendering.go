package harmony

import "math"

// Rendering renders one conversation, as many of its messages at a time as its user likes. All of them, one after the
// other, give what [Renderer.AppendConversation] gives.
type Rendering struct {
	w            messageWriter
	conversation *Conversation
	// dropped is the index before which analysis is left out.
	dropped int
}

// Begin begins to render c, of whose past reasoning p leaves some out. End must be called.
func (r *Renderer) Begin(c *Conversation, p AnalysisPolicy) *Rendering {
	return &Rendering{
		w:            messageWriter{r: r, e: r.t.Borrow(), calls: c.hasFunctionTools()},
		conversation: c, dropped: c.analysisDroppedBefore(p),
	}
}

// End ends the rendering.
func (g *Rendering) End() { g.w.r.t.Return(g.w.e) }

// Append appends the messages from one index up to another, and reports whether they take no more than most tokens. If
// they take more, it stops soon after that many, or before it has begun. Then, and on an error, dst comes back as it
// was.
func (g *Rendering) Append(dst []uint32, from, to, most int) (out []uint32, fit bool, err error) {
	g.w.limit, g.w.full = math.MaxInt, false
	if most < math.MaxInt-len(dst) {
		g.w.limit = len(dst) + most
	}
	out = dst
	for i := max(from, 0); i < min(to, len(g.conversation.Messages)); i++ {
		m := &g.conversation.Messages[i]
		if i < g.dropped && m.onChannel(Analysis) {
			continue
		}
		if out, err = g.w.message(out, m); err != nil {
			return dst, true, err
		}
		if g.w.full || len(out) > g.w.limit {
			return dst, false, nil
		}
	}
	return out, true, nil
}
