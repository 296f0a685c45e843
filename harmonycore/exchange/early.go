package exchange

import "github.com/harmonyedge/harmonyedge/harmonycore/backend"

// endEarly notes that a choice has ended before the server ended it.
func (e *Exchange) endEarly(c *choice) {
	e.early = true
	switch {
	case c.finish == backend.Length:
		e.report.EarlyEnd = EarlyReasoning
	case c.gate.Called():
		e.report.EarlyEnd = EarlyCall
	default:
		e.report.EarlyEnd = EarlyStop
	}
}

// leave lets go of a server whose answer has ended before it; action hands out the last of the answer.
//
// An answer that is not streamed is sent in place of the response, whose headers are still held: the server is let go at
// once. A stream has to be cut for that, later, since a cut takes what was written last with it: see afterEnd.
func (e *Exchange) leave(action ResponseAction) ResponseAction {
	e.passOver()
	if e.answer.ContentType() == contentTypeJSON && !e.headSent {
		return e.reply(&Reply{Status: 200, Body: action.Body})
	}
	e.state = ended
	return action
}

// cuttable reports whether an answer that has ended may be cut off from a server that goes on. A cut shows in the
// transport as an error, but Chat's streams say themselves where they end, and those who read no further see nothing of
// it. Of a Responses stream, or an answer as a whole, clients read all that there is: they wait for the server.
func (e *Exchange) cuttable() bool {
	return e.kind == chat && e.answer.ContentType() != contentTypeJSON
}

// afterEnd lets a server end in peace behind the last word of the answer, such as by the [DONE] behind its error, but not
// generate on for a client that does not listen any more.
func (e *Exchange) afterEnd(chunk []byte, end bool) ResponseAction {
	e.events.Write(e.trimmer.Trim(chunk))
	e.passOver()
	goesOn := e.events.Broken()
	if e.state == failed {
		goesOn = goesOn || e.behind > 0
		if goesOn {
			e.report.EarlyEnd = EarlyError
		}
	} else {
		goesOn = e.cuttable() && (goesOn || e.behind > e.patience)
	}
	if end || goesOn {
		e.state = over
	}
	return ResponseAction{Reset: goesOn && !end}
}

// passOver counts the tokens of the events that have come behind the end of the answer.
func (e *Exchange) passOver() {
	for {
		data, ok := e.events.Next()
		if !ok {
			return
		}
		if e.server.ReadEvent(data, &e.event) {
			e.behind += len(e.event.Tokens)
			e.report.WastedTokens += len(e.event.Tokens)
		}
	}
}
