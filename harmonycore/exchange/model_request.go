package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// modelRequest is a request for one of the gateway's models, as far as every such endpoint reads it.
type modelRequest struct {
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
	// modelOptional reports whether a request without a model may be for another server: on some paths vLLM needs no
	// name, and uses its own model.
	modelOptional bool
}

// open reads a request's body as far as it takes to know its model, and admits it. Without a modelRequest the action is
// what becomes of the request.
func (e *Exchange) open(body []byte, h Host, how reading) (*modelRequest, RequestAction) {
	if len(body) > e.gateway.options.BodyLimit {
		return nil, e.refuse(errBodyTooLarge(e.gateway.options.BodyLimit))
	}
	request, failure := openai.OpenWithin(body, e.gateway.maxValues(body, how))
	if failure != nil {
		if how.modelOptional && failure.NoModel() && e.gateway.passesOtherModels() {
			return nil, e.passThrough()
		}
		return nil, e.refuse(failure)
	}
	model := e.gateway.model(request.Model)
	if model == nil {
		if e.gateway.passesOtherModels() {
			return nil, e.passThrough()
		}
		return nil, e.refuse(errModelNotFound(request.Model))
	}
	e.setModel(model)
	if failure := request.Bounded(how.freeValues(model)); failure != nil {
		return nil, e.refuse(failure)
	}
	if h.Admit != nil && !h.Admit(memoryFor(len(body), request.Values)) {
		return nil, RequestAction{Reply: e.Overloaded()}
	}
	return &modelRequest{x: e, model: model, body: request, size: len(body)}, RequestAction{}
}

// setModel records that the request is for this model of the gateway.
func (e *Exchange) setModel(model *Model) {
	e.report.Model, e.report.Server = model.Name, model.Dialect.Kind()
}

// awaitBody returns the action for the headers of a request that is decided on by its body. A host that cannot hold
// headers forwards them to the servers of the gateway's one model.
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
	return RequestHead{Path: model.Dialect.Path(), Pool: model.Pool, Rewritten: rewritten}
}

// forward sends the request to the model's servers; a body that is nil stays as it came.
func (e *Exchange) forward(model *Model, body []byte) RequestAction {
	if e.headersForwarded {
		return RequestAction{Forward: &Forward{Body: body}}
	}
	return RequestAction{Forward: &Forward{Path: model.Dialect.Path(), Pool: model.Pool, Body: body}}
}

// reader is how a request of an API becomes a conversation.
type reader func(*openai.Body, *contract.Model, translate.Env) (*translate.Request, *openai.Error)

// read makes the request's conversation, and what else it wants.
func (a *modelRequest) read(read reader, h Host) (*translate.Request, *openai.Error) {
	o := &a.x.gateway.options
	return read(a.body, &a.model.Model, translate.Env{
		Now: h.Now / 1000, Date: dateOf(a.model.System.Date, h.Now), ID: h.ID,
		Sealing: translate.Sealing{Keys: o.SealKeys, Lifetime: int64(o.Seal.LifetimeS), Tenant: a.x.options.tenant},
	})
}
