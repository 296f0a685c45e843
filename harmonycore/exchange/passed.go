package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/chatserver"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// passed takes the answer to a Chat request that went on as it was, to servers that take conversations. The client gets
// the answer unchanged. A copy is read for the report.
type passed struct {
	x     *Exchange
	model *Model
	// copyReader reads as far as it can. The answer passes all the same.
	copyReader
	usage backend.Usage
	tally translate.Tally
	// lengths are how many bytes of reasoning, text and arguments have come.
	reasoning, text, arguments int
	// finish is the newest end of a choice. failed reports whether the server sent an error instead.
	finish backend.Finish
	failed bool
	// streams reports whether the client has asked for a stream.
	streams bool
	// forwarded is when the request was forwarded, in milliseconds since 1970.
	forwarded int64
}

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
	e.passed, e.response, e.report.FirstToken = p, p, -1
	a.routeByText(sent)
	action := e.forward(a.model, sent)
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
	switch {
	case e.options.strict:
		return openai.Unsupported(contract.StrictHeader, "Unsupported header: '"+contract.StrictHeader+
			"'. This model does not speak Harmony, whose format the header is about. Leave it out.")
	case e.options.events != "" && e.options.events != contract.EventsChunks:
		return openai.Unsupported(contract.EventsHeader, "Unsupported header: '"+contract.EventsHeader+
			"'. This model has no channels. Leave the header out.")
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
	case isJSON(h.ContentType):
		p.reader = backend.NewWholeReader()
	}
	p.x.client.state = outletBegun
	return ResponseAction{Pass: true}
}

func (p *passed) body(chunk []byte, end bool) ResponseAction {
	if p.reader != nil {
		p.write(chunk)
		for more, _ := p.next(); more; more, _ = p.next() {
			p.note()
		}
	}
	if end {
		p.x.client.state = outletClosed
	}
	return ResponseAction{Pass: true}
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
		}
	}
}

func (p *passed) trailers() ResponseAction {
	p.x.client.state = outletClosed
	return ResponseAction{Pass: true}
}

// silent leaves a server alone that makes an answer in one piece: it sends nothing before the answer is whole.
func (p *passed) silent(limit int64) ResponseAction {
	if !p.streams || p.x.client.state == outletClosed {
		return ResponseAction{}
	}
	return p.x.client.fail(replyWith(errStalled(limit)), CutStall)
}

// answerFailed returns the reply to a server's error.
func (p *passed) answerFailed(failed *backend.Error) *Reply {
	out, _ := refused(failed, p.model, paramMessages)
	return replyWith(out)
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
	case p.finish == backend.Length:
		r.Finish = FinishLength
	case r.Calls > 0:
		r.Finish = FinishToolCalls
	default:
		r.Finish = FinishStop
	}
}
