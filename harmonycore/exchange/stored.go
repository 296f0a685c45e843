package exchange

import "github.com/harmonyedge/harmonyedge/harmonycore/openai"

// Service is the server for what the Responses API has beyond one answer of a model: what needs a memory, a loop or a
// second call (RATIONALE.md#1). Its requests go on as they came, and so do its responses; what it asks the model for
// comes back as a request that needs none of that. The zero value is none.
type Service struct {
	// Pool is the value of [contract.PoolHeader] that leads to it.
	Pool string
	// Stores reports whether it keeps responses and conversations, HostedTools whether it runs tools.
	Stores, HostedTools bool
}

// serviceName is what [Report.Server] calls it.
const serviceName = "responses_service"

// stored is the endpoint of responses and conversations of earlier, which the service keeps.
type stored struct {
	x *Exchange
	// id is that of the response, empty for a conversation.
	id string
}

// beginStoredResponse leaves the request to another server where there is one and the service keeps nothing.
func beginStoredResponse(x *Exchange, id string) endpoint {
	if o := &x.gateway.options; !o.Service.Stores && o.Passthrough {
		return nil
	}
	return &stored{x: x, id: unescaped(id)}
}

func beginConversations(x *Exchange, _ string) endpoint {
	if !x.gateway.options.Service.Stores {
		return nil
	}
	return &stored{x: x}
}

// head sends the request to the service at once: the path says all, and the body need not be waited for.
func (s *stored) head() RequestHead {
	o := &s.x.gateway.options
	if o.Service.Stores {
		return RequestHead{Pool: s.x.toService().Forward.Pool}
	}
	return RequestHead{Hold: !o.Reduced}
}

func (s *stored) request([]byte, Host) RequestAction {
	if s.x.gateway.options.Service.Stores {
		return s.x.toService()
	}
	return s.x.refuse(openai.ResponseNotFound(s.id))
}

func (s *stored) early() response { return s.x.earlyReply() }

// beyond decides on a Responses request for more than one answer of the model's, and reports whether it did. All others
// go to the model's servers. stores reports whether the request's own wish to be stored counts.
func (e *Exchange) beyond(request *openai.Body, stores bool) (action RequestAction, decided bool) {
	o := &e.gateway.options
	if o.Service.Pool == "" && !o.RefuseHostedTools {
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
	state := needs.State || needs.Store && stores
	if state && o.Service.Stores || hosted && o.Service.HostedTools {
		return e.toService(), true
	}
	return RequestAction{}, false
}

// toService sends the request to the service as it came.
func (e *Exchange) toService() RequestAction {
	e.leave()
	e.report.Routed, e.report.Server = true, serviceName
	return RequestAction{Forward: &Forward{Pool: e.gateway.options.Service.Pool}}
}
