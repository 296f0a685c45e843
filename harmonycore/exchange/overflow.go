package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// linkOverflows finds the models that get what does not fit others.
func (g *Gateway) linkOverflows() {
	for i := range g.models {
		m := &g.models[i]
		for j := range g.models {
			if to := &g.models[j]; j != i && to.Name == m.OverflowModel && to.Kind != nil {
				m.overflow = to
			}
		}
	}
}

// keep returns a copy of the body of a request that another model may get: reading a request overwrites its body. The
// copy is nil if no other model gets the request.
func (a *modelRequest) keep(body []byte, scratch *Scratch) []byte {
	if a.model.overflow == nil {
		return nil
	}
	scratch.kept = append(scratch.kept[:0], body...)
	return scratch.kept
}

// toOverflow sends a request whose prompt does not fit its model's context to the model that gets such requests. body
// is the client's. Nothing of what was read of it before is used.
func (g *generation) toOverflow(a *modelRequest, body []byte, h Host) RequestAction {
	e, model := g.x, a.model.overflow
	request, failure := openai.OpenUnnamed(body, e.gateway.maxValues(body, reading{}))
	if failure != nil {
		return e.refuse(failure)
	}
	next := &modelRequest{x: e, model: model, body: request, size: len(body), context: e.contextOf(model),
		demand: request.Demand(e.report.API == apiResponses)}
	ids := 0
	if model.Answers.TokenIDs {
		ids = request.TokenIDValues()
	}
	if failure := request.Bounded(ids); failure != nil {
		return e.refuse(failure)
	}
	g.recall, e.report.Recall = nil, ""
	e.setModel(model)
	e.report.Route, e.report.RoutedBy = contract.RouteValue(model.PoolName, contract.RouteContext)+";model="+model.Name, ""
	next.byPrompt = e.alike(model, request.CacheKey())
	return model.servers.generate(g, next, body, h)
}
