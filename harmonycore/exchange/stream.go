package exchange

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

const contentTypeJSON = "application/json"

// stream takes a chunk of the server's event stream.
func (e *Exchange) stream(chunk []byte, end bool) ResponseAction {
	e.events.Write(e.trimmer.Trim(chunk))
	for {
		data, ok := e.events.Next()
		if !ok {
			break
		}
		finished, failure := e.take(data)
		if failure != nil {
			return e.fail(failure)
		}
		if finished {
			return e.complete(end)
		}
	}
	if e.events.Broken() {
		return e.fail(errNotUnderstood())
	}
	if !end {
		return e.deliver()
	}
	// A server that closed behind its finish reason has said all that counts.
	return e.complete(end)
}

// overshoot is how many tokens beyond the limit a server may send, such as those that it had guessed ahead.
const overshoot = 64

// maxMessages is how many messages the model may write in one choice of an answer. A model that keeps to its format writes a
// handful; one that has lost it can write tens of thousands within its limit on tokens, and in a Responses stream each is an
// item with five events, which are all repeated at the end.
const maxMessages = 1024

// take reads one event and reports whether the answer ends with it.
func (e *Exchange) take(data []byte) (bool, *openai.Error) {
	event := &e.event
	if !e.server.ReadEvent(data, event) {
		return false, errNotUnderstood()
	}
	if event.Error != nil {
		return false, e.failure(event.Error)
	}
	if event.HasUsage {
		e.usage = event.Usage
	}
	if len(event.Tokens) == 0 && event.Finish == backend.Running {
		return event.Done, nil
	}
	c := e.choice(event.Index)
	if c == nil {
		return false, errNotUnderstood()
	}
	failure := e.generate(c, event)
	return failure == nil && e.early && e.ended(), failure
}

// generate gives a choice what the server has generated for it.
func (e *Exchange) generate(c *choice, event *backend.Event) *openai.Error {
	if c.finish != backend.Running {
		if e.early {
			e.report.WastedTokens += len(event.Tokens)
		}
		return nil // it has said that this is the end, or we have
	}
	// A whole answer is held, and must not grow with a server that does not end.
	if c.generated+len(event.Tokens) > e.maxTokens+overshoot {
		return errNotUnderstood()
	}
	if len(event.Tokens) > 0 && e.report.FirstToken < 0 {
		e.report.FirstToken = max(e.active-e.asked, 0)
	}
	if len(event.Tokens) > 0 || event.Finish != backend.Aborted {
		e.begin()
	}
	if c.likely != nil && len(event.Likely) != len(event.Tokens) {
		return errNoLogprobs(e.kind)
	}
	for at, id := range event.Tokens {
		c.generated++
		if slices.Contains(e.silentStops, id) {
			continue
		}
		// What the reference refuses is not delivered where that counts.
		if c.check.Process(id); e.strict && c.check.Err() != nil {
			return errHarmony(c.check.Err())
		}
		if c.process(event, at); c.parser.Opened() > maxMessages {
			return errTooManyMessages()
		}
		e.withheld = e.withheld && id != tokenizer.Message
		// What is withheld is no answer yet that could end.
		if !e.withheld && c.shut() {
			e.endEarly(c)
			e.report.WastedTokens += len(event.Tokens) - at - 1
			return nil
		}
	}
	if e.answer.Full() {
		return errAnswerTooLarge(e.kind, e.request.Stream)
	}
	if event.Finish.Regular() {
		if c.check.Finish(); e.strict && c.check.Err() != nil {
			return errHarmony(c.check.Err())
		}
	}
	c.end(event.Finish)
	return nil
}

// begin is at the first token, or at the end of an answer without one: from here on the client can have it.
func (e *Exchange) begin() {
	if !e.begun {
		e.begun = true
		e.answer.Begin()
		for i := range e.choices {
			c := &e.choices[i]
			for _, id := range e.prefilled {
				c.parser.Process(id)
				c.check.Process(id)
				e.withheld = e.withheld && id != tokenizer.Message
			}
		}
	}
}

// keptBuffer is the largest buffer kept from one action to the next, in bytes.
const keptBuffer = 64 << 10

// deliver hands out what is ready. The headers go with the first bytes.
func (e *Exchange) deliver() ResponseAction {
	if e.withheld {
		return ResponseAction{Hold: !e.headSent}
	}
	if cap(e.scratch) > keptBuffer {
		e.scratch = nil
	}
	e.scratch = e.answer.Take(e.scratch[:0])
	if e.state == streaming {
		return ResponseAction{Body: e.scratch}
	}
	if len(e.scratch) == 0 {
		return ResponseAction{Hold: !e.headSent}
	}
	e.state = streaming
	if e.headSent {
		return ResponseAction{Body: e.scratch}
	}
	return ResponseAction{Head: &Head{Status: 200, ContentType: e.answer.ContentType()}, Body: e.scratch}
}

// complete ends the answer, of which every choice has been ended, by the server or before it. end says that the server
// has ended the stream.
func (e *Exchange) complete(end bool) ResponseAction {
	if !e.ended() {
		return e.fail(errUnfinished())
	}
	if e.early {
		e.usage = backend.Usage{} // the server's would come at the end, and counts what nobody was given
	}
	if e.usage.Completion == 0 {
		e.usage.Completion = e.generated() // a server without usage; the ids are there to be counted
	}
	e.answer.Finish(translate.Usage{
		PromptTokens: e.promptTokens, CachedTokens: e.usage.Cached, CachedKnown: e.usage.HasCached,
		CompletionTokens: e.usage.Completion,
	}, e.active/1000)
	e.finished()
	action := e.deliver()
	e.state = over
	if e.early && !end {
		return e.leave(action)
	}
	return action
}

// fail ends the answer with an error: with a status while the client has nothing, inside the stream once there is
// something for it. What came before the error in the same chunk counts as sent, so that the answer does not depend
// on where the network cut the bytes.
func (e *Exchange) fail(failure *openai.Error) ResponseAction {
	e.passOver() // the events behind the error lie in the chunk, which is the host's
	action := e.deliver()
	if action.Hold {
		// A reply takes the response's place at once, and the server is let go.
		return e.reply(replyWith(failure))
	}
	if e.state == listening {
		// The headers have gone before the first token. An error as a whole answer with status 200 would be taken for one.
		if e.answer.ContentType() == contentTypeJSON {
			return e.cutLate(CutServer)
		}
		action.Late = true
		e.begin()
		if e.withheld {
			// What a strict answer holds back has not been accepted, and the error stands alone.
			e.answer = e.request.NewAnswer()
			e.answer.Begin()
		}
	}
	for i := range e.choices {
		// What a strict answer holds back has not been accepted.
		if !e.strict {
			e.choices[i].parser.Finish()
		}
	}
	e.answer.Fail(failure)
	e.scratch = e.answer.Take(e.scratch)
	action.Body = e.scratch
	e.state = failed
	return action
}

// mostSkipped is how much of a failed response is waited for beyond what is read of it, in bytes.
const mostSkipped = 1 << 20

// collectLate goes on collecting under headers that have been sent: only the end of the response can end them well.
func (e *Exchange) collectLate(skipped int, end bool) ResponseAction {
	e.skipped += skipped
	switch {
	case end:
		r := e.collectedReply()
		e.state = over
		return ResponseAction{Body: r.Body}
	case e.skipped > mostSkipped:
		return e.cutLate(CutServer)
	default:
		return ResponseAction{}
	}
}

// headStatus is the status of a failed response as far as its headers tell: that of collectedReply, but for servers
// that say in the body alone which one they mean.
func (e *Exchange) headStatus() int {
	if e.local || e.status >= 400 && e.status <= 599 && e.status != 404 {
		return e.status
	}
	return errNotUnderstood().Status
}

// collectedReply puts a failed response, of which all is there now, into our shape.
func (e *Exchange) collectedReply() *Reply {
	if e.local {
		return replyWith(localError(e.status, string(e.collected), e.received, e.gateway.options.BodyLimit))
	}
	failure := backend.ReadError(e.status, e.collected)
	if e.status >= 200 && e.status <= 299 {
		// Some servers say that they failed under a status that says they did not.
		if failure = backend.BodyError(e.collected); failure == nil {
			return replyWith(errNotUnderstood())
		}
	}
	r := replyWith(e.failure(failure))
	r.RetryAfter = e.retry
	return r
}

func isEventStream(contentType string) bool { return isMediaType(contentType, "text/event-stream") }

func isJSON(contentType string) bool { return isMediaType(contentType, contentTypeJSON) }

func isMediaType(contentType, want string) bool {
	return len(contentType) >= len(want) && strings.EqualFold(contentType[:len(want)], want) &&
		(len(contentType) == len(want) || contentType[len(want)] == ';' || contentType[len(want)] == ' ')
}
