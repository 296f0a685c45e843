package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// generationState is where a generation stands.
type generationState uint8

const (
	// awaiting: the request has gone to a server, and no response headers have come.
	awaiting generationState = iota
	// listening: the server sends events.
	listening
	// failed: the client has an error as the stream's last event, and the server has not ended. See afterEnd.
	failed
	// ended: the client has its whole answer, and the server has not ended. See afterEnd.
	ended
	// over: the client gets nothing of what comes.
	over
)

// generation is the endpoint of Chat Completions and Responses: a request to a model in the model's own tokens, and the
// answer made from the tokens that come back. Its state only moves forward:
//
//	awaiting ──▶ listening ──┬─────────────▶ over
//	    │                    ├──▶ failed ──▶ over
//	    ▼                    └──▶ ended ───▶ over
//	failedResponse
//
// A response that is not a stream of events goes to a [failedResponse]. How much of the answer the client has is the
// [outlet]'s state. The client gets nothing before the first token, so whatever fails until then is an error with a
// status.
type generation struct {
	x     *Exchange
	api   translate.API
	state generationState

	server backend.Dialect
	// serverModel is the name by which the server was asked for the model.
	serverModel  string
	promptTokens int
	// maxTokens is how many tokens the server was asked for at most, in each choice.
	maxTokens int
	// hiddenStops are the client's own stop tokens that are not a part of the answer.
	hiddenStops []uint32
	effort      harmony.Effort
	// strict reports whether the answer ends at the first thing that the reference would refuse. withheld reports whether
	// the reference has not accepted a message's header yet: until then nothing is given out, so that a refusal can be a
	// status.
	strict, withheld bool
	// translated is the client's request, and answer the answer to it.
	translated *translate.Request
	answer     translate.Answer
	choices    []choice
	// prefilled is the part of the answer that the prompt ends with already.
	prefilled []uint32
	trimmer   backend.Trimmer
	events    sse.Decoder
	event     backend.Event
	usage     backend.Usage
	// started reports whether the answer has seen its first token.
	started bool
	// endedEarly reports whether a choice ended before the server ended it. tokensAfterEnd counts tokens received after
	// the whole answer ended. maxTokensAfterEnd is how many are accepted before the stream is reset.
	endedEarly                        bool
	tokensAfterEnd, maxTokensAfterEnd int
	// forwarded is when the request was forwarded, in milliseconds since 1970.
	forwarded int64
	// scratch is what the last action's Body lies in.
	scratch []byte
}

func beginChat(x *Exchange, _ string) endpoint {
	return &generation{x: x, api: translate.ChatAPI}
}

func beginResponses(x *Exchange, _ string) endpoint {
	return &generation{x: x, api: translate.ResponsesAPI}
}

// The members of a request that a prompt is made of.
const (
	paramMessages = "messages"
	paramInput    = "input"
)

// param is the member of the request that the prompt is made of.
func (g *generation) param() string {
	if g.api == translate.ResponsesAPI {
		return paramInput
	}
	return paramMessages
}

func (g *generation) head() RequestHead { return g.x.awaitBody() }

func (g *generation) early() response { return g.x.earlyReply() }

func (g *generation) request(body []byte, h Host) RequestAction {
	a, action := g.x.open(body, h, reading{})
	if a == nil {
		return action
	}
	read := translate.Chat
	if g.api == translate.ResponsesAPI {
		if action, decided := g.x.decideStored(a.body, true); decided {
			return action
		}
		read = translate.Responses
	}
	r, failure := a.read(read, h)
	if failure != nil {
		return g.x.refuse(failure)
	}
	sent, failure := g.translate(a, r, h)
	if failure != nil {
		return g.x.refuse(failure)
	}
	g.x.generation, g.x.response = g, g
	return g.x.forward(a.model, sent)
}

// translate makes the body that asks the model's servers for the answer, in the model's own tokens. It lies in the
// scratch memory.
func (g *generation) translate(a *modelRequest, r *translate.Request, h Host) ([]byte, *openai.Error) {
	model := a.model
	channels, failure := g.wantsChannelEvents(model, r)
	if failure != nil {
		return nil, failure
	}
	scratch := h.scratch()
	rendered, failure := a.render(r, g.param(), scratch)
	if failure != nil {
		return nil, failure
	}
	prompt := scratch.prompt
	room := model.ContextLength - len(prompt)
	if room < 1 {
		return nil, errContextLength(g.param(), model.ContextLength)
	}
	maxTokens := r.Sampling.MaxTokens
	if maxTokens == 0 || maxTokens > room {
		maxTokens = room
	}
	var budget *int
	if model.ThinkingTokenBudget {
		// The server holds the limit, and the model answers all the same.
		budget, r.MaxReasoning = r.MaxReasoning, nil
	}
	sampling, failure := samplingOf(&r.Sampling, maxTokens)
	if failure != nil {
		return nil, failure
	}
	stops, silent := stopTokens(r.Sampling.StopTokenIDs)
	if channels {
		scratch.body = r.ByChannels(scratch.body)
	}
	scratch.body = r.KeepMessages(scratch.body)
	// The texts lie in the client's body, which the host may overwrite once this returns.
	r.Conversation = harmony.Conversation{}
	g.promptTokens, g.maxTokens, g.hiddenStops = len(prompt), maxTokens, silent
	g.prefilled = rendered.prefilled
	g.prepare(model, r)
	report := &g.x.report
	report.ToolOutputTokens = g.x.gateway.renderer.ToolTokens(prompt)
	report.UnknownItems, report.DroppedParts = r.UnknownItems, r.DroppedParts
	report.TruncatedTurns = rendered.truncatedTurns
	report.FirstToken = -1
	scratch.body = model.Dialect.AppendRequest(scratch.body[:0], &backend.Request{
		Model: model.ServerModel, Prompt: prompt, MaxTokens: maxTokens,
		Choices: r.Choices, Logprobs: r.Logprobs, TopLogprobs: r.TopLogprobs,
		StopTokens: stops, Sampling: sampling, ThinkingBudget: budget,
		StructuralTag: rendered.tag,
	})
	return scratch.body, nil
}

// prepare makes what takes the model's answer.
func (g *generation) prepare(model *Model, r *translate.Request) {
	g.translated, g.answer, g.effort = r, r.NewAnswer(), r.Effort()
	g.server, g.serverModel = model.Dialect, model.ServerModel
	g.strict = g.x.options.strict || model.Answers.Strict
	g.withheld = g.strict
	g.choices = newChoices(g.x.gateway.options.Tokenizer, r, g.answer)
	g.maxTokensAfterEnd = model.DrainTokens
	g.forwarded = g.x.lastActivity
}

func (g *generation) headers(h ResponseHead) ResponseAction {
	switch {
	case g.state != awaiting || h.Local || h.Status < 200 || h.Status > 299 || !isEventStream(h.ContentType):
		g.x.response = &failedResponse{x: g.x, generation: g}
		return g.x.response.headers(h)
	case h.End:
		return g.x.client.reply(replyWith(errUnfinished()))
	default:
		g.state = listening
		return g.x.client.hold(200, g.answer.ContentType())
	}
}

func (g *generation) body(chunk []byte, end bool) ResponseAction {
	switch g.state {
	case listening:
		return g.stream(chunk, end)
	case failed, ended:
		return g.afterEnd(chunk, end)
	case awaiting:
		// No server sends a body without headers, and no host hands it over. One that does all the same gets an error rather
		// than a crash of the VM.
		return g.x.client.reply(replyWith(errNotUnderstood()))
	default:
		return ResponseAction{}
	}
}

func (g *generation) trailers() ResponseAction {
	switch g.state {
	case listening:
		g.state = over
		return g.x.client.fail(replyWith(errUnfinished()), CutServer)
	case awaiting:
		return g.x.client.reply(replyWith(errNotUnderstood()))
	default:
		return ResponseAction{Pass: true}
	}
}

func (g *generation) silent(limit int64) ResponseAction {
	was := g.state
	g.state = over
	switch was {
	case awaiting, listening:
		return g.x.client.fail(replyWith(errStalled(limit)), CutStall)
	case failed, ended:
		return ResponseAction{Reset: true}
	default:
		return ResponseAction{}
	}
}
