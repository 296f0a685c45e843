package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// rawPrompt is the endpoint of the paths on which a client could hand a server a prompt of its own making.
type rawPrompt struct {
	x    *Exchange
	path string
	// ofAPI reports whether the path is the API's, and not one of the servers' own.
	ofAPI bool
	// unlisted reports whether the path is one that a server may read as one of those in the table of routes.
	unlisted bool
}

func beginCompletions(x *Exchange, path string) endpoint {
	return &rawPrompt{x: x, path: path, ofAPI: true}
}

func beginServersOwn(x *Exchange, path string) endpoint { return &rawPrompt{x: x, path: path} }

func beginUnlisted(x *Exchange, path string) endpoint {
	if !mayTakePrompt(path) {
		return nil
	}
	// A host may read what comes later into the memory that the path lies in, as ours does with large bodies.
	return &rawPrompt{x: x, path: strings.Clone(path), unlisted: true}
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
	// A path from which no body goes on takes the way to the servers all the same: a route that leads nowhere would answer
	// 503 before the body could be read and refused for what it says.
	if !allowed && !r.unroutable() {
		return RequestHead{}
	}
	return r.x.forwardHeaders(model, allowed && model.ServerModel != model.Name)
}

// unroutable reports whether no server can take a request for another model. Servers' own paths are unroutable by
// themselves; this one is the API's, and answers as the API's others do.
func (r *rawPrompt) unroutable() bool { return r.ofAPI && !r.x.gateway.options.Passthrough }

// request refuses what cannot be read: a server may read it more kindly than the gateway does.
func (r *rawPrompt) request(body []byte, _ Host) RequestAction {
	x := r.x
	if len(body) > x.gateway.options.BodyLimit {
		return x.refuse(errBodyTooLarge(x.gateway.options.BodyLimit))
	}
	request, failure := openai.Open(body)
	if r.unlisted && len(body) == 0 {
		return x.passThrough() // a response is cancelled so
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
	if !r.allowed(model) {
		return x.refuse(errRawPrompt(name))
	}
	x.passThrough()
	var renamed []byte
	if model.ServerModel != name {
		renamed = backend.Rename(body, model.ServerModel)
	}
	return x.forward(model, renamed)
}

// otherModel decides on a request that names another model, or none, which failure then says. Where the way was chosen
// before the body was read, a body that names another model goes nowhere.
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
	return model.RawPrompts == contract.RawPromptsAllow && r.path == model.Dialect.Path()
}

// early lets a response pass that comes to headers whose body is still being read. What becomes of the body is another
// matter.
func (r *rawPrompt) early() response {
	if r.x.gateway.reduced {
		return nil
	}
	return r.x.earlyReply()
}
