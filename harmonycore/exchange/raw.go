package exchange

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// rawPrompt is the endpoint of the paths on which a client could send a server a prompt of its own.
type rawPrompt struct {
	x    *Exchange
	path string
	// ofAPI reports whether the path is one of the API, rather than one of the servers' own.
	ofAPI bool
	// unlisted reports whether the path is not among rawRoots, and a server may read it as one of them.
	unlisted bool
}

func beginCompletions(x *Exchange, path string) endpoint {
	return &rawPrompt{x: x, path: path, ofAPI: true}
}

// beginServersOwn leaves the paths of Anthropic's API alone that the gateway does not have, unless another server may
// have them: then a body for a model of ours must not get there.
func beginServersOwn(x *Exchange, path string) endpoint {
	if !mayTakePrompt(path) || !x.gateway.options.Passthrough && errorFormOf(path) == anthropicForm {
		return nil
	}
	return newServersOwn(x, path)
}

// beginServersOwnPut leaves the API's own paths alone, where no server takes a PUT.
func beginServersOwnPut(x *Exchange, path string) endpoint {
	if !isUnder(resolved(path), rawRoots) {
		return nil
	}
	return newServersOwn(x, path)
}

func newServersOwn(x *Exchange, path string) endpoint {
	// A host may read later bytes into the memory that holds the path, as ours does with large bodies.
	r := &rawPrompt{x: x, path: strings.Clone(path), unlisted: !slices.Contains(rawRoots, path)}
	x.form = errorFormOf(r.path)
	return r
}

func (r *rawPrompt) head() RequestHead {
	if !r.x.gateway.reduced {
		return RequestHead{Hold: true}
	}
	model := r.x.gateway.onlyModel()
	if model == nil {
		return RequestHead{}
	}
	allowed := r.allowed(model)
	// Even a path from which no body is sent on needs a route to the servers. A route to nowhere would answer 503 before
	// the body could be read and refused for its content.
	if !allowed && !r.unroutable() {
		return RequestHead{}
	}
	return r.x.forwardHeaders(model, allowed && model.mayBeRenamed())
}

// unroutable reports whether a request for another model has no destination. The servers' own paths have routes of
// their own. This path is one of the API's, and answers as the others do.
func (r *rawPrompt) unroutable() bool { return r.ofAPI && !r.x.gateway.options.Passthrough }

// request refuses what it cannot read: a server may be more tolerant than the gateway.
func (r *rawPrompt) request(body []byte, h Host) RequestAction {
	x := r.x
	if len(body) > x.gateway.options.BodyLimit {
		return x.refuse(errBodyTooLarge(x.gateway.options.BodyLimit))
	}
	request, failure := openai.Open(body)
	if r.unlisted && len(body) == 0 {
		return x.passThrough() // a request without a body cancels a response
	}
	if failure != nil && !failure.NoModel() {
		return x.refuse(failure)
	}
	name := ""
	if failure == nil {
		name = request.Model
	}
	model := x.gateway.model(name)
	if model == nil {
		return r.otherModel(name, failure)
	}
	x.setModel(model)
	if isUnder(resolved(r.path), ollamaRoots[:]) {
		return x.refuse(errOllama())
	}
	if x.Anthropic() {
		return x.refuse(errNotMessages())
	}
	if !r.allowed(model) {
		return x.refuse(errRawPrompt(name))
	}
	if failure == nil && request.ModelInOtherCase {
		return x.refuse(openai.DuplicateKey("model"))
	}
	a := modelRequest{x: x, model: model, body: request, size: len(body), context: x.contextOf(model)}
	if x.gateway.options.Clients.By != "" || model.Routing.QueueMS > 0 {
		a.demand = openai.RawDemand(r.path, body)
	}
	if failure := a.fitsEstimate("prompt"); failure != nil {
		return x.refuse(failure)
	}
	if failure == nil && !x.headersForwarded {
		a.byPrompt = x.alike(model, request.CacheKey())
		a.routeByText(body)
	}
	a.reserveUncounted(h)
	x.passAnswer(model)
	var renamed []byte
	if model.ServerModel != name {
		renamed = backend.AppendRenamed(nil, body, model.ServerModel)
	}
	return x.forward(model, renamed, x.gateway.options.StallTimeoutMS)
}

// otherModel decides on a request that names another model, or none; failure is then the error. If the route was chosen
// before the body was read, a body for another model is not sent on.
func (r *rawPrompt) otherModel(name string, failure *openai.Error) RequestAction {
	if r.unroutable() || r.x.headersForwarded || r.x.gateway.reduced && failure == nil {
		if failure == nil {
			failure = errModelNotFound(name)
		}
		return r.x.refuse(failure)
	}
	return r.x.passThrough()
}

func (r *rawPrompt) allowed(model *Model) bool {
	return model.RawPrompts == contract.RawPromptsAllow && r.path == model.Kind.Facts().Path
}

// early passes a response that comes while the body is being read. The decision on the body is separate.
func (r *rawPrompt) early() response {
	if r.x.gateway.reduced {
		return nil
	}
	return r.x.earlyReply()
}
