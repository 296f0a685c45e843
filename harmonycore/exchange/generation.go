package exchange

import (
	"cmp"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// generationState is the state of a generation.
type generationState uint8

const (
	// awaiting: the request has been sent to a server, and no response headers have come.
	awaiting generationState = iota
	// listening: the server sends events.
	listening
	// failed: the client has got an error as the stream's last event, and the server has not ended. See afterEnd.
	failed
	// ended: the client has got its whole answer, and the server has not ended. See afterEnd.
	ended
	// over: the client gets nothing more.
	over
)

// generation is the endpoint of Chat Completions, Responses and Messages. It sends a request to a model as the model's own
// tokens, and makes the answer from the tokens that come back. Its state only moves forward:
//
//	awaiting ──▶ listening ──┬─────────────▶ over
//	    │                    ├──▶ failed ──▶ over
//	    ▼                    └──▶ ended ───▶ over
//	failedResponse
//
// A response that is not a stream of events is passed to a [failedResponse]. The [outlet]'s state is how much of the
// answer the client has. The client gets nothing before the first token, so any failure before it is an error with a
// status.
type generation struct {
	x     *Exchange
	api   translate.API
	state generationState

	kind backend.Kind
	// model is the model that the server was asked for.
	model *Model
	// promptTokens is 0 while only the servers know the length of the prompt.
	promptTokens int
	// maxTokens is the greatest number of tokens that the server was asked for in each choice.
	maxTokens int
	// boundByWindow reports whether maxTokens is what the model's context had left, and context is the length of that,
	// where only the servers know how much of it the prompt takes.
	boundByWindow bool
	context       int
	// hiddenStops are the client's own stop tokens, which are not part of the answer.
	hiddenStops []uint32
	effort      harmony.Effort
	// strict reports whether the answer ends at the first error that the reference would report. withheld reports whether
	// the reference has not yet accepted a message's header. Until then nothing is sent, so that a refusal can still be a
	// status.
	strict, withheld bool
	// byChannels reports whether the answer consists of channel events.
	byChannels bool
	// translated is the request. answer is the client's answer to it, and outbox what of that is ready.
	translated *translate.Request
	answer     translate.Answer
	outbox     *translate.Outbox
	// traced collects the ids of tokens of a server that answers in text, if the client gets them. Otherwise it is nil.
	traced  *translate.TokenIDs
	choices []choice
	// prefilled is the part of the answer that the prompt already ends with.
	prefilled []uint32
	reader    backend.Reader
	// takesWhole reports whether a server may answer in one piece whatever was asked.
	takesWhole bool
	event      backend.Event
	usage      backend.Usage
	// idleEvents is the number of events since the last that brought something ([maxIdleEvents]).
	idleEvents int
	// started reports whether the first token of the answer has come.
	started bool
	// endedEarly reports whether a choice ended before the server ended it. tokensAfterEnd counts tokens received after
	// the whole answer ended. maxTokensAfterEnd is how many are accepted before the stream is reset.
	endedEarly                        bool
	tokensAfterEnd, maxTokensAfterEnd int
	// atEnd reports whether the server has ended its stream, and every event of it was taken.
	atEnd bool
	// bytesAfterAll is the number of bytes received after the server's end of the stream.
	bytesAfterAll int
	// forwarded is when the request was forwarded, in milliseconds since 1970.
	forwarded int64
	// memory has what the Body of an action lies in.
	memory *Scratch
	// recall is what is known of the request's beginning, and for whom. It is nil if nothing is to be remembered.
	recall *recall
	// divided is nil if the servers that write the answer read the prompt too.
	divided *divided
	// rendering is zero unless a server renders the conversation.
	rendering rendering
	// handover is nil if no other server will have to finish the answer.
	handover *handing
	// turn is what is kept of the prompt to say why the server's cache was missed, or nil. counts are the server's last
	// counts, and counted reports whether it has sent any.
	turn    *segments.Turn
	counts  backend.Usage
	counted bool
}

func beginChat(x *Exchange, _ string) endpoint {
	return &generation{x: x, api: translate.ChatAPI}
}

func beginResponses(x *Exchange, _ string) endpoint {
	return &generation{x: x, api: translate.ResponsesAPI}
}

// The members of a request from which a prompt is made.
const (
	paramMessages = "messages"
	paramInput    = "input"
)

// param returns the member of the request from which the prompt is made.
func (g *generation) param() string {
	if g.api == translate.ResponsesAPI {
		return paramInput
	}
	return paramMessages
}

func (g *generation) head() RequestHead { return g.x.awaitBody() }

func (g *generation) early() response { return g.x.earlyReply() }

func (g *generation) request(body []byte, h Host) RequestAction {
	if g.x.options.relay != "" {
		body, h = g.takeOver(body, h)
	}
	if !g.handover.goesOn() {
		if action, decided := g.resume(body, h); decided {
			return action
		}
	}
	a, action := g.x.open(body, h, reading{mayPass: true})
	if a == nil {
		return action
	}
	if a.model.TranslatedShare() == 0 {
		return g.passUntranslated(a, body, h)
	}
	if action, decided := a.decideService(g.api, true); decided {
		return action
	}
	if g.isSpared(a.model, body, h.ID) {
		return g.passUntranslated(a, body, h)
	}
	if a.relayed(a.body.Streams) && g.x.service().Stores {
		return g.x.toService() // of Responses, decideStored has said so already
	}
	return a.model.servers.generate(g, a, body, h)
}

// send sends the request to servers that take prompts. kept is the body for another model, or nil.
func (g *generation) send(a *modelRequest, kept []byte, h Host) RequestAction {
	spelled := ""
	if a.model.Kind.Facts().TextPrompts {
		spelled = a.body.FindText(spellsControl) // before the texts are read, since reading overwrites the body
	}
	r, failure := a.read(g.requestReader(), h)
	if failure != nil {
		return g.x.refuse(failure)
	}
	a.recall.noteHead(a, r)
	sent, failure := g.translate(a, r, spelled, h)
	if failure != nil {
		if isTooLong(failure) && kept != nil {
			return g.toOverflow(a, kept, h)
		}
		if isTooLong(failure) && r.EmptiesTooLong() {
			return g.x.answer(g.empty(r, h.Now))
		}
		return g.x.refuse(failure)
	}
	return g.forward(a, sent)
}

// requestReader returns what reads a request of the generation's API.
func (g *generation) requestReader() reader {
	switch g.api {
	case translate.ResponsesAPI:
		return translate.Responses
	case translate.MessagesAPI:
		return translate.Messages
	}
	return translate.Chat
}

// forward sends the body that asks the model's servers for the answer.
func (g *generation) forward(a *modelRequest, sent []byte) RequestAction {
	g.x.generation, g.x.response = g, g
	if g.handover.over(g) {
		return g.answerAlone()
	}
	action := g.x.forward(a.model, sent, g.x.gateway.options.StallTimeoutMS)
	if g.divided != nil {
		action.Prefill = g.divided.call
	}
	return action
}

// translate returns the body that asks the model's servers for the answer, in the model's own tokens. The body lies in
// the scratch memory.
//
// spelled is the member of the request whose text spells a control token, or empty.
func (g *generation) translate(a *modelRequest, r *translate.Request, spelled string, h Host) ([]byte, *openai.Error) {
	model := a.model
	var failure *openai.Error
	if g.byChannels, failure = g.wantsChannelEvents(model, r); failure != nil {
		return nil, failure
	}
	if failure := g.checkKind(model, r); failure != nil {
		return nil, failure
	}
	scratch := h.scratch()
	rendered, failure := a.render(r, g.param(), scratch)
	if failure != nil {
		return nil, failure
	}
	prompt := scratch.prompt
	broken, failure := a.promptText(scratch, cmp.Or(spelled, g.param()))
	if failure != nil {
		return nil, failure
	}
	tokens := a.recall.tokens() + len(prompt)
	all := tokens + broken*tokensPerBreak
	if all >= a.context {
		return nil, a.tooLong(g.param(), all+1)
	}
	model = a.choosePool(all, r.Sampling.MaxTokens)
	g.outline(a, scratch, tokens, broken)
	a.routeByTokens(scratch)
	room, maxTokens := a.context-all, r.Sampling.MaxTokens
	if maxTokens == 0 || maxTokens > room {
		maxTokens, g.boundByWindow = room, true
	}
	var budget *int
	if model.ThinkingTokenBudget && model.Kind.Facts().ThinkingBudget {
		// The server enforces the limit, and the model still answers.
		budget, r.MaxReasoning = r.MaxReasoning, nil
	}
	sampling, failure := samplingOf(&r.Sampling, maxTokens)
	if failure != nil {
		return nil, failure
	}
	stops, hidden := stopTokens(r.Sampling.StopTokenIDs)
	if g.byChannels {
		scratch.body = r.ByChannels(scratch.body)
	}
	scratch.body = r.KeepMessages(scratch.body)
	// The texts lie in the client's body. The host may overwrite it after this function returns.
	r.Conversation = harmony.Conversation{}
	answer := maxTokens
	if r.Sampling.MaxTokens == 0 {
		answer = min(answer, a.x.expectedAnswer())
	}
	a.x.reserve(model, all, answer*max(r.Choices, 1), h)
	a.tellCost(all, answer*max(r.Choices, 1))
	g.promptTokens, g.maxTokens, g.hiddenStops = tokens, maxTokens, hidden
	g.prefilled = rendered.prefilled
	ids := r.TokenIDs()
	if ids != nil {
		ids.SetPrompt(prompt)
	}
	keepSampled(model, r, rendered.prefilled)
	r.CountedPrompt(tokens)
	g.begins(model, r, h)
	g.addParsers()
	report := &g.x.report
	report.ToolOutputTokens = a.recall.toolTokens() + rendered.toolTokens
	report.TruncatedTurns, report.BrokenSpellings = rendered.truncatedTurns, broken
	asked := &backend.Request{
		Model: model.ServerModel, Prompt: prompt, PromptText: scratch.text, MaxTokens: maxTokens,
		Choices: r.Choices, Logprobs: r.Logprobs || ids != nil, TopLogprobs: r.TopLogprobs,
		StopTokens: stops, Sampling: sampling, ThinkingBudget: budget,
		StructuralTag: rendered.tag,
	}
	return g.write(a, r, asked, scratch, h)
}

// write writes what the servers are asked into the scratch memory.
func (g *generation) write(a *modelRequest, r *translate.Request, asked *backend.Request, scratch *Scratch, h Host) (
	[]byte, *openai.Error,
) {
	if g.handover != nil {
		if failure := g.handOver(a, r, asked, scratch); failure != nil {
			return nil, failure
		}
	}
	a.recall.ask(asked)
	scratch.body = a.model.Kind.AppendRequest(scratch.body[:0], asked)
	a.recall.remember(r, asked, scratch.body)
	scratch.body = appendRest(scratch.body, a.model)
	if failure := g.divide(a.model, asked, scratch, h); failure != nil {
		return nil, failure
	}
	return scratch.body, nil
}

// begins sets up what takes the answer to a request that is complete, except for the parsers of the choices.
func (g *generation) begins(model *Model, r *translate.Request, h Host) {
	if g.memory = h.Scratch; g.memory == nil {
		g.memory = &Scratch{} // not the request's, which may be large
	}
	g.translated, g.effort = r, r.Effort()
	g.beginAnswer()
	g.kind, g.reader, g.model = model.Kind, model.Kind.NewReader(), model
	g.strict = g.isStrict(model)
	g.withheld = g.strict
	g.choices = g.newChoices(r)
	g.maxTokensAfterEnd = model.DrainTokens
	g.forwarded = g.x.lastActivity
	g.x.report.Ignored, g.x.report.DroppedParts = r.Ignored, r.Dropped
	g.x.report.UnenforcedGrammars = r.UnenforcedGrammars
	g.x.report.FirstToken = -1
}

// beginAnswer makes an answer of which nothing has come yet.
func (g *generation) beginAnswer() {
	g.answer = g.translated.NewAnswer()
	g.outbox = g.answer.Ready()
}

func (g *generation) headers(h ResponseHead) ResponseAction {
	switch {
	case g.state != awaiting || h.failed() || !g.reads(h.ContentType):
		g.x.response = &failedResponse{x: g.x, model: g.model, answer: g.answerFailed}
		return g.x.response.headers(h)
	case h.End:
		return g.x.client.reply(g.x.replyWith(errUnfinished()))
	default:
		g.state = listening
		return g.x.client.hold(200, g.answer.ContentType())
	}
}

// reads reports whether an answer of this media type can be read.
func (g *generation) reads(contentType string) bool {
	if isMediaType(contentType, g.kind.Facts().StreamType()) {
		return true
	}
	if !g.takesWhole || !isJSON(contentType) {
		return false
	}
	g.reader = backend.NewWholeReader()
	return true
}

func (g *generation) body(chunk []byte, end bool) ResponseAction {
	switch g.state {
	case listening:
		return g.stream(chunk, end)
	case failed, ended:
		return g.afterEnd(chunk, end)
	case over:
		return g.afterAll(chunk, end)
	case awaiting:
		// No server sends a body without headers, and no host hands one over. If one ever does, an error is better than a
		// crash of the VM.
		return g.x.client.reply(g.x.replyWith(errNotUnderstood()))
	default:
		return ResponseAction{}
	}
}

func (g *generation) trailers() ResponseAction {
	switch g.state {
	case listening:
		g.state = over
		return g.x.client.fail(g.x.replyWith(errUnfinished()), CutServer)
	case awaiting:
		return g.x.client.reply(g.x.replyWith(errNotUnderstood()))
	case failed:
		if g.cutsFailures() {
			g.state, g.x.cutting = over, false
			return ResponseAction{Reset: true}
		}
	}
	return ResponseAction{Pass: true}
}

func (g *generation) silent(limit int64) ResponseAction {
	if g.state == listening && g.awaitsUsage() {
		return g.complete(false)
	}
	before := g.state
	g.state, g.x.cutting = over, false
	switch before {
	case awaiting, listening:
		return g.x.client.fail(g.x.replyWith(errStalled(limit)), CutStall)
	case failed, ended:
		return ResponseAction{Reset: true}
	default:
		return ResponseAction{}
	}
}
