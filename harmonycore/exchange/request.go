package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// Host is what the proxy knows about the moment.
type Host struct {
	// Now is the time in milliseconds since 1970.
	Now int64
	// ID is unique to the request, at least 24 letters and digits; the answer's ids are made of it.
	ID string
	// Admit takes room for so many bytes of memory, and reports whether the host has them to spare. A request that it does
	// not admit is refused for now, before it is read. It is asked once for each request that is read; nil admits all.
	Admit func(bytes int) bool
	// Scratch is reused from request to request by a host that handles one at a time; nil is fresh memory. What
	// Request returns then lies in it.
	Scratch *Scratch
}

// RequestHead is what to do with a request's headers while its body is still to come.
type RequestHead struct {
	// Hold keeps them until Request has decided. Without it they go on at once, changed as the rest says.
	Hold bool
	// Reply answers at once, and the body is not waited for.
	Reply *Reply
	// Path is the server's, and Pool the value for PoolHeader; both are empty where the headers go on as they came. With
	// Pool alone the request goes there as it came.
	Path, Pool string
	// Rewritten says that the body will be one of ours, of a length that nobody knows yet.
	Rewritten bool
}

// RequestAction is what to do with a request whose body has been read: one of its fields is set, or none, and then the
// request goes on as it came.
type RequestAction struct {
	Forward *Forward
	Reply   *Reply
	// Hold keeps the body for good: the server has answered without it.
	Hold bool
}

// Forward is a request rewritten for an inference server.
type Forward struct {
	// Path is the server's, and Pool the value for PoolHeader; both are empty where the headers have gone on already. With
	// Pool alone the request goes there as it came.
	Path, Pool string
	// Body replaces the client's body; nil leaves it as it came.
	Body []byte
	// Readable wants an answer that is not compressed, of a request that is otherwise left as it came.
	Readable bool
}

// Reply is an answer that the gateway gives by itself, always JSON.
type Reply struct {
	Status int
	// RetryAfter is the header's value, or empty. Upgrade is that of the header upgrade; with one, the connection ends behind
	// the answer.
	RetryAfter, Upgrade string
	Body                []byte
}

func replyWith(e *openai.Error) *Reply {
	return &Reply{Status: e.Status, Body: e.AppendJSON(nil)}
}

// RequestHeaders says what to do with the headers of a request that has a body, before Request is given the body.
func (e *Exchange) RequestHeaders() RequestHead {
	if e.gateway.misconfigured {
		return RequestHead{Reply: e.refuse(errMisconfigured()).Reply}
	}
	if e.kind == badPath {
		return RequestHead{Reply: e.refuse(errBadPath()).Reply}
	}
	if e.kind == upgrade {
		return RequestHead{Reply: e.refuseUpgrade().Reply}
	}
	if e.kind == stored && e.gateway.options.Service.Stores {
		// The path says all, and a body need not be waited for.
		return RequestHead{Pool: e.toService().Forward.Pool}
	}
	if !e.gateway.options.Reduced {
		return RequestHead{Hold: true}
	}
	model := e.gateway.only()
	if model == nil || e.kind == stored {
		return RequestHead{}
	}
	rewritten := e.kind != rawPrompt
	if !rewritten {
		allowed := e.allowsRaw(model)
		// A path from which no body goes on takes the way to the servers all the same: a route that leads nowhere would
		// answer 503 before the body could be read and refused for what it says.
		if refused := e.path == completionsPath && !e.gateway.options.Passthrough; !allowed && !refused {
			return RequestHead{}
		}
		rewritten = allowed && model.ServerModel != model.Name
	}
	e.toPool = true
	return RequestHead{Path: model.Server.Path(), Pool: model.Pool, Rewritten: rewritten}
}

// Request takes the whole body of the request, whose memory it may overwrite. The body is not kept.
func (e *Exchange) Request(body []byte, h Host) RequestAction {
	if e.state != reading && e.kind != rawPrompt {
		return RequestAction{Hold: true}
	}
	e.active, e.asked = h.Now, h.Now
	if e.gateway.misconfigured {
		return e.refuse(errMisconfigured())
	}
	switch e.kind {
	case modelList, oneModel:
		return e.models()
	case stored:
		return e.stored()
	case badPath:
		return e.refuse(errBadPath())
	case upgrade:
		return e.refuseUpgrade()
	}
	if len(body) > e.gateway.options.BodyLimit {
		return e.refuse(errBodyTooLarge(e.gateway.options.BodyLimit))
	}
	request, failure := openai.OpenWithin(body, e.mostValues(body))
	if e.kind == rawPrompt {
		name := ""
		if failure == nil {
			name = request.Model
		}
		return e.raw(body, name, failure)
	}
	if failure != nil {
		if e.kind.counts() && failure.NoModel() && e.gateway.leavesOthers() {
			// A server's own model is meant, where it has one only: vLLM wants no name on these paths.
			e.state = alone
			return RequestAction{}
		}
		return e.refuse(failure)
	}
	model := e.gateway.model(request.Model)
	if model == nil {
		if e.gateway.leavesOthers() {
			e.state = alone
			return RequestAction{}
		}
		return e.refuse(errModelNotFound(request.Model))
	}
	e.asks(model)
	if failure := request.Bounded(e.freeValues(model)); failure != nil {
		return e.refuse(failure)
	}
	if h.Admit != nil && !h.Admit(memoryFor(len(body), request.Values)) {
		return RequestAction{Reply: e.Overloaded()}
	}
	if action, decided := e.beyond(request); decided {
		return action
	}
	if e.kind.counts() {
		return e.count(model, request, len(body), h)
	}
	return e.translate(model, request, len(body), h)
}

// raw guards the paths on which a client could hand a server a prompt of its own making. What cannot be read cannot
// be let through: a server may read it more kindly than we do.
func (e *Exchange) raw(body []byte, name string, failure *openai.Error) RequestAction {
	if _, listed := kindAt(e.path); !listed && len(body) == 0 {
		e.state = alone // a response is cancelled so
		return RequestAction{}
	}
	if failure != nil && !failure.NoModel() {
		return e.refuse(failure)
	}
	model := e.gateway.model(name)
	if model == nil {
		// Servers' own paths lead nowhere by themselves; this one is the API's, and answers as the others do. Where the way
		// was chosen before the body was read, a body that names another model goes nowhere either.
		refused := e.path == completionsPath && !e.gateway.options.Passthrough
		if refused || e.toPool || e.gateway.options.Reduced && failure == nil {
			if failure == nil {
				failure = errModelNotFound(name)
			}
			return e.refuse(failure)
		}
		e.state = alone
		return RequestAction{}
	}
	e.asks(model)
	if !e.allowsRaw(model) {
		return e.refuse(errRawPrompt(name))
	}
	e.state = alone
	var renamed []byte
	if model.ServerModel != name {
		renamed = backend.Rename(body, model.ServerModel)
	}
	return e.forward(model, renamed)
}

// asks notes that the request is for a model of ours.
func (e *Exchange) asks(model *Model) {
	e.report.Model, e.report.Server = model.Name, model.Server.Kind()
}

func (e *Exchange) allowsRaw(model *Model) bool {
	return model.AllowRawPrompts && e.path == model.Server.Path()
}

// forward sends the request to the model's servers; a body that is nil stays as it came.
func (e *Exchange) forward(model *Model, body []byte) RequestAction {
	if e.toPool {
		return RequestAction{Forward: &Forward{Body: body}}
	}
	return RequestAction{Forward: &Forward{Path: model.Server.Path(), Pool: model.Pool, Body: body}}
}

// translate forwards a request to the model's servers in the model's own tokens; size is its body's, in bytes.
func (e *Exchange) translate(model *Model, request *openai.Body, size int, h Host) RequestAction {
	read := translate.Chat
	if e.kind == responses {
		read = translate.Responses
	}
	r, failure := e.read(model, read, request, h)
	if failure != nil {
		return e.refuse(failure)
	}
	channels, failure := e.byChannels(model, r)
	if failure != nil {
		return e.refuse(failure)
	}
	scratch := h.scratch()
	tag, failure := e.render(model, r, size, scratch)
	if failure != nil {
		return e.refuse(failure)
	}
	prompt := scratch.prompt
	room := model.ContextLength - len(prompt)
	if room < 1 {
		return e.refuse(errContextLength(e.kind.prompt(), model.ContextLength))
	}
	maxTokens := r.Sampling.MaxTokens
	if maxTokens == 0 || maxTokens > room {
		maxTokens = room
	}
	var budget *int
	if model.ThinkingBudget {
		// The server holds the limit, and the model answers all the same.
		budget, r.MaxReasoning = r.MaxReasoning, nil
	}
	sampling, failure := samplingOf(&r.Sampling, maxTokens)
	if failure != nil {
		return e.refuse(failure)
	}
	stops, silent := stopTokens(r.Sampling.StopTokenIDs)
	e.silentStops = silent
	e.promptTokens, e.maxTokens, e.effort = len(prompt), maxTokens, r.Effort()
	if channels {
		scratch.body = r.ByChannels(scratch.body)
	}
	scratch.body = r.KeepMessages(scratch.body)
	// The texts lie in the body, which is not ours any more once this returns.
	r.Conversation = harmony.Conversation{}
	e.request, e.answer = r, r.NewAnswer()
	e.server, e.serverModel = model.Server, model.ServerModel
	e.strict = e.strict || model.Strict
	e.withheld = e.strict
	e.bounded, _ = e.answer.(translate.Bounded)
	e.choices = newChoices(e.gateway.options.Tokenizer, r, e.answer)
	e.state, e.patience = awaiting, model.DrainTokens
	e.report.ToolOutputTokens = e.gateway.renderer.ToolTokens(prompt)
	e.report.UnknownItems, e.report.DroppedParts = r.UnknownItems, r.DroppedParts
	e.report.Translated, e.report.FirstToken = true, -1
	scratch.body = model.Server.AppendRequest(scratch.body[:0], &backend.Request{
		Model: model.ServerModel, Prompt: prompt, MaxTokens: maxTokens,
		Choices: r.Choices, Logprobs: r.Logprobs, TopLogprobs: r.TopLogprobs,
		StopTokens: stops, Sampling: sampling, ThinkingBudget: budget,
		StructuralTag: tag,
	})
	return e.forward(model, scratch.body)
}

// refuse ends the exchange: what comes back through the response side is our own reply.
func (e *Exchange) refuse(failure *openai.Error) RequestAction {
	e.state = alone
	e.report.Translated = false
	if e.report.Routed {
		e.report.Routed, e.report.Server = false, ""
	}
	return RequestAction{Reply: replyWith(failure)}
}

func (e *Exchange) refuseUpgrade() RequestAction {
	action := e.refuse(errUpgrade())
	action.Reply.Upgrade = "HTTP/1.1" // RFC 9110 wants the protocol to use named
	return action
}

// Overloaded is the reply for a host that has no memory to spare for the request.
func (e *Exchange) Overloaded() *Reply {
	e.refuse(errFull())
	return Overloaded()
}

// Overloaded is the reply for a host that has no memory to spare to begin an exchange.
func Overloaded() *Reply {
	reply := replyWith(errFull())
	reply.RetryAfter = "1"
	return reply
}

// CannotForward is the reply for a host that refuses the rewriting of a held request: better an error than raw JSON
// at a token endpoint.
func (e *Exchange) CannotForward() *Reply {
	return e.refuse(&openai.Error{
		Status: 500, Type: openai.ServerErrorType, Code: openai.CodeGatewayMisconfigured,
		Message: "The gateway cannot rewrite requests: its proxy must set allow_on_headers_stop_iteration.",
	}).Reply
}
