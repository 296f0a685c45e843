package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

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
	if o := &x.gateway.options; !o.ResponsesService.Stores && o.Passthrough {
		return nil
	}
	return &stored{x: x, id: unescaped(id)}
}

func beginConversations(x *Exchange, _ string) endpoint {
	if !x.gateway.options.ResponsesService.Stores {
		return nil
	}
	return &stored{x: x}
}

// head sends the request to the service at once: the path says all, and the body need not be waited for.
func (s *stored) head() RequestHead {
	o := &s.x.gateway.options
	if o.ResponsesService.Stores {
		return RequestHead{Pool: s.x.toService().Forward.Pool}
	}
	return RequestHead{Hold: !s.x.gateway.reduced}
}

func (s *stored) request([]byte, Host) RequestAction {
	if s.x.gateway.options.ResponsesService.Stores {
		return s.x.toService()
	}
	return s.x.refuse(openai.ResponseNotFound(s.id))
}

func (s *stored) early() response { return s.x.earlyReply() }

// decideStored decides on a Responses request that needs more than one answer of the model, and reports whether it did.
// All others go to the model's servers. stores reports whether the request's own "store" counts.
func (e *Exchange) decideStored(request *openai.Body, stores bool) (action RequestAction, decided bool) {
	o := &e.gateway.options
	if o.ResponsesService.Pool == "" && o.HostedTools != contract.HostedToolsRefuse {
		return RequestAction{}, false
	}
	needs, failure := request.ResponsesNeeds()
	if failure != nil {
		return e.refuse(failure), true
	}
	hosted := needs.HostedTool != ""
	if hosted && o.HostedTools == contract.HostedToolsRefuse && !o.ResponsesService.HostedTools {
		return e.refuse(needs.NotHostedHere()), true
	}
	state := needs.State || needs.Store && stores
	if state && o.ResponsesService.Stores || hosted && o.ResponsesService.HostedTools {
		return e.toService(), true
	}
	return RequestAction{}, false
}

// toService sends the request to the service as it came.
func (e *Exchange) toService() RequestAction {
	e.passThrough()
	e.report.Routed, e.report.Server = true, serviceName
	return RequestAction{Forward: &Forward{Pool: e.gateway.options.ResponsesService.Pool}}
}
