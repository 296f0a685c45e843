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
	// toPool reports whether the request's headers have gone on to the model's servers before the body was read.
	toPool bool
	asked  wishes
	// active is when the server was last heard of, or the request forwarded, in milliseconds since 1970.
	active int64
	report Report
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

// wishes are what the headers of a request ask of the gateway.
type wishes struct {
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
		e.asked.strict = e.asked.strict || value == "1" || value == "true"
		return true
	case contract.EventsHeader:
		e.asked.events = strings.Clone(value)
		return true
	case e.gateway.options.Seal.TenantHeader:
		e.asked.tenant = strings.Clone(value)
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
	e.active = h.Now
	return e.endpoint.request(body, h)
}

// ResponseHeaders takes the response's headers.
func (e *Exchange) ResponseHeaders(h ResponseHead, now int64) ResponseAction {
	e.active = now
	if !e.listens() {
		return ResponseAction{Pass: true}
	}
	return e.response.headers(h)
}

// ResponseBody takes a chunk of the response's body, whose memory it may overwrite; end reports whether it is the last
// one.
func (e *Exchange) ResponseBody(chunk []byte, end bool, now int64) ResponseAction {
	e.active = now
	if !e.listens() {
		return ResponseAction{Pass: true}
	}
	return e.response.body(chunk, end)
}

// ResponseTrailers takes the end of a response that ends with trailers. No body can be written any more, but a reply
// can still take the place of held headers.
func (e *Exchange) ResponseTrailers() ResponseAction {
	if !e.listens() {
		return ResponseAction{Pass: true}
	}
	return e.response.trailers()
}

// listens reports whether the response is for the exchange, and not one to pass.
func (e *Exchange) listens() bool {
	if e.client.state == outletAlone {
		return false
	}
	if e.response == nil {
		e.response = e.endpoint.early()
	}
	if e.response == nil {
		e.client.state = outletAlone
		return false
	}
	return true
}

// Stalled reports what to do about a server that has been silent for too long at now; the zero action is nothing.
func (e *Exchange) Stalled(now int64) ResponseAction {
	limit := int64(e.gateway.options.StallTimeoutMS)
	if limit <= 0 || now-e.active < limit || e.response == nil || e.Alone() {
		return ResponseAction{}
	}
	return e.response.silent(limit)
}

// Alone reports whether nothing is left to do but to let everything pass.
func (e *Exchange) Alone() bool { return e.client.state == outletAlone }

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
	e.leave()
	return RequestAction{Reply: r}
}

// leave lets everything pass that is still to come.
func (e *Exchange) leave() RequestAction {
	e.decided, e.client.state = true, outletAlone
	return RequestAction{}
}

// Overloaded is the reply for a host that has no memory to spare for the request.
func (e *Exchange) Overloaded() *Reply {
	e.refuse(errFull())
	return Overloaded()
}

// Overloaded is the reply for a host that has no memory to spare to begin an exchange.
func Overloaded() *Reply {
	reply := replyWith(errFull())
	reply.RetryAfter = "1"
	return reply
}

// CannotForward is the reply for a host that refuses the rewriting of a held request: better an error than raw JSON at
// a token endpoint.
func (e *Exchange) CannotForward() *Reply { return e.refuse(errCannotRewrite()).Reply }
