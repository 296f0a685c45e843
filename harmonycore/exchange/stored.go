package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// serviceName is the service's name in [Report.Server].
const serviceName = "responses_service"

// stored is the endpoint of earlier responses and conversations, which the service keeps.
type stored struct {
	x *Exchange
	// id is the id of the response. It is empty for a conversation.
	id string
}

// beginStoredResponse leaves the request to another server, if there is one and the service keeps nothing.
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

// head sends the request to the service at once. The path decides, so the body need not be awaited.
func (s *stored) head() RequestHead {
	o := &s.x.gateway.options
	if o.ResponsesService.Stores {
		f := s.x.toService().Forward
		return RequestHead{Pool: f.Pool, Internal: f.Internal}
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

// compaction is the endpoint that shortens a conversation. Only the service has it.
type compaction struct{ x *Exchange }

func beginCompact(x *Exchange, _ string) endpoint { return &compaction{x: x} }

func (c *compaction) head() RequestHead { return c.x.awaitBody() }

func (c *compaction) request(body []byte, h Host) RequestAction {
	a, action := c.x.open(body, h, reading{modelOptional: true})
	if a == nil {
		return action
	}
	if !c.x.gateway.options.ResponsesService.Stores {
		return c.x.refuse(errNoCompaction())
	}
	return c.x.toService()
}

// errNoCompaction returns the error for a model of ours where no service compacts conversations.
func errNoCompaction() *openai.Error {
	return &openai.Error{Status: 404, Type: contract.InvalidRequestError, Code: contract.CodeUnknownURL,
		Message: contract.CompactPath + " is not served here: it needs a responses service. Shorten the conversation yourself, " +
			"or set 'truncation' to 'auto'."}
}

func (c *compaction) early() response { return c.x.earlyReply() }

// connection is the endpoint of a WebSocket connection to the service.
type connection struct{ x *Exchange }

// head sends the request to the service. Everything that both sides send after the service's answer passes unchanged.
func (c *connection) head() RequestHead {
	action := c.request(nil, Host{})
	if action.Reply != nil {
		return RequestHead{Reply: action.Reply}
	}
	return RequestHead{Pool: action.Forward.Pool, Internal: action.Forward.Internal}
}

func (c *connection) request([]byte, Host) RequestAction {
	if c.x.options.declinesService {
		return refusedUpgrade(c.x).request(nil, Host{})
	}
	c.x.report.API = apiResponses
	return c.x.toService()
}

func (c *connection) early() response { return nil }

// decideService handles a request of an API that a responses service is to answer, and reports whether it did.
func (a *modelRequest) decideService(api translate.API, answered bool) (action RequestAction, decided bool) {
	switch api {
	case translate.ResponsesAPI:
		return a.decideStored(answered)
	case translate.MessagesAPI:
		return a.decideServed()
	}
	return RequestAction{}, false
}

// decideStored handles a Responses request that needs more than one answer of the model, and reports whether it did.
// All other requests are sent to the model's servers. answered reports whether the request is for an answer, so that
// its own wish to be stored counts, and the model's relay.
func (a *modelRequest) decideStored(answered bool) (action RequestAction, decided bool) {
	e := a.x
	o := &e.gateway.options
	service := e.service()
	if service.Pool == "" && o.HostedTools != contract.HostedToolsRefuse {
		return RequestAction{}, false
	}
	needs, failure := a.body.ResponsesNeeds()
	if failure != nil {
		return e.refuse(failure), true
	}
	hosted := needs.HostedTool != ""
	if hosted && o.HostedTools == contract.HostedToolsRefuse && !service.HostedTools {
		return e.refuse(needs.NotHostedHere()), true
	}
	state := needs.State || answered && (needs.Store || a.relayed(needs.Stream))
	if state && service.Stores || (hosted || needs.Deferred) && service.HostedTools {
		return e.toService(), true
	}
	return RequestAction{}, false
}

// decideServed handles a request of Anthropic's Messages API that has tools which a server runs, and reports whether it
// did.
func (a *modelRequest) decideServed() (action RequestAction, decided bool) {
	service := a.x.service()
	if service.Pool == "" || !service.HostedTools || !service.Messages || !anthropic.NeedsService(a.body) {
		return RequestAction{}, false
	}
	return a.x.toService(), true
}

// service returns the service that may take the request. It has no pool if there is none.
func (e *Exchange) service() contract.ResponsesService {
	if e.options.declinesService {
		return contract.ResponsesService{}
	}
	return e.gateway.options.ResponsesService
}

// relayed reports whether an answer goes through the service only so that its end is never lost. stream reports whether
// it is a stream.
func (a *modelRequest) relayed(stream bool) bool {
	switch a.model.Relay {
	case contract.RelayFinish:
		return stream
	case contract.RelayRetry, contract.RelayResume:
		return true
	}
	return false
}

// toService sends the request to the service unchanged.
func (e *Exchange) toService() RequestAction {
	e.passThrough()
	e.report.Routed, e.report.Server = true, serviceName
	return RequestAction{Forward: &Forward{Pool: e.gateway.options.ResponsesService.Pool, Internal: e.marks()}}
}
