package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/sse"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// state is where an exchange stands. It only moves forward:
//
//	reading ──▶ alone                             none of ours, or answered by ourselves
//	   ▼
//	awaiting ──▶ listening ──▶ streaming ──▶ over
//	   │                           └───────▶ failed | ended ──▶ over
//	   └───────▶ collecting ───────────────▶ over
//
// and from each of them to alone, where a reply of our own takes the response's place. Nothing reaches the client
// before streaming, over or alone, so whatever fails until then is a typed error with a status. A host that can hold no
// headers has them sent when listening or collecting begins: what fails from there on is told in the body, or cut.
type state uint8

const (
	// reading: the request's body is on its way.
	reading state = iota
	// alone: what comes is left as it is, be it an exchange that is none of ours or a reply of our own.
	alone
	// awaiting: the request was forwarded, no response headers yet.
	awaiting
	// listening: the server streams events, of which none was a token yet, or the client wants a whole answer.
	listening
	// merging: the response is another server's list of models, gathered to be put behind ours.
	merging
	// collecting: the response is an error, or no stream of events; its body is gathered to be put into our shape.
	collecting
	// streaming: the client has headers and perhaps events.
	streaming
	// failed: the client was told so in the stream. A server that ends now ends the stream as well; one that goes on
	// generating is cut off.
	failed
	// ended: the client has its whole answer, and the server has not ended. See afterEnd.
	ended
	// over: what comes is swallowed.
	over
)

type kind uint8

const (
	chat kind = iota
	responses
	rawPrompt
	// inputTokens, tokenizing and detokenizing are answered from here.
	inputTokens
	tokenizing
	detokenizing
	// modelList and oneModel are too, but for a list of other models that another server has.
	modelList
	oneModel
	// stored is about a response or a conversation of earlier.
	stored
	// badPath is refused for its path, whatever the body.
	badPath
	// upgrade is refused because another protocol is asked for.
	upgrade
	// undecided is none of these, and stays here because nobody knows where it may go.
	undecided
)

// prompt is the member of a request that its prompt is made of.
func (k kind) prompt() string {
	if k == responses || k == inputTokens {
		return "input"
	}
	return "messages"
}

// counts reports whether the request asks for tokens, and for no answer of the model's.
func (k kind) counts() bool { return k == inputTokens || k == tokenizing || k == detokenizing }

// errorBodyLimit is how much of a failed response is read for its message, in bytes.
const errorBodyLimit = 64 << 10

// Exchange is one request and its response. It is not for concurrent use.
type Exchange struct {
	gateway *Gateway
	kind    kind
	path    string
	state   state
	// tenant is the value of the gateway's TenantHeader.
	tenant string
	// form is the value of EventsHeader.
	form string
	// toPool says that the request's headers have gone on to the model's servers, headSent that the client has the
	// response's: both only where the host can hold none.
	toPool, headSent bool
	// active is when the server was last heard of, or the request forwarded, in milliseconds since 1970.
	active int64

	server backend.Dialect
	// serverModel is the name by which the server was asked for the model.
	serverModel  string
	promptTokens int
	// maxTokens is how many tokens the server was asked for at most, in each choice.
	maxTokens int
	// silentStops are the client's own stop tokens that are no part of the answer.
	silentStops []uint32
	effort      harmony.Effort
	// strict says that the answer ends at the first thing that the reference would refuse, withheld that it has not
	// accepted a message's header yet: until then nothing is given out, so that a refusal can be a status.
	strict, withheld bool
	// request is what answer answers.
	request *translate.Request
	answer  translate.Answer
	// bounded is the answer too, where it holds what it is told; else it is nil.
	bounded translate.Bounded
	choices []choice
	// prefilled is the part of the answer that the prompt ends with already.
	prefilled []uint32
	trimmer   backend.Trimmer
	events    sse.Decoder
	event     backend.Event
	usage     backend.Usage
	// begun says that the answer has seen its first token.
	begun bool
	// early says that a choice has ended before the server ended it, behind how many tokens have come behind the end of the
	// whole answer, patience how many may.
	early            bool
	behind, patience int
	// asked is when the request was all there; report is what is known at once of what Report says.
	asked  int64
	report Report

	collected []byte
	// skipped is how much of a failed response was not kept, in bytes.
	skipped int
	status  int
	local   bool
	retry   string
	// received is how much of the request's body had come when the proxy answered by itself.
	received int
	// scratch is what the last action's Body lies in.
	scratch []byte
}

// ResponseHead is what the response's headers say.
type ResponseHead struct {
	Status      int
	ContentType string
	RetryAfter  string
	// Local says that the proxy itself made the response: no server has sent it.
	Local bool
	// Received is how much of the request's body had come by then, in bytes.
	Received int
	// End says that the response has no body.
	End bool
}

// ResponseAction is what to do with the part of a response just given.
type ResponseAction struct {
	// Pass leaves everything as it came.
	Pass bool
	// Hold keeps the headers back; Body is then empty.
	Hold bool
	// Head changes the held headers before they go.
	Head *Head
	// Body replaces the chunk.
	Body []byte
	// Reply answers in place of the response, whose headers were held until now.
	Reply *Reply
	// Reset cuts the stream: the client has an unfinished answer, and nothing more can be written to it.
	Reset bool
	// Late says that this is a failure that would have been a status, had the host been able to hold the headers.
	Late bool
}

// Head is what the client's response headers become.
type Head struct {
	Status      int
	ContentType string
}

// Alone reports that nothing is left to do but to let everything pass.
func (e *Exchange) Alone() bool { return e.state == alone }

// ResponseHeaders takes the response's headers.
func (e *Exchange) ResponseHeaders(h ResponseHead, now int64) ResponseAction {
	e.active = now
	switch {
	case e.state == alone:
		return ResponseAction{Pass: true}
	case e.kind == modelList:
		return e.othersHead(h)
	case h.Local && isJSON(h.ContentType):
		// The proxy was configured to shape its own replies.
		e.state = alone
		return ResponseAction{Pass: true}
	case e.kind == rawPrompt && e.gateway.options.Reduced:
		// An answer to headers whose body is still being read. What becomes of the body is another matter.
		e.state = alone
		return ResponseAction{Pass: true}
	case e.state != awaiting || h.Local || h.Status < 200 || h.Status > 299 || !isEventStream(h.ContentType):
		e.state = collecting
		e.status, e.local, e.received, e.retry = h.Status, h.Local, h.Received, strings.Clone(h.RetryAfter)
		if h.End {
			return e.reply(e.collectedReply())
		}
		return e.holdHead(e.headStatus(), contentTypeJSON)
	case h.End:
		return e.reply(replyWith(errUnfinished()))
	default:
		e.state = listening
		return e.holdHead(200, e.answer.ContentType())
	}
}

// holdHead keeps the headers back. A host that cannot do so sends them as what is known now makes them.
func (e *Exchange) holdHead(status int, contentType string) ResponseAction {
	if !e.gateway.options.Reduced {
		return ResponseAction{Hold: true}
	}
	e.headSent = true
	return ResponseAction{Head: &Head{Status: status, ContentType: contentType}}
}

// ResponseBody takes a chunk of the response's body, whose memory it may overwrite; end says that it is the last one.
func (e *Exchange) ResponseBody(chunk []byte, end bool, now int64) ResponseAction {
	e.active = now
	switch e.state {
	case alone:
		return ResponseAction{Pass: true}
	case reading, awaiting:
		return e.headless()
	case over:
		return ResponseAction{}
	case failed, ended:
		return e.afterEnd(chunk, end)
	case merging:
		return e.others(chunk, end)
	case collecting:
		kept := min(errorBodyLimit-len(e.collected), len(chunk))
		e.collected = append(e.collected, chunk[:kept]...)
		if e.headSent {
			return e.collectLate(len(chunk)-kept, end)
		}
		if !end && len(e.collected) < errorBodyLimit {
			return ResponseAction{Hold: true}
		}
		if !end {
			return e.reply(e.collectedReply()) // what else it says is not waited for
		}
		r := e.collectedReply()
		e.state = over
		return ResponseAction{Head: &Head{Status: r.Status, ContentType: contentTypeJSON}, Body: r.Body}
	default:
		return e.stream(chunk, end)
	}
}

// ResponseTrailers takes the end of a response that ends with trailers. No body can be written any more, but held
// headers can still be answered in place of.
func (e *Exchange) ResponseTrailers() ResponseAction {
	switch e.state {
	case reading, awaiting:
		return e.headless()
	case merging:
		return e.replyModels()
	case collecting, listening:
		if e.headSent {
			return e.cutLate(CutServer)
		}
		if e.state == collecting {
			return e.reply(e.collectedReply())
		}
		return e.reply(replyWith(errUnfinished()))
	case streaming:
		e.state, e.report.Cut = over, CutServer
		return ResponseAction{Reset: true}
	default:
		return ResponseAction{Pass: true}
	}
}

// headless answers what comes of a response whose headers have not come. No server sends that, and no host hands it over;
// whoever does it all the same gets an error rather than a crash of the VM.
func (e *Exchange) headless() ResponseAction {
	if e.kind == modelList {
		return e.replyModels()
	}
	return e.reply(replyWith(errNotUnderstood()))
}

// Stalled reports what to do about a server that has been silent for too long at now; the zero action is nothing.
func (e *Exchange) Stalled(now int64) ResponseAction {
	limit := e.gateway.options.StallTimeout
	if limit <= 0 || e.state == reading || now-e.active < limit {
		return ResponseAction{}
	}
	if e.kind == modelList && e.state != alone && e.state != over {
		e.collected = nil
		return e.replyModels()
	}
	switch e.state {
	case awaiting, listening, collecting:
		if e.headSent {
			return e.cutLate(CutStall)
		}
		return e.reply(replyWith(errStalled(limit)))
	case streaming:
		e.state, e.report.Cut = over, CutStall
		return ResponseAction{Reset: true}
	case failed, ended:
		e.state = over
		return ResponseAction{Reset: true}
	default:
		return ResponseAction{}
	}
}

// cutLate ends a response whose status has been sent before it was known to be wrong, loudly, for the sake of cause.
func (e *Exchange) cutLate(cause string) ResponseAction {
	e.state, e.report.Cut = over, cause
	return ResponseAction{Reset: true, Late: true}
}

// reply answers in place of the response: our own words then pass by here and are left alone.
func (e *Exchange) reply(r *Reply) ResponseAction {
	e.state = alone
	return ResponseAction{Reply: r}
}
