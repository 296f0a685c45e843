package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// asked is a request for one of the gateway's models, as far as every endpoint of such requests reads it.
type asked struct {
	x     *Exchange
	model *Model
	body  *openai.Body
	// size is that of the request's body, in bytes.
	size int
}

// reading is what the endpoints differ in when they open a request.
type reading struct {
	// ids reports whether the request may have as many token ids as the model's context.
	ids bool
	// nameless reports whether a request without a model may be for another server: vLLM wants no name on some paths, and
	// means its own model.
	nameless bool
}

// open reads a request's body as far as it takes to know its model, and admits it. Without an asked the action is what
// becomes of the request.
func (e *Exchange) open(body []byte, h Host, how reading) (*asked, RequestAction) {
	if len(body) > e.gateway.options.BodyLimit {
		return nil, e.refuse(errBodyTooLarge(e.gateway.options.BodyLimit))
	}
	request, failure := openai.OpenWithin(body, e.gateway.maxValues(body, how))
	if failure != nil {
		if how.nameless && failure.NoModel() && e.gateway.leavesOthers() {
			return nil, e.leave()
		}
		return nil, e.refuse(failure)
	}
	model := e.gateway.model(request.Model)
	if model == nil {
		if e.gateway.leavesOthers() {
			return nil, e.leave()
		}
		return nil, e.refuse(errModelNotFound(request.Model))
	}
	e.isFor(model)
	if failure := request.Bounded(how.freeValues(model)); failure != nil {
		return nil, e.refuse(failure)
	}
	if h.Admit != nil && !h.Admit(memoryFor(len(body), request.Values)) {
		return nil, RequestAction{Reply: e.Overloaded()}
	}
	return &asked{x: e, model: model, body: request, size: len(body)}, RequestAction{}
}

// isFor notes that the request is for a model of the gateway's.
func (e *Exchange) isFor(model *Model) {
	e.report.Model, e.report.Server = model.Name, model.Dialect.Kind()
}

// onward decides on the headers of a request whose body is read before anything is decided. Where the host can hold
// none they go on to the one model's servers.
func (e *Exchange) onward() RequestHead {
	if !e.gateway.reduced {
		return RequestHead{Hold: true}
	}
	model := e.gateway.only()
	if model == nil {
		return RequestHead{}
	}
	return e.toServers(model, true)
}

// toServers sends the headers on to the model's servers before the body is read.
func (e *Exchange) toServers(model *Model, rewritten bool) RequestHead {
	e.toPool = true
	return RequestHead{Path: model.Dialect.Path(), Pool: model.Pool, Rewritten: rewritten}
}

// forward sends the request to the model's servers; a body that is nil stays as it came.
func (e *Exchange) forward(model *Model, body []byte) RequestAction {
	if e.toPool {
		return RequestAction{Forward: &Forward{Body: body}}
	}
	return RequestAction{Forward: &Forward{Path: model.Dialect.Path(), Pool: model.Pool, Body: body}}
}

// reader is how a request of an API becomes a conversation.
type reader func(*openai.Body, *contract.Model, translate.Env) (*translate.Request, *openai.Error)

// read makes the request's conversation, and what else it wants.
func (a *asked) read(read reader, h Host) (*translate.Request, *openai.Error) {
	o := &a.x.gateway.options
	return read(a.body, &a.model.Model, translate.Env{
		Now: h.Now / 1000, Date: dateOf(a.model.System.Date, h.Now), ID: h.ID,
		Sealing: translate.Sealing{Keys: o.SealKeys, Lifetime: int64(o.Seal.LifetimeS), Tenant: a.x.asked.tenant},
	})
}
