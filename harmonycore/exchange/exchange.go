package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Exchange is one request and its response. A host calls its methods in the order in which the parts come:
// [Exchange.Header] for each header, [Exchange.RequestHeaders] where the request has a body, [Exchange.Request],
// [Exchange.ResponseHeaders], [Exchange.ResponseBody] for each chunk, and [Exchange.ResponseTrailers] where there are
// any. A response may come before the request is all there. The host calls [Exchange.Stalled] now and then, and
// [Exchange.Report] at the end.
//
// An Exchange decides nothing by itself: the endpoint does, which [Gateway.Begin] has found by method and path. It is
// not for concurrent use.
type Exchange struct {
	gateway  *Gateway
	endpoint endpoint
	// response takes the response. It is nil until there is one to take.
	response response
	client   outlet
	// generation is the endpoint where the request has gone to a model in its tokens; else it is nil.
	generation *generation
	// decided reports whether the endpoint has decided on the request.
	decided bool
	// headersForwarded reports whether the request's headers went to the model's servers before the body was read.
	headersForwarded bool
	options          headerOptions
	// lastActivity is when the server last sent something or the request was forwarded, in milliseconds since 1970.
	lastActivity int64
	report       Report
}

// endpoint is one kind of request.
type endpoint interface {
	// head decides on the headers of a request whose body is still to come.
	head() RequestHead
	// request decides on a request that is all there. It may overwrite the body's memory.
	request(body []byte, h Host) RequestAction
	// early is what takes a response that comes before the request is all there. It is nil where the response passes.
	early() response
}

// response takes the parts of a response.
type response interface {
	headers(h ResponseHead) ResponseAction
	// body may overwrite the chunk's memory; end reports whether the chunk is the last one.
	body(chunk []byte, end bool) ResponseAction
	trailers() ResponseAction
	// silent is called when the server has sent nothing for limit milliseconds.
	silent(limit int64) ResponseAction
}

// headerOptions are the client's options in the headers of a request.
type headerOptions struct {
	// strict reports whether [contract.StrictHeader] asks for it, events is the value of [contract.EventsHeader].
	strict bool
	events string
	// tenant is the value of [contract.Seal.TenantHeader].
	tenant string
}

// Header takes a header of the request, its name in lower case: a host gives all of them before the body. Their memory
// is not kept. It reports whether the header is for the gateway alone: a host removes those from a request that goes to
// a Harmony server.
func (e *Exchange) Header(name, value string) (own bool) {
	switch name {
	case "":
		return false
	case contract.StrictHeader:
		e.options.strict = e.options.strict || value == "1" || value == "true"
		return true
	case contract.EventsHeader:
		e.options.events = strings.Clone(value)
		return true
	case e.gateway.options.Seal.TenantHeader:
		e.options.tenant = strings.Clone(value)
	}
	return false
}

// RequestHeaders decides on the headers of a request that has a body, before Request is given the body.
func (e *Exchange) RequestHeaders() RequestHead { return e.endpoint.head() }

// Request takes the whole body of the request, whose memory it may overwrite. The body is not kept.
func (e *Exchange) Request(body []byte, h Host) RequestAction {
	if e.decided || e.response != nil {
		return RequestAction{Hold: true}
	}
	e.decided = true
	e.lastActivity = h.Now
	return e.endpoint.request(body, h)
}

// ResponseHeaders takes the response's headers.
func (e *Exchange) ResponseHeaders(h ResponseHead, now int64) ResponseAction {
	e.lastActivity = now
	if !e.handlesResponse() {
		return ResponseAction{Pass: true}
	}
	return e.response.headers(h)
}

// ResponseBody takes a chunk of the response's body, whose memory it may overwrite; end reports whether it is the last
// one.
func (e *Exchange) ResponseBody(chunk []byte, end bool, now int64) ResponseAction {
	e.lastActivity = now
	if !e.handlesResponse() {
		return ResponseAction{Pass: true}
	}
	return e.response.body(chunk, end)
}

// ResponseTrailers takes the end of a response that ends with trailers. No body can be written any more, but a reply
// can still take the place of held headers.
func (e *Exchange) ResponseTrailers() ResponseAction {
	if !e.handlesResponse() {
		return ResponseAction{Pass: true}
	}
	return e.response.trailers()
}

// handlesResponse reports whether the exchange handles the response rather than let it pass.
func (e *Exchange) handlesResponse() bool {
	if e.client.state == outletPassing {
		return false
	}
	if e.response == nil {
		e.response = e.endpoint.early()
	}
	if e.response == nil {
		e.client.state = outletPassing
		return false
	}
	return true
}

// Stalled reports what to do about a server that has been silent for too long at now; the zero action is nothing.
func (e *Exchange) Stalled(now int64) ResponseAction {
	limit := int64(e.gateway.options.StallTimeoutMS)
	if limit <= 0 || now-e.lastActivity < limit || e.response == nil || e.PassesThrough() {
		return ResponseAction{}
	}
	return e.response.silent(limit)
}

// PassesThrough reports whether everything that is still to come passes unchanged.
func (e *Exchange) PassesThrough() bool { return e.client.state == outletPassing }

// Translated reports whether the request went to a model's servers in the model's own tokens.
func (e *Exchange) Translated() bool { return e.generation != nil }

// refuse ends the exchange. The reply then passes through the response's side, which leaves it alone.
func (e *Exchange) refuse(failure *openai.Error) RequestAction {
	e.generation = nil
	if e.report.Routed {
		e.report.Routed, e.report.Server = false, ""
	}
	return e.answer(replyWith(failure))
}

// answer answers the request without a server.
func (e *Exchange) answer(r *Reply) RequestAction {
	e.passThrough()
	return RequestAction{Reply: r}
}

// passThrough lets everything that is still to come pass unchanged.
func (e *Exchange) passThrough() RequestAction {
	e.decided, e.client.state = true, outletPassing
	return RequestAction{}
}

// Overloaded is the reply for a host that has no memory to spare for the request.
func (e *Exchange) Overloaded() *Reply {
	e.refuse(errOverloaded())
	return Overloaded()
}

// Overloaded is the reply for a host that has no memory to spare to begin an exchange.
func Overloaded() *Reply {
	reply := replyWith(errOverloaded())
	reply.RetryAfter = "1"
	return reply
}

// CannotForward is the reply for a host that refuses the rewriting of a held request: better an error than raw JSON at
// a token endpoint.
func (e *Exchange) CannotForward() *Reply { return e.refuse(errCannotRewrite()).Reply }
