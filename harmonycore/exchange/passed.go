package exchange

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// passed takes the answer to a Chat request that went on as it was, to servers that take conversations. The client gets
// the answer with the model's name in it that it has asked for, and nothing else changed. Each event is read for the
// report, and for three things that the client must not get: Harmony in a text that begins so, from which the answer is
// made anew, an end that is none, and a stop sequence.
type passed struct {
	x     *Exchange
	model *Model
	// renamer has the name of the model in the request.
	renamer chatserver.Renamer
	copyReader
	// contentType and status are the answer's. whole reports whether it is one JSON object, and no stream.
	contentType string
	status      int
	whole       bool
	// complete reports whether an answer in one piece has come to its end.
	complete bool
	// pending is what has come and has not been sent. The first read bytes of it have been read. out is what is sent.
	// eventAt is where the newest event begins in it.
	pending []byte
	read    int
	eventAt int
	out     []byte
	stops   passedStops
	// oneLine reports whether what has been read is one event with one line.
	oneLine bool
	// beginning is what the text of the answer begins with. The client gets nothing while it is undecided. text is the
	// text so far, of the choice with this index.
	beginning structure.Beginning
	textOf    int
	begun     []byte
	// request is the request if the answer can be made anew, and otherwise nil. context is its [modelRequest.context].
	request *translate.Request
	context int
	scratch *Scratch
	// called are names of calls of the last event that are others for the client.
	called []string

	usage backend.Usage
	tally translate.Tally
	// lengths are how many bytes of reasoning, text and arguments have come.
	reasoning, text, arguments int
	// finish is the newest end of a choice. failed reports whether the server sent an error instead.
	finish backend.Finish
	failed bool
	// gaveUp reports whether the server has named an end that is none, such as abort, or has ended without an answer.
	gaveUp bool
	// streams reports whether the client has asked for a stream.
	streams bool
	// forwarded is when the request was forwarded, in milliseconds since 1970.
	forwarded int64
}

// maxUndecided is how much of an answer waits for its text to show what it is, in bytes. maxPending is how much waits
// for the end of an event, or of an answer in one piece.
const (
	maxUndecided = 256 << 10
	maxPending   = sse.MaxEvent
)

// passChat sends a Chat request on with the model's name, the operator's defaults and the roles that the servers know.
func (e *Exchange) passChat(a *modelRequest, body []byte, h Host) RequestAction {
	failure := e.checkPassed(a.model)
	a.overrideDemand()
	if failure == nil {
		failure = a.fitsEstimate(paramMessages)
	}
	if failure != nil {
		return e.refuse(failure)
	}
	a.reserveCounted(h)
	scratch := h.scratch()
	sent, failure := chatserver.AppendRewritten(scratch.body[:0], body, changesOf(a.model))
	if failure != nil {
		return e.refuse(failure)
	}
	scratch.body = sent
	p := &passed{x: e, model: a.model, streams: a.body.Streams, forwarded: e.lastActivity}
	p.renamer.Name = a.body.Model
	p.stops.sequences = chatserver.StopsOf(sent)
	p.prepare(a, h)
	e.passed, e.response, e.report.FirstToken = p, p, -1
	a.routeByText(sent)
	action := e.forward(a.model, sent, mayBeSilent)
	action.Forward.Readable = !e.headersForwarded
	return action
}

// changesOf returns what changes in a Chat request on its way to the model's servers.
func changesOf(m *Model) *chatserver.Changes {
	return &chatserver.Changes{
		Model: m.ServerModel, ExtraBody: m.ExtraBody, Overrides: m.SamplingOverrides, Chat: &m.Chat,
	}
}

// checkPassed refuses what the gateway cannot give of an answer that it does not make.
func (e *Exchange) checkPassed(m *Model) *openai.Error {
	if e.options.strict {
		return openai.Unsupported(contract.StrictHeader, "Unsupported header: '"+contract.StrictHeader+
			"'. This model does not speak Harmony, whose format the header is about. Leave it out.")
	}
	return nil
}

func (p *passed) headers(h ResponseHead) ResponseAction {
	if h.failed() {
		p.failed = true
		p.x.response = &failedResponse{x: p.x, model: p.model, answer: p.answerFailed}
		return p.x.response.headers(h)
	}
	switch {
	case h.End:
	case isMediaType(h.ContentType, p.model.Kind.Facts().StreamType()):
		p.reader = p.model.Kind.NewReader()
		p.alike, _ = p.reader.(backend.LikeReader)
	case isJSON(h.ContentType):
		p.reader, p.whole = backend.NewWholeReader(), true
	}
	if p.reader == nil {
		p.x.client.state = outletBegun
		return ResponseAction{Pass: true}
	}
	p.status, p.contentType = h.Status, strings.Clone(h.ContentType) // the memory is the host's
	return p.x.client.hold(p.status, p.contentType)
}

// prepare keeps what is needed to make the answer anew. It overwrites the client's body. A request that the gateway
// cannot read has an answer that passes whatever it holds.
func (p *passed) prepare(a *modelRequest, h Host) {
	p.beginning = structure.Plain
	if a.model.Speaks != contract.SpeaksAuto {
		return
	}
	if r, failure := a.read(translate.ChatAnswer, h); failure == nil {
		p.beginning, p.request, p.context, p.scratch, p.textOf = structure.Undecided, r, a.context, h.Scratch, -1
	}
}

func (p *passed) body(chunk []byte, end bool) ResponseAction {
	switch {
	case p.x.client.state == outletClosed:
		return ResponseAction{}
	case p.contentType == "": // an answer of another form
		if end {
			p.x.client.state = outletClosed
		}
		return ResponseAction{Pass: true}
	}
	p.pending = append(p.pending, chunk...)
	p.out = p.out[:0]
	for p.reader != nil {
		if !p.readLike() {
			event := p.nextEvent(end)
			if len(event) == 0 {
				break
			}
			p.readEvent(event)
		}
		p.cutStops()
		switch {
		case p.beginning == structure.Harmonic:
			return p.remake(end)
		case p.gaveUp:
			return p.giveUp()
		}
		p.release()
	}
	if !end && p.reader != nil && len(p.pending) <= maxPending {
		return p.deliver(false)
	}
	p.releaseAll()
	if !end {
		p.reader = nil
	}
	return p.deliver(end)
}

// releaseAll moves everything to what is sent, at the end of the answer, or where it cannot be read any further.
func (p *passed) releaseAll() {
	p.beginning, p.complete, p.stops = structure.Plain, true, passedStops{}
	if p.reader == nil && p.x.client.state == outletBegun {
		p.out = append(p.out, p.pending...) // it may begin in the middle of an object
		p.pending, p.read = p.pending[:0], 0
		return
	}
	p.read = len(p.pending)
	p.release()
}

// nextEvent returns the next event in what is pending that is whole, with its blank line. An answer in one piece is one
// event. At the end of the answer the rest is an event.
func (p *passed) nextEvent(end bool) []byte {
	p.eventAt = p.read
	rest := p.pending[p.read:]
	if p.whole {
		p.read = len(p.pending)
		return rest
	}
	size, lines := eventSize(rest)
	p.oneLine = p.read == 0 && lines == 1
	if end && size == 0 {
		size = len(rest)
	}
	p.read += size
	return rest[:size]
}

// eventSize returns the size of the event at the beginning of b, with its blank line, and how many other lines it has.
// The size is 0 if the event is not whole.
func eventSize(b []byte) (size, lines int) {
	for at := 0; ; lines++ {
		n := lineSize(b[at:])
		if n == 0 {
			return 0, 0
		}
		blank := n == 1 || n == 2 && b[at] == '\r'
		if at += n; blank {
			return at, lines
		}
	}
}

// lineSize returns the size of the line at the beginning of b, with its line feed, or 0 if it is not whole.
func lineSize(b []byte) int {
	for at := 0; at < len(b); at++ {
		at += sse.LineSize(b[at:])
		if at < len(b) && b[at] == '\n' {
			return at + 1
		}
	}
	return 0
}

// readLike reads the next event if it is like the one before it, without looking for its end. It reports whether it
// did. Such an event has one line.
func (p *passed) readLike() bool {
	size := p.like(p.pending[p.read:])
	if size == 0 {
		return false
	}
	p.oneLine, p.eventAt = p.read == 0, p.read
	p.read += size
	if p.reader != nil {
		p.note()
	}
	return true
}

// readEvent reads a copy of an event.
func (p *passed) readEvent(event []byte) {
	p.write(event)
	for more, _ := p.next(); more; more, _ = p.next() {
		p.note()
	}
}

// release moves what has been read to what is sent, once the answer's beginning is known. An answer in one piece is
// sent when it is whole, and from then on everything.
func (p *passed) release() {
	if p.beginning == structure.Undecided && p.read > maxUndecided && !p.whole {
		p.beginning = structure.Plain
	}
	if p.beginning == structure.Undecided || p.whole && !p.complete {
		return
	}
	if p.whole {
		p.cutWhole()
	}
	n := p.stops.certain(p.read)
	event := p.pending[:n]
	for _, name := range p.called {
		event = bytes.ReplaceAll(event, quoted(name), quoted(p.request.CalledName(name)))
	}
	if p.oneLine {
		p.out = p.renamer.Append(p.out, event)
	} else {
		p.appendRenamed(event)
	}
	p.pending = p.pending[:copy(p.pending, p.pending[n:])]
	p.read -= n
	p.stops.removed(-1, n)
	if p.read == 0 {
		p.called = p.called[:0]
	}
}

// appendRenamed moves a whole answer, or events line by line, to what is sent.
func (p *passed) appendRenamed(text []byte) {
	for len(text) > 0 {
		size := len(text)
		if !p.whole {
			size = cmp.Or(lineSize(text), size)
		}
		p.out = p.renamer.Append(p.out, text[:size])
		text = text[size:]
	}
}

func quoted(name string) []byte { return append(append([]byte{'"'}, name...), '"') }

// deliver returns what is ready for the client.
func (p *passed) deliver(end bool) ResponseAction {
	if end {
		return p.x.client.last(p.status, p.contentType, p.out)
	}
	return p.x.client.write(p.status, p.contentType, p.out)
}

// remake makes the answer anew from what has come of it.
func (p *passed) remake(end bool) ResponseAction {
	c := conversation{&generation{x: p.x, api: translate.ChatAPI, state: listening}}
	firstToken := p.x.report.FirstToken
	c.begins(p.model, p.request, Host{Scratch: p.scratch})
	p.x.report.FirstToken = firstToken
	c.maxTokens, c.forwarded = cmp.Or(p.request.Sampling.MaxTokens, p.context), p.forwarded
	if p.whole {
		c.reader = backend.NewWholeReader()
	}
	p.x.passed, p.x.generation, p.x.response = nil, c.generation, c.generation
	return c.body(p.pending, end)
}

// giveUp ends an answer that its server has given up: with an error while the client has nothing, and otherwise with an
// error as the last event.
func (p *passed) giveUp() ResponseAction {
	p.failed = true
	client := &p.x.client
	if len(p.out) == 0 && client.state == outletHeld || p.whole {
		return client.fail(p.x.replyWith(errUnfinished()), CutServer)
	}
	p.read, p.stops = p.eventAt, passedStops{}
	p.release() // what has waited for a stop sequence
	failure := (&openai.ChatChunks{}).AppendFailure(p.out, errUnfinished())
	return client.last(p.status, p.contentType, failure)
}

// note counts what an event holds.
func (p *passed) note() {
	e := &p.event
	if e.HasUsage {
		p.usage = e.Usage
	}
	if e.Error != nil {
		p.failed = true
	}
	if e.Finish != backend.Running {
		p.finish = e.Finish
	}
	p.gaveUp, p.complete = p.gaveUp || e.Failed || e.Done && p.saidNothing(), true
	p.stops.note(e, p.eventAt)
	p.decide()
	if sizeOf(e) == 0 {
		return
	}
	if p.x.report.FirstToken < 0 {
		p.x.report.FirstToken = max(p.x.now()-p.forwarded, 0)
	}
	p.reasoning += len(e.Reasoning)
	p.text += len(e.Text)
	for i := range e.Calls {
		p.arguments += len(e.Calls[i].Arguments)
		if len(e.Calls[i].Name) > 0 {
			p.tally.Calls++ // only the first piece has a name
			if name := string(e.Calls[i].Name); p.request != nil && p.request.CalledName(name) != name {
				p.called = append(p.called, name)
			}
		}
	}
}

// saidNothing reports whether a stream has neither a token nor a reason for its end. vLLM ends a stream so that it gives
// up before the first token.
func (p *passed) saidNothing() bool {
	return !p.whole && !p.failed && p.finish == backend.Running && p.reasoning+p.text+p.arguments+p.tally.Calls == 0
}

// decide looks at what the text of the answer begins with. An answer whose reasoning or calls the server has separated
// is not Harmony.
func (p *passed) decide() {
	e := &p.event
	if p.beginning != structure.Undecided {
		return
	}
	if len(e.Text) > 0 && (p.textOf < 0 || p.textOf == e.Index) && len(e.Reasoning) == 0 {
		p.textOf = e.Index
		p.begun = append(p.begun, e.Text...)
		p.beginning = structure.BeginningOf(p.begun)
	}
	if p.beginning == structure.Undecided &&
		(len(e.Reasoning) > 0 || len(e.Calls) > 0 || e.Finish != backend.Running || e.Error != nil || e.Done) {
		p.beginning = structure.Plain
	}
	if p.beginning != structure.Undecided {
		p.begun = nil
	}
}

func (p *passed) trailers() ResponseAction {
	if len(p.pending) > 0 && p.x.client.open() {
		return p.x.client.fail(p.x.replyWith(errUnfinished()), CutServer)
	}
	p.x.client.state = outletClosed
	return ResponseAction{Pass: true}
}

// silent leaves a server alone that makes an answer in one piece: it sends nothing before the answer is whole.
func (p *passed) silent(limit int64) ResponseAction {
	if !p.streams || p.x.client.state == outletClosed {
		return ResponseAction{}
	}
	return p.x.client.fail(p.x.replyWith(errStalled(limit)), CutStall)
}

// answerFailed returns the reply to a server's error.
func (p *passed) answerFailed(failed *backend.Error) *Reply {
	out, _ := p.x.refused(failed, p.model, paramMessages)
	return p.x.replyWith(out)
}

// complement adds the answer's part to a report.
func (p *passed) complement(r *Report) {
	r.Translated = true
	r.PromptTokens, r.CachedTokens = p.usage.Prompt, min(p.usage.Cached, p.usage.Prompt)
	r.Tally = p.tally
	r.Reasoning = harmony.EstimateTokens(p.reasoning)
	if p.usage.HasReasoning {
		r.Reasoning = p.usage.Reasoning
	}
	r.ToolCall = harmony.EstimateTokens(p.arguments)
	r.Final = harmony.EstimateTokens(p.text)
	if r.CompletionTokens = p.usage.Completion; r.CompletionTokens == 0 {
		r.CompletionTokens = r.Reasoning + r.ToolCall + r.Final
	}
	r.ReasoningAlert = float64(r.Reasoning) > p.x.gateway.options.ReasoningRatioAlert*float64(r.CompletionTokens)
	client := &p.x.client
	r.Cut = client.cut
	switch {
	case p.failed || client.cut != "":
		r.Finish = FinishError
	case client.state != outletClosed:
		r.Finish, r.Cut = FinishCut, CutOther
	case p.finish.Limited():
		r.Finish = FinishLength
	case r.Calls > 0:
		r.Finish = FinishToolCalls
	default:
		r.Finish = FinishStop
	}
}
