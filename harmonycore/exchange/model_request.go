package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// modelRequest is a request for one of the gateway's models: the part that all endpoints for such requests read.
type modelRequest struct {
	x     *Exchange
	model *Model
	body  *openai.Body
	// context is the most tokens that prompt and answer may have: the model's, or the client's if that is less.
	context int
	// size is the size of the request's body, in bytes.
	size int
	// demand is what the body asks for, as servers may read it.
	demand openai.Demand
	// unread reports whether nothing more of the body can be read: there is not the memory, or it has too many values.
	unread bool
	// counting reports whether the client asks for the number of tokens only.
	counting bool
	// byPrompt reports whether the prompt decides which requests go to the same server.
	byPrompt bool
	// cacheKey is the client's key for the servers' caches, if the model has several pools.
	cacheKey []byte
	// recall is what is remembered of the request. It is nil if nothing is, and nothing will be.
	recall *recall
}

// reading holds the differences between endpoints when they open a request.
type reading struct {
	// ids reports whether the request may hold as many token ids as the model's context.
	ids bool
	// modelOptional reports whether a request without a model may be for another server. On some paths vLLM requires no
	// name, and takes its own model.
	modelOptional bool
	// onlyModel reports whether a request without a model is for the gateway's only model, if it has no more and there is
	// no other server.
	onlyModel bool
	// mayPass reports whether the request may go to the model's servers untouched. Then nothing more of it need be read.
	mayPass bool
}

// open reads as much of a request's body as it needs to find the model, and admits the request. If it returns nil,
// the action decides on the request.
func (e *Exchange) open(body []byte, h Host, kind reading) (*modelRequest, RequestAction) {
	if len(body) > e.gateway.options.BodyLimit {
		return nil, e.refuse(errBodyTooLarge(e.gateway.options.BodyLimit))
	}
	request, failure := openai.OpenUnnamed(body, e.gateway.maxValues(body, kind))
	if failure != nil {
		return nil, e.refuse(failure)
	}
	model := e.gateway.model(request.Model)
	if failure := request.NamesModel(); failure != nil {
		if kind.modelOptional && e.gateway.passesOtherModels() {
			return nil, e.passThrough()
		}
		if model = e.gateway.onlyModel(); model == nil || !kind.onlyModel || !request.Unnamed() {
			return nil, e.refuse(failure)
		}
	}
	if model == nil {
		if e.gateway.passesOtherModels() {
			return nil, e.passThrough()
		}
		return nil, e.refuse(errModelNotFound(request.Model))
	}
	e.setModel(model)
	ids := 0 // in the history. They take no memory of their own
	if model.Answers.TokenIDs {
		ids = request.TokenIDValues()
	}
	a := &modelRequest{x: e, model: model, body: request, size: len(body), context: e.contextOf(model),
		demand: request.Demand(e.report.API == apiResponses)}
	passes := kind.mayPass && model.TranslatedShare() == 0
	if failure := request.Bounded(kind.freeValues(model) + ids); failure != nil {
		if !passes {
			return nil, e.refuse(failure)
		}
		a.unread = true
	}
	memory := memoryFor(len(body), request.Values-ids)
	if model.overflow != nil && kind.mayPass {
		memory += memory + len(body) // it may be read twice, the second time from a copy
	}
	if model.spellings != nil && model.ControlTokens == contract.ControlTokensBreak {
		memory += memoryPerBroken * len(body)
	}
	if !a.unread && h.Admit != nil && !h.Admit(memory) {
		if !passes {
			e.decided = false
			return nil, RequestAction{Full: true}
		}
		a.unread = true
	}
	if !e.headersForwarded {
		a.byPrompt = e.alike(model, request.CacheKey())
		a.keepCacheKey(request.CacheKey())
	}
	return a, RequestAction{}
}

// setModel notes that the request is for a model of this gateway.
func (e *Exchange) setModel(model *Model) {
	e.report.Model, e.report.Server = model.Name, model.Kind.Facts().Name
}

// awaitBody decides on the headers of a request whose body is read first. A host that cannot hold them sends them on to
// the servers of the only model.
func (e *Exchange) awaitBody() RequestHead {
	if !e.gateway.reduced {
		return RequestHead{Hold: true}
	}
	model := e.gateway.onlyModel()
	if model == nil {
		return RequestHead{}
	}
	return e.forwardHeaders(model, true)
}

// forwardHeaders forwards the headers to the model's servers before the body is read.
func (e *Exchange) forwardHeaders(model *Model, rewritten bool) RequestHead {
	e.headersForwarded = true
	kind := model.Kind.Facts()
	e.alike(model, nil)
	return RequestHead{
		Path: model.ServerPath(kind.Path), Pool: model.Pool, Without: kind.PrivateHeader, Rewritten: rewritten,
		Internal: e.marks(),
	}
}

// mayBeSilent is the limit for servers that may send a whole answer at its end.
const mayBeSilent = 0

// forward sends the request to the model's servers. If body is nil, the client's body stays unchanged. A server that
// sends nothing for silentMS milliseconds has failed the attempt. 0 is no limit.
func (e *Exchange) forward(model *Model, body []byte, silentMS int) RequestAction {
	action := e.forwardTo(model, model.Kind.Facts().Path, body)
	if model.Routing.UntilFirstToken && !e.headersForwarded {
		a := contract.Attempt{Kind: model.Kind.Facts().Name, Pool: model.PoolName, SilentMS: silentMS}
		if e.PassesThrough() {
			a.Kind = contract.AnyAnswer
		}
		e.attempt, action.Forward.Attempt = a, a.String()
	}
	return action
}

// forwardTo is forward to a path of package contract. A host that cannot hold headers has sent the path already.
func (e *Exchange) forwardTo(model *Model, path string, body []byte) RequestAction {
	e.sentTo(model)
	if e.headersForwarded {
		return RequestAction{Forward: &Forward{Body: body}}
	}
	return RequestAction{Forward: &Forward{
		Path: model.ServerPath(path), Pool: model.Pool, Without: model.Kind.Facts().PrivateHeader, Body: body,
		Internal: e.marks(),
	}}
}

// sentTo notes that the request was sent to the model's servers.
func (e *Exchange) sentTo(model *Model) {
	e.report.Pool, e.report.Policy = model.PoolName, model.Policy
}

// reader turns a request of an API into a conversation.
type reader func(*openai.Body, *contract.Model, translate.Env) (*translate.Request, *openai.Error)

// read returns the request's conversation and its other fields.
func (a *modelRequest) read(read reader, h Host) (*translate.Request, *openai.Error) {
	o := &a.x.gateway.options
	var tools *translate.ToolMemory
	if h.Scratch != nil && !a.mayShowTools() {
		tools = &h.Scratch.tools
	}
	return read(a.body, &a.model.Model, translate.Env{
		Tools: tools, Owner: a.x.options.tenant,
		Marks: a.recall != nil, Past: a.recall.past(),
		Now: h.Now / 1000, Date: dateOf(a.model.System.Date, h.Now), ID: h.ID,
		Sealing:   translate.Sealing{Keys: o.SealKeys, Lifetime: int64(o.Seal.LifetimeS), Tenant: a.x.options.tenant},
		Tokenizer: o.Tokenizer,
		Defaults:  a.model.defaults, Overrides: a.model.overrides, Counting: a.counting,
	})
}

// mayShowTools reports whether the client may get channel events, which have the conversation with all of its tools.
func (a *modelRequest) mayShowTools() bool {
	events := a.x.options.events
	return events == contract.EventsChannels || events == "" && a.model.Answers.Events == contract.EventsChannels
}
