package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// endEarly notes that a choice ended before the server ended it.
func (g *generation) endEarly(c *choice) {
	g.endedEarly = true
	switch {
	case c.finish == backend.Repeated:
		g.x.report.EarlyEnd = EarlyRepetition
	case c.finish == backend.Length:
		g.x.report.EarlyEnd = EarlyReasoning
	case c.gate.EndedByCall():
		g.x.report.EarlyEnd = EarlyCall
	default:
		g.x.report.EarlyEnd = EarlyStop
	}
}

// awaitsUsage reports whether only the usage is missing of an answer that ended with the only call that the client
// wanted. Only servers that take conversations know how long the prompt is, and they report it at their end. That comes
// soon, after another call or two. A server that goes on for longer is not waited for.
func (g *generation) awaitsUsage() bool {
	if !g.endedEarly || g.usage.Prompt > 0 || g.x.report.EarlyEnd != EarlyCall || g.promptTokens > 0 {
		return false
	}
	wasted := 0
	for i := range g.choices {
		wasted += g.choices[i].wasted
	}
	return wasted <= g.maxTokensAfterEnd && g.allEnded()
}

// failOrComplete ends the answer with an error, or as it is if only its usage is missing.
func (g *generation) failOrComplete(failure *openai.Error, end bool) ResponseAction {
	if g.awaitsUsage() {
		return g.complete(end)
	}
	return g.fail(failure)
}

// releaseServer sends the rest of an answer that ended before its server did, and releases the server.
//
// An answer that is not streamed is sent in place of the response while its headers are held. The server is then
// released at once. A stream must be cut for that. afterEnd cuts it later, since a cut would take the last bytes with
// it.
func (g *generation) releaseServer() ResponseAction {
	g.countWasted()
	if g.whole() && g.x.client.state == outletHeld {
		g.state = over
		return g.x.client.reply(&Reply{Status: 200, Body: g.outbox.Take(nil)})
	}
	g.state = ended
	return g.x.client.close(g.deliver())
}

// mayCut reports whether an answer that has ended may be cut off from a server that is still sending. To the
// transport a cut is an error. But a Chat stream marks its own end, and clients that stop reading there do not see the
// cut. Clients read a Responses stream, or an answer in one piece, up to its end, so they wait for the server. A server
// whose model repeats itself goes on to its limit, which may be hours away: its streams are cut for all clients.
func (g *generation) mayCut() bool {
	return (g.api == translate.ChatAPI || g.x.report.EarlyEnd == EarlyRepetition) && !g.whole()
}

// cutsFailures reports whether the stream is reset after its error, whatever the server does. Clients that know no error
// event in a Chat stream take any other end for the end of a whole answer (RATIONALE.md#202). A Responses stream and
// channel events have an event of their own for a failure.
func (g *generation) cutsFailures() bool {
	return g.api == translate.ChatAPI && !g.whole() && !g.byChannels
}

// afterEnd lets a server finish after the last event of the answer, for example send [DONE] after its error. It stops a
// server that still generates for a client that has stopped reading.
func (g *generation) afterEnd(chunk []byte, end bool) ResponseAction {
	g.reader.Write(chunk)
	continues := g.countWasted()
	if g.state == failed {
		continues = continues || g.tokensAfterEnd > 0
		if continues {
			g.x.report.EarlyEnd = EarlyError
		}
	} else {
		continues = g.mayCut() && (continues || g.tokensAfterEnd > g.maxTokensAfterEnd)
	}
	cuts := g.state == failed && g.cutsFailures() || continues && !end
	if end || cuts {
		g.state, g.x.cutting = over, false
	}
	return ResponseAction{Reset: cuts}
}

// maxBytesAfterAll is how many bytes a server may send after its end of the stream. Healthy ones send none. The client
// of a server that goes on for ever would wait for the end of the body as long.
const maxBytesAfterAll = 64 << 10

// afterAll lets a server close its stream after it has marked the end.
func (g *generation) afterAll(chunk []byte, end bool) ResponseAction {
	before := g.bytesAfterAll
	g.bytesAfterAll = min(before+len(chunk), maxBytesAfterAll+1)
	return ResponseAction{Reset: !end && before <= maxBytesAfterAll && g.bytesAfterAll > maxBytesAfterAll}
}

// countWasted counts the tokens of events that came after the end of the answer. It reports whether the stream is
// broken, or has more events without tokens than any server sends.
func (g *generation) countWasted() (broken bool) {
	for {
		reading := g.reader.Next(&g.event)
		g.idleEvents++
		switch reading {
		case backend.Read:
			if wasted := sizeOf(&g.event); wasted > 0 {
				g.idleEvents = 0
				g.tokensAfterEnd += wasted
				g.x.report.WastedTokens += wasted
			}
		case backend.Drained:
			return g.idleEvents > maxIdleEvents
		case backend.Broken:
			return true
		}
	}
}
