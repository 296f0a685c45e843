package exchange

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// branchesOf returns a model as it is for each of its further pools, in the order of its route. They differ in the
// servers only.
func branchesOf(m *Model) []*Model {
	var all []*Model
	for i := range m.Route {
		rule, one := &m.Route[i], *m
		one.Route, one.branches = nil, nil
		one.Pool, one.PoolName, one.Policy = rule.Pool, rule.PoolName, rule.Policy
		one.Routing, one.Prefill = rule.Routing, rule.Prefill
		if rule.ContextLength > 0 {
			one.ContextLength = min(one.ContextLength, rule.ContextLength)
		}
		all = append(all, &one)
	}
	return all
}

// keepCacheKey keeps the client's key for the servers' caches until the pool is chosen: reading a request overwrites
// its body.
func (a *modelRequest) keepCacheKey(key []byte) {
	if len(a.model.Route) > 0 {
		a.cacheKey = slices.Clone(key)
	}
}

// choosePool chooses the pool of a request that fits the model's context. tokens is how many its prompt has, and answer
// how many the client wants at most, or 0. It returns the model as it is for that pool.
func (a *modelRequest) choosePool(tokens, answer int) *Model {
	if len(a.model.Route) == 0 {
		return a.model
	}
	room, why := a.context-tokens, ""
	if answer > 0 {
		room = min(room, answer)
	}
	for i, one := range a.model.branches {
		rule := &a.model.Route[i]
		context := a.x.contextOf(one)
		switch {
		case rule.Class != "" && rule.Class != a.x.class():
			continue
		case rule.MaxPrompt > 0 && tokens > rule.MaxPrompt:
			if why == "" {
				why = contract.RouteLength
			}
			continue
		case tokens+min(room, rule.MinAnswer) > context:
			why = contract.RouteContext
			continue
		case why == contract.RouteContext:
		case rule.Class != "":
			why = contract.RouteClass
		default:
			why = contract.RouteLength
		}
		a.sendTo(one, context, why)
		return one
	}
	if why == "" {
		why = contract.RouteDefault
	}
	a.x.report.Route = contract.RouteValue(a.model.PoolName, why)
	return a.model
}

// sendTo makes the request one for another pool of its model.
func (a *modelRequest) sendTo(one *Model, context int, why string) {
	a.model, a.context = one, context
	a.x.report.Route, a.x.report.RoutedBy = contract.RouteValue(one.PoolName, why), ""
	a.byPrompt = a.x.alike(one, a.cacheKey)
}

// class returns the class of the client that sends the request, or "".
func (e *Exchange) class() string { return e.gateway.options.Clients.ClassOf(e.caller.name) }

// NoteSpare notes that a server of another pool has answered, one of the spares of the one that was chosen.
func (e *Exchange) NoteSpare(pool string) { e.report.Route = contract.SpareValue(e.report.Route, pool) }

// RouteTaken returns the value of [contract.RouteHeader] for the response, or "" if it has none.
func (e *Exchange) RouteTaken() string { return e.report.Route }
