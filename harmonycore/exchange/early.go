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
	case c.gate.Called():
		g.x.report.EarlyEnd = EarlyCall
	default:
		g.x.report.EarlyEnd = EarlyStop
	}
}

// letGo hands out the last of an answer that has ended before its server, and lets go of the server.
//
// An answer that is not streamed is sent in place of the response while its headers are held: the server is let go at
// once. A stream has to be cut for that, later, since a cut takes what was written last with it: see afterEnd.
func (g *generation) letGo() ResponseAction {
	g.passOver()
	if g.whole() && g.x.client.state == outletHeld {
		g.state = over
		g.scratch = g.answer.Take(g.scratch[:0])
		return g.x.client.reply(&Reply{Status: 200, Body: g.scratch})
	}
	g.state = ended
	return g.x.client.close(g.deliver())
}

// cuttable reports whether an answer that has ended may be cut off from a server that goes on. A cut shows in the
// transport as an error, but Chat's streams say themselves where they end, and clients that read no further see nothing
// of it. Of a Responses stream, or an answer as a whole, clients read all that there is: they wait for the server.
func (g *generation) cuttable() bool { return g.api == translate.ChatAPI && !g.whole() }

// afterEnd lets a server end in peace after the last word of the answer, such as by the [DONE] after its error, but not
// generate on for a client that does not listen any more.
func (g *generation) afterEnd(chunk []byte, end bool) ResponseAction {
	g.events.Write(g.trimmer.Trim(chunk))
	g.passOver()
	goesOn := g.events.Broken()
	if g.state == failed {
		goesOn = goesOn || g.tokensAfterEnd > 0
		if goesOn {
			g.x.report.EarlyEnd = EarlyError
		}
	} else {
		goesOn = g.cuttable() && (goesOn || g.tokensAfterEnd > g.maxTokensAfterEnd)
	}
	if end || goesOn {
		g.state = over
	}
	return ResponseAction{Reset: goesOn && !end}
}

// passOver counts the tokens of the events that have come after the end of the answer.
func (g *generation) passOver() {
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
