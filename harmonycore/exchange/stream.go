package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// stream takes a chunk of the server's event stream.
func (g *generation) stream(chunk []byte, end bool) ResponseAction {
	if len(chunk) > translate.MaxKeptBuffer {
		g.lend()
	}
	g.reader.Write(chunk)
	for {
		reading := g.reader.Next(&g.event)
		if reading == backend.Drained {
			break
		}
		if reading != backend.Read {
			return g.failOrComplete(errNotUnderstood(), end)
		}
		finished, failure := g.take()
		if failure != nil {
			return g.failOrComplete(failure, end)
		}
		if g.handover != nil && g.handover.left {
			action := g.deliver()
			g.state = over
			return action
		}
		if finished {
			return g.complete(end)
		}
	}
	if !end {
		return g.deliver()
	}
	// A server that closed after its finish reason has sent everything that counts.
	g.atEnd = true
	return g.complete(end)
}

// lend gives the answer the memory for large pieces, which [generation.deliver] takes back. What is withheld is small,
// and kept.
func (g *generation) lend() {
	if !g.withheld && g.outbox.Lend(g.memory.answer) {
		g.memory.answer = nil
	}
}

// maxOvershoot is how many tokens beyond the limit a server may send, such as tokens that it had predicted ahead.
const maxOvershoot = 64

// maxIdleEvents is how many events in a row may bring nothing: no token of a choice that has not ended, or that ended
// early and is below its limit.
// Healthy servers send a few, such as the count of tokens. Without this limit a server that sends them for ever would
// never be silent, and its client would wait as long.
const maxIdleEvents = 10_000

// maxMessages is how many messages the model may write in one choice of an answer. A model that keeps to its format
// writes a handful. One that has lost it can write tens of thousands within its token limit. In a Responses stream each
// message is an item with five events, and all items are repeated at the end.
const maxMessages = 1024

// take takes the event that was read last. It reports whether the answer ends with it.
func (g *generation) take() (bool, *openai.Error) {
	event := &g.event
	if event.Error != nil {
		return false, g.failure(event.Error)
	}
	if event.HasUsage {
		last := g.awaitsUsage()
		g.counts, g.counted = event.Usage, true
		if g.usage = event.Usage; last {
			return true, nil
		}
	}
	if event.Done {
		g.nameEnds()
	}
	if g.idleEvents++; g.idleEvents > maxIdleEvents {
		return false, errNotUnderstood()
	}
	if g.traced != nil {
		if failure := g.trace(event); failure != nil {
			return false, failure
		}
	}
	if sizeOf(event) == 0 && event.Finish == backend.Running && len(event.TextLogprobs) == 0 {
		return event.Done, nil
	}
	if event.Index < 0 || event.Index >= len(g.choices) {
		return false, errNotUnderstood()
	}
	failure := g.generate(&g.choices[event.Index], event)
	return failure == nil && (g.endedEarly || event.Last) && g.allEnded() && !g.awaitsUsage(), failure
}

// sizeOf returns how many tokens the event holds. For text that the server does not count it is an estimate, which is 0
// only for no text.
func sizeOf(event *backend.Event) int {
	if event.TextTokens > 0 {
		return len(event.Tokens) + event.TextTokens
	}
	n := len(event.Tokens) + harmony.EstimateTokens(len(event.Text))
	if len(event.Reasoning) > 0 || len(event.Calls) > 0 {
		n += harmony.EstimateTokens(len(event.Reasoning)) + len(event.Calls)
	}
	return n
}

// generate passes what the server generated to its choice.
func (g *generation) generate(c *choice, event *backend.Event) *openai.Error {
	if c.finish != backend.Running {
		if g.endedEarly {
			wasted := sizeOf(event)
			g.x.report.WastedTokens += wasted
			// The server may go on with this choice up to its limit before it begins another.
			if c.wasted += wasted; wasted > 0 && c.wasted <= g.maxTokens {
				g.idleEvents = 0
			}
		}
		return nil // the server has ended the choice, or the gateway has
	}
	// A whole answer is held, and must not grow with a server that never ends.
	if c.parser.exceeds(event, g.maxTokens+maxOvershoot) {
		return errNotUnderstood()
	}
	generated := sizeOf(event) > 0
	if generated {
		g.idleEvents = 0
	}
	if !g.started && (generated || event.Finish != backend.Aborted && event.Finish != backend.Running) {
		g.begin()
	}
	if generated && g.x.report.FirstToken < 0 {
		g.x.report.FirstToken = max(g.x.now()-g.forwarded, 0)
	}
	if failure := c.parser.take(g, c, event); failure != nil || c.finish != backend.Running {
		return failure
	}
	if g.handover != nil {
		g.handover.note(event)
	}
	if g.answer.Full() {
		return errAnswerTooLarge(g.api, g.translated.Stream)
	}
	switch {
	case event.Finish == backend.Running:
		return nil
	case c.endsLate && event.Finish.Regular():
		c.named = event.Finish
		return nil
	default:
		return c.end(g, event.Finish)
	}
}

// begin is called at the first token, or at the end of an answer without tokens. From then on the client may get the
// answer.
func (g *generation) begin() {
	if g.started {
		return
	}
	g.started = true
	if !g.whole() {
		g.lend() // the first events of a response have its instructions and tools
	}
	g.answer.Begin()
	for i := range g.choices {
		g.choices[i].parser.prefill(g)
	}
}

// maxKeptAnswer is the largest piece of an answer whose memory is kept for the next one, in bytes.
const maxKeptAnswer = 1 << 20

// deliver returns what is ready for the client.
func (g *generation) deliver() ResponseAction {
	if g.withheld {
		return g.x.client.wait()
	}
	ready := g.outbox.Take(nil)
	if g.handover != nil {
		ready = g.handover.mark(ready, g.x.client.state)
	}
	if size := cap(ready); size > translate.MaxKeptBuffer && size <= maxKeptAnswer {
		g.memory.answer = ready
	}
	if g.x.client.state == outletBegun {
		return ResponseAction{Body: ready} // as nearly always: the headers have been sent
	}
	return g.x.client.write(200, g.answer.ContentType(), ready)
}

// complete ends the answer. Every choice has been ended, by the server or earlier. end reports whether the server has
// ended the stream.
func (g *generation) complete(end bool) ResponseAction {
	if !g.allEnded() {
		return g.fail(errUnfinished())
	}
	if failure := g.endNamed(); failure != nil {
		return g.fail(failure)
	}
	if g.endedEarly {
		g.usage = backend.Usage{Prompt: g.usage.Prompt} // the rest counts what the client did not get
	}
	if g.handover != nil {
		g.handover.ends(g)
	}
	if g.usage.Completion == 0 {
		g.usage.Completion = g.generated() // a server that reports no usage: the gateway counts, or estimates
	}
	if g.promptTokens == 0 {
		g.promptTokens = g.usage.Prompt // only the servers know the prompt
	}
	g.lend() // the last event of a response has them once more
	g.answer.Finish(translate.Usage{
		PromptTokens: g.promptTokens, CachedTokens: g.usage.Cached, CachedKnown: g.usage.HasCached,
		CompletionTokens: g.usage.Completion, ReasoningEstimated: g.kind.Facts().EstimatesTokens(),
		ReasoningTokens: g.usage.Reasoning, ReasoningKnown: g.usage.HasReasoning, WindowFull: g.windowFull(),
	}, g.x.now()/1000)
	g.finished()
	if g.endedEarly && !end {
		return g.releaseServer()
	}
	g.state = over
	return g.x.client.close(g.deliver())
}

// windowFull reports whether an answer that the servers ended at its limit has filled the model's context.
func (g *generation) windowFull() bool {
	return !g.endedEarly && (g.boundByWindow || g.context > 0 && g.promptTokens+g.usage.Completion >= g.context)
}

// fail ends the answer with an error. The error is a status while the client has nothing, and otherwise an event in the
// stream. A Chat stream is reset behind it. One that failed because the server has ended it is only reset. Text before
// the error in the same chunk counts as sent, so that the answer does not depend on how the network cut the bytes.
func (g *generation) fail(failure *openai.Error) ResponseAction {
	g.countWasted() // the events after the error lie in the chunk, which belongs to the host
	action := g.deliver()
	if action.Hold {
		// A reply replaces the response at once, and the server is released.
		return g.x.client.reply(g.replyTo(failure))
	}
	if g.atEnd && g.cutsFailures() {
		// Nothing can be sent and then cut any more.
		g.state = over
		return g.x.client.cutOff(CutServer)
	}
	if g.x.client.state == outletSent {
		// The headers were sent before the first token. With status 200 a client would take an error as a whole answer for an
		// answer.
		if g.whole() {
			g.state = over
			return g.x.client.cutOff(CutServer)
		}
		action.Late = true
		g.begin()
		if g.withheld {
			// Text that a strict answer withholds has not been accepted. The error stands alone.
			g.beginAnswer()
			g.answer.Begin()
		}
	}
	action.Body = slices.Clone(action.Body) // it lies in the answer's memory
	for i := range g.choices {
		// Text that a strict answer withholds has not been accepted.
		if !g.strict {
			g.choices[i].parser.finish()
		}
	}
	g.answer.Fail(failure)
	action.Body = g.outbox.Take(action.Body)
	g.state = failed
	action.ResetAfter = g.cutsFailures()
	g.x.cutting = action.ResetAfter
	return g.x.client.close(action)
}

// whole reports whether the client wants the answer in one piece rather than as a stream.
func (g *generation) whole() bool { return g.answer.ContentType() == contentTypeJSON }
