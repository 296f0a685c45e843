package harmony

import "math"

// Rendering renders one conversation in portions of as many messages as the caller wants. All portions together are the
// output of [Renderer.AppendConversation].
type Rendering struct {
	w            messageWriter
	conversation *Conversation
	// dropped is the index before which analysis is left out.
	dropped int
	// Ends gets the length of the output behind each message, also behind one that is left out, if it is not nil.
	Ends []int
	// ToolTokens counts the tokens of tools' messages in the output, their headers included.
	ToolTokens int
}

// Begin begins to render c. p decides which past reasoning is left out. The caller must call [Rendering.End].
func (r *Renderer) Begin(c *Conversation, p AnalysisPolicy) *Rendering {
	return &Rendering{
		w:            messageWriter{r: r, e: r.t.Borrow(), hasFunctions: c.hasFunctionTools()},
		conversation: c, dropped: c.analysisDroppedBefore(p),
	}
}

// End ends the rendering and returns its buffers.
func (g *Rendering) End() { g.w.r.t.Return(g.w.e) }

// Append appends the messages with the indexes from ≤ i < to. fit reports whether they take at most limit tokens.
// If they take more, Append stops before or soon after that many. Then, and on an error, it returns dst unchanged.
func (g *Rendering) Append(dst []uint32, from, to, limit int) (out []uint32, fit bool, err error) {
	g.w.limit, g.w.exceeded = math.MaxInt, false
	if limit < math.MaxInt-len(dst) {
		g.w.limit = len(dst) + limit
	}
	out = dst
	for i := max(from, 0); i < min(to, len(g.conversation.Messages)); i++ {
		m := &g.conversation.Messages[i]
		if i < g.dropped && m.onChannel(Analysis) {
			g.end(out)
			continue
		}
		begin := len(out)
		if out, err = g.w.message(out, m); err != nil {
			return dst, true, err
		}
		if m.Role == Tool {
			g.ToolTokens += len(out) - begin
		}
		if g.w.exceeded || len(out) > g.w.limit {
			return dst, false, nil
		}
		g.end(out)
	}
	return out, true, nil
}

func (g *Rendering) end(out []uint32) {
	if g.Ends != nil {
		g.Ends = append(g.Ends, len(out))
	}
}
