package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
)

// Exchange is one request and its response. A host calls its methods in the order in which the parts come:
// [Exchange.Header] for each header, [Exchange.RequestHeaders] if the request has a body, [Exchange.Request],
// [Exchange.ResponseHeaders], [Exchange.ResponseBody] for each chunk, and [Exchange.ResponseTrailers] if there are
// trailers. A response may come before the request is complete. The host calls [Exchange.Stalled] now and then, and
// [Exchange.Report] at the end.
//
// An Exchange decides nothing by itself. The endpoint decides, which [Gateway.Begin] has found by method and path. An
// Exchange is not safe for concurrent use.
type Exchange struct {
	gateway  *Gateway
	endpoint endpoint
	// route is the pattern of the request's path, or empty.
	route string
	// response takes the response. It is nil until a response is expected.
	response response
	client   outlet
	// generation is the endpoint if the request was sent to a model as tokens. Otherwise it is nil.
	generation *generation
	// passed is what reads the answer to a Chat request that went on as it was. Otherwise it is nil.
	passed *passed
	// observer is what reads the answer to a request that was not translated, if the operator has it observed.
	observer *observer
	// decided reports whether the endpoint has decided on the request.
	decided bool
	// headersForwarded reports whether the request's headers were sent on to the model's servers before the body was read.
	headersForwarded bool
	// unread is the model whose servers got the request as it was. Their answer passes unread. It is nil otherwise.
	unread  *Model
	options headerOptions
	// form is the form of the client's errors. requestID is the proxy's name of the request, and conversation the client's
	// own name of the conversation; both are noted in Anthropic's API only.
	form                    errorForm
	requestID, conversation string
	// secrets are the tag of the headers that may hold a client's key, if prefixes are remembered.
	secrets prefixmemory.Tag
	// sessions are the client's, by the headers that may name one. internal are the request's internal headers.
	sessions []session
	caller   caller
	// reservation is the request's at the proxy's rate limit filter.
	reservation reservation
	internal    []Header
	// clock is [Host.Clock].
	clock func() int64
	// lastActivity is when the server is known to have last sent something, or when the request was forwarded, in
	// milliseconds since 1970. active reports whether the server has sent something since then: [Exchange.Overdue] notes
	// when, so that a chunk needs no clock.
	lastActivity int64
	// queuedMS is how many milliseconds the proxy may have the request wait before a server gets it. It is 0 when the
	// response has begun.
	queuedMS int64
	// cutting reports whether the client has the error with which its stream ended, and the stream is still to be reset.
	cutting bool
	active  bool
	// attempt is what the attempts at servers know, if the proxy makes further ones until the first token.
	attempt contract.Attempt
	// unheld reports whether an answer has begun that the proxy does not hold until its first token, or none came in time.
	unheld bool
	report Report
}

// endpoint handles one kind of request.
type endpoint interface {
	// head decides on the headers of a request before its body has come.
	head() RequestHead
	// request decides on a complete request. It may overwrite the body's memory.
	request(body []byte, h Host) RequestAction
	// early returns what takes a response that comes before the request is complete. If it returns nil, the response
	// passes.
	early() response
}

// response takes the parts of a response.
type response interface {
	headers(h ResponseHead) ResponseAction
	// body may overwrite the chunk's memory. end reports whether the chunk is the last one.
	body(chunk []byte, end bool) ResponseAction
	trailers() ResponseAction
	// silent is called when the server has sent nothing for limit milliseconds.
	silent(limit int64) ResponseAction
}

// headerOptions are the headers of a request that are for the gateway.
type headerOptions struct {
	// strict reports whether [contract.StrictHeader] asks for strict parsing. events is the value of
	// [contract.EventsHeader].
	strict bool
	events string
	// declinesService reports whether [contract.ServiceHeader] keeps the request from the responses service.
	declinesService bool
	// relay is the value of [contract.RelayHeader].
	relay string
	// authorized reports whether [Report.ClientKey] is of the header authorization.
	authorized bool
	// tenant is the value of [contract.Seal.TenantHeader].
	tenant string
}

// Header takes a header of the request, with its name in lower case. A host passes all headers before the body. The
// Exchange keeps no reference to their memory. own reports whether the header is only for the gateway: a host removes
// such headers from a request to a Harmony server.
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
	case contract.ServiceHeader:
		e.options.declinesService = value == contract.ServiceDeclined
		return true
	case contract.RelayHeader:
		e.options.relay = strings.Clone(value)
		return true
	case requestIDHeader, anthropic.VersionHeader, anthropic.SessionHeader:
		e.noteForm(name, value)
	case "authorization", "api-key", "x-api-key":
		e.noteKey(name, value)
		if m := e.gateway.options.Prefixes; m != nil {
			e.secrets = m.Identity(e.secrets, name, value)
		}
	}
	e.noteCaller(name, value)
	if len(e.gateway.sessionHeaders) > 0 {
		e.noteSession(name, value)
	}
	if name == e.gateway.options.Seal.TenantHeader {
		e.options.tenant = strings.Clone(value)
	}
	return false
}

// RequestHeaders decides on the headers of a request with a body, before [Exchange.Request] gets the body.
func (e *Exchange) RequestHeaders() RequestHead {
	if failure := e.identify(); failure != nil {
		return RequestHead{Reply: e.refuse(failure).Reply}
	}
	return e.endpoint.head()
}

// Request takes the whole body of the request. It may overwrite the body's memory, and keeps no reference to it.
func (e *Exchange) Request(body []byte, h Host) RequestAction {
	if e.decided || e.response != nil {
		return RequestAction{Hold: true}
	}
	e.decided = true
	e.clock, e.lastActivity = h.Clock, h.Now
	if failure := e.identify(); failure != nil {
		return e.refuse(failure)
	}
	return e.endpoint.request(body, h)
}

// ResponseHeaders takes the response's headers.
func (e *Exchange) ResponseHeaders(h ResponseHead) ResponseAction {
	e.active, e.attempt.SilentMS, e.queuedMS = true, 0, 0
	e.unheld = e.unheld || h.Status == 200 && !h.Local && !e.held()
	if e.noteReserved(&h) {
		return e.limited(&h)
	}
	if r := e.refusesKey(e.unread, &h); r != nil {
		return e.client.reply(r)
	}
	if !e.handlesResponse() {
		return ResponseAction{Pass: true}
	}
	return e.response.headers(h)
}

// ResponseBody takes a chunk of the response's body. It may overwrite the chunk's memory. end reports whether the chunk
// is the last one.
func (e *Exchange) ResponseBody(chunk []byte, end bool) ResponseAction {
	e.active = true
	if !e.handlesResponse() {
		return ResponseAction{Pass: true}
	}
	return e.response.body(chunk, end)
}

// ResponseTrailers ends a response that has trailers. The body can no longer grow, but a reply can still replace held
// headers.
func (e *Exchange) ResponseTrailers() ResponseAction {
	if !e.handlesResponse() {
		return ResponseAction{Pass: true}
	}
	return e.response.trailers()
}

// handlesResponse reports whether the exchange takes the response, rather than letting it pass.
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

// now returns the time in milliseconds since 1970.
func (e *Exchange) now() int64 {
	if e.clock == nil {
		return e.lastActivity
	}
	return e.clock()
}

// Overdue reports whether the server has been silent too long at now, or the stream is to be reset, so that
// [Exchange.Stalled] has something to decide. Data that the server has sent since the last call counts as sent now.
func (e *Exchange) Overdue(now int64) bool {
	if e.active {
		e.active, e.lastActivity = false, now
	}
	if e.cutting {
		return true
	}
	limit := int64(e.gateway.options.StallTimeoutMS)
	if e.attempt.SilentMS > 0 {
		limit = contract.MaxLost*(limit+contract.AttemptSlackMS) + contract.AttemptSlackMS // the attempts end before it
	}
	return limit > 0 && now-e.lastActivity >= limit+e.queuedMS && e.response != nil && !e.PassesThrough() &&
		!e.isAwaitingPrefill() && !e.isRendering()
}

// Stalled decides what to do about a server that is [Exchange.Overdue] at now. The zero action does nothing.
func (e *Exchange) Stalled(now int64) ResponseAction {
	if !e.Overdue(now) {
		return ResponseAction{}
	}
	e.unheld = e.unheld || !e.held()
	return e.response.silent(int64(e.gateway.options.StallTimeoutMS))
}

// held reports whether the proxy holds the answer until its first token.
func (e *Exchange) held() bool { return e.attempt.Kind != "" }

// PassesThrough reports whether everything that is still to come passes unchanged.
func (e *Exchange) PassesThrough() bool { return e.client.state == outletPassing }

// Route returns the pattern of the request's path, such as /v1/responses/{id}. It is empty for a path that is refused.
func (e *Exchange) Route() string { return e.route }

// Translated reports whether the request was sent to a model's servers as tokens of the model.
func (e *Exchange) Translated() bool { return e.generation != nil }

// refuse ends the exchange with an error. The reply then passes through the response's side, which leaves it unchanged.
func (e *Exchange) refuse(failure *openai.Error) RequestAction {
	e.generation, e.passed, e.observer, e.unread = nil, nil, nil, nil
	e.report.Untranslated, e.report.Pool, e.report.Policy, e.report.RoutedBy = false, "", "", ""
	e.report.Route = ""
	e.reservation, e.report.Reserves, e.report.ReservedTokens = reservation{}, false, 0
	if e.report.Routed {
		e.report.Routed, e.report.Server = false, ""
	}
	return e.answer(e.replyWith(failure))
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

// Overloaded returns the reply of a host that lacks the memory for the request.
func (e *Exchange) Overloaded() *Reply {
	return e.refuse(errOverloaded()).Reply
}

// Overloaded returns the reply of a host that lacks the memory to begin an exchange.
func Overloaded() *Reply { return (&Exchange{}).replyWith(errOverloaded()) }

// CannotForward returns the reply of a host that cannot rewrite a held request. An error is better than raw JSON at a
// token endpoint.
func (e *Exchange) CannotForward() *Reply { return e.refuse(errCannotRewrite()).Reply }
