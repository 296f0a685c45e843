package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Service is the server for what the Responses API has beyond one answer of a model: what needs a memory, a loop or a
// second call (RATIONALE.md#1). Its requests go on as they came, and so do its responses; what it asks the model for
// comes back as a request that needs none of that. The zero value is none.
type Service struct {
	// Pool is the value of [contract.PoolHeader] that leads to it.
	Pool string
	// Stores says that it keeps responses and conversations, HostedTools that it runs tools.
	Stores, HostedTools bool
}

// serviceName is what Report.Server calls it.
const serviceName = "responses_service"

// beginStored starts the exchange of a request about something stored, or returns nil for one that is none, or that another
// server may know of.
func (g *Gateway) beginStored(method, path string) *Exchange {
	stores := g.options.Service.Stores
	id, ok := storedResponse(method, path)
	if !ok && (!stores || !ofConversations(method, path)) {
		return nil
	}
	if !stores && g.options.Passthrough {
		return nil
	}
	return &Exchange{gateway: g, path: unescaped(id), kind: stored, state: reading}
}

// storedResponse is the id in a path about a stored response.
func storedResponse(method, path string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(path, contract.ResponsesPath+"/")
	if !ok {
		return "", false
	}
	id, below, deeper := strings.Cut(rest, "/")
	switch {
	case id == "":
		return "", false
	case !deeper:
		ok = method == "GET" || method == "DELETE"
	case below == "cancel":
		ok = method == "POST"
	default:
		ok = below == "input_items" && method == "GET"
	}
	return id, ok
}

// ofConversations reports whether a request is the API's for conversations.
func ofConversations(method, path string) bool {
	rest, ok := strings.CutPrefix(path, contract.ConversationsPath)
	return ok && (rest == "" || rest[0] == '/') && (method == "GET" || method == "POST" || method == "DELETE")
}

// stored decides on a request about something stored.
func (e *Exchange) stored() RequestAction {
	if e.gateway.options.Service.Stores {
		return e.toService()
	}
	return e.refuse(openai.ResponseNotFound(e.path))
}

// beyond decides on a Responses request for more than one answer of the model's. It reports whether it did: all others go
// to the model's servers.
func (e *Exchange) beyond(request *openai.Body) (action RequestAction, decided bool) {
	o := &e.gateway.options
	if e.kind != responses && e.kind != inputTokens || o.Service.Pool == "" && !o.RefuseHostedTools {
		return RequestAction{}, false
	}
	needs, failure := request.ResponsesNeeds()
	if failure != nil {
		return e.refuse(failure), true
	}
	hosted := needs.HostedTool != ""
	if hosted && o.RefuseHostedTools && !o.Service.HostedTools {
		return e.refuse(needs.NotHostedHere()), true
	}
	state := needs.State || needs.Store && e.kind == responses
	if state && o.Service.Stores || hosted && o.Service.HostedTools {
		return e.toService(), true
	}
	return RequestAction{}, false
}

// toService sends the request to the service as it came.
func (e *Exchange) toService() RequestAction {
	e.state = alone
	e.report.Routed, e.report.Server = true, serviceName
	return RequestAction{Forward: &Forward{Pool: e.gateway.options.Service.Pool}}
}
