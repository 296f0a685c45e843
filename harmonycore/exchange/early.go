package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// endEarly notes that a choice has ended before the server ended it.
func (g *generation) endEarly(c *choice) {
	g.endedEarly = true
	switch {
	case c.finish == backend.Length:
		g.x.report.EarlyEnd = EarlyReasoning
	case c.gate.EndedByCall():
		g.x.report.EarlyEnd = EarlyCall
	default:
		g.x.report.EarlyEnd = EarlyStop
	}
}

// releaseServer sends the last of an answer that ended before its server did, and releases the server.
//
// An answer that is not streamed replaces the response while its headers are held, which releases the server at once.
// A stream has to be cut for that. The cut comes later, because it discards what was written last: see afterEnd.
func (g *generation) releaseServer() ResponseAction {
	g.countWasted()
	if g.whole() && g.x.client.state == outletHeld {
		g.state = over
		g.scratch = g.answer.Take(g.scratch[:0])
		return g.x.client.reply(&Reply{Status: 200, Body: g.scratch})
	}
	g.state = ended
	return g.x.client.close(g.deliver())
}

// mayCut reports whether the stream of an answer that has ended may be cut while its server continues. A cut shows in
// the transport as an error, but Chat's streams say themselves where they end, and clients that read no further see
// nothing of it. Of a Responses stream, or an answer as a whole, clients read all that there is: they wait for the
// server.
func (g *generation) mayCut() bool { return g.api == translate.ChatAPI && !g.whole() }

// afterEnd lets a server end its stream regularly after the end of the answer, for instance by the [DONE] after its
// error. It does not let the server go on generating for a client that reads no more.
func (g *generation) afterEnd(chunk []byte, end bool) ResponseAction {
	g.events.Write(g.trimmer.Trim(chunk))
	g.countWasted()
	continues := g.events.Broken()
	if g.state == failed {
		continues = continues || g.tokensAfterEnd > 0
		if continues {
			g.x.report.EarlyEnd = EarlyError
		}
	} else {
		continues = g.mayCut() && (continues || g.tokensAfterEnd > g.maxTokensAfterEnd)
	}
	if end || continues {
		g.state = over
	}
	return ResponseAction{Reset: continues && !end}
}

// countWasted counts the tokens of the events that came after the end of the answer.
func (g *generation) countWasted() {
	for {
		data, ok := g.events.Next()
		if !ok {
			return
		}
		if g.server.ReadEvent(data, &g.event) {
			g.tokensAfterEnd += len(g.event.Tokens)
			g.x.report.WastedTokens += len(g.event.Tokens)
		}
	}
}
