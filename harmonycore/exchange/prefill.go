package exchange

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Prefill is a call of a server that reads the prompt of a request for the server that writes its answer
// (docs/prefill.md). [Exchange.PrefillBody] is its body, and [Exchange.Prefilled] takes its answer.
type Prefill struct {
	// Cluster is the proxy's name of the servers. Destination is the address of the one that gets the call, or empty if
	// any does.
	Cluster, Destination string
	Path                 string
	// TimeoutMS limits the call, in milliseconds. 0 is no limit.
	TimeoutMS int
	// Awaited reports whether the request is held until [Exchange.Prefilled] has completed its body. Otherwise it goes on
	// at once.
	Awaited bool
	// AbortPath and AbortBody are a request to the same server that aborts the call. They are empty where the servers take
	// none.
	AbortPath string
	AbortBody []byte
}

// PrefillAnswer is the answer to a call, or the proxy's own in its place.
type PrefillAnswer struct {
	Status     int
	RetryAfter string
	// Body is the beginning of the body. TooLarge reports whether there is more.
	Body     []byte
	TooLarge bool
}

// PrefillAction is the decision on the answer to a call. The zero action does nothing.
type PrefillAction struct {
	// Resume sends the held request on, with Rest after the body that it has. Rest is valid until the next call.
	Resume bool
	Rest   []byte
	// Reply answers the client in place of the server that writes the answer.
	Reply *Reply
}

// PrefillReport describes the call of a request. It is zero if no server was to be called.
type PrefillReport struct {
	// Pool is the operator's name of the servers' pool. Server is the address of the server that was called, if it is
	// known.
	Pool, Server string
	// Result is one of the constants below.
	Result string
	// Time is how long the call took, in milliseconds, or -1 if there was none or no answer to it.
	Time int64
}

// The results of a call: the prompt was read, it was shorter than [contract.Prefill.MinTokens], the call has failed and
// the server that writes the answer reads the prompt too, it has failed and the client got an error, or nobody wanted
// its answer any more.
const (
	PrefillDone     = "done"
	PrefillShort    = "short"
	PrefillFellBack = "decode"
	PrefillFailed   = "failed"
	PrefillLeft     = "left"
)

// The roles of the servers that made an answer, in [Report.Role].
const (
	// RoleDivided: one server has read the prompt, and another has written the answer.
	RoleDivided = "prefill_decode"
	// RoleDecode: the server that writes answers has also read the prompt.
	RoleDecode = "decode"
)

// role returns the role of the server that the request was sent to, or "" if there are no roles.
func (p *PrefillReport) role() string {
	switch p.Result {
	case "":
		return ""
	case PrefillShort, PrefillFellBack:
		return RoleDecode
	}
	return RoleDivided
}

// divided is the part of a generation whose prompt another server reads.
type divided struct {
	model *Model
	call  *Prefill
	// asked is the request whose prompt is to be read, until the host has the call's body.
	asked *backend.Request
	// body has what [Exchange.PrefillBody] returns, and then the Rest of [PrefillAction].
	body *Scratch
	// awaited reports whether the request is held.
	awaited bool
}

// divide decides whether another server reads the prompt of the request, whose body is complete in scratch.
func (g *generation) divide(model *Model, r *backend.Request, scratch *Scratch, h Host) *openai.Error {
	settings, report := &model.Prefill, &g.x.report.Prefill
	if settings.Cluster == "" {
		return nil
	}
	*report = PrefillReport{Pool: settings.Pool, Time: -1}
	switch {
	case r.Choices > 1:
		return &openai.Error{
			Status: 400, Type: contract.InvalidRequestError, Code: contract.CodeChoicesNotSupported, Param: "n",
			Message: "The model's servers read a prompt for one answer. Send one request for each choice.",
		}
	case len(r.Prompt) < settings.MinTokens:
		report.Result = PrefillShort
		return nil
	case h.Bootstrap == nil:
		return errMisconfigured() // the host calls no servers
	}
	d := &divided{model: model, asked: r, body: scratch}
	d.call = &Prefill{
		Cluster: settings.Cluster, Path: model.ServerPath(model.Kind.Facts().Path),
		TimeoutMS: g.x.gateway.options.StallTimeoutMS,
	}
	if model.Kind.Facts().Prefill == contract.PrefillBootstrap {
		if len(settings.Servers) == 0 {
			report.Result = PrefillFailed
			return errNoPrefill()
		}
		at, room := h.Bootstrap(settings.Servers)
		d.meet(settings.Servers[at], room, h.ID)
		report.Server = d.call.Destination
	} else {
		d.call.Awaited, d.awaited = true, true
		scratch.body = scratch.body[:len(scratch.body)-1] // Prefilled completes it
	}
	report.Result = PrefillLeft // until there is an answer
	g.divided = d
	return nil
}

// meet tells both servers of a request where they meet.
func (d *divided) meet(server string, room uint64, id string) {
	host := server[:max(strings.LastIndexByte(server, ':'), 0)] // an IPv6 address keeps its brackets
	d.body.body = backend.AppendBootstrap(d.body.body, &backend.Bootstrap{
		Host: host, Port: d.model.Prefill.BootstrapPort, Room: room &^ (1 << 63), ID: id})
	d.call.Destination = server
	d.call.AbortPath, d.call.AbortBody = backend.AbortPath, backend.AppendAbort(nil, id)
}

// PrefillBody returns the body of the call in [RequestAction.Prefill]. It may lie where the Body of
// [RequestAction.Forward] does, so the host must have copied that one. It is valid until the next call.
func (e *Exchange) PrefillBody() []byte {
	g := e.generation
	if g == nil || g.divided == nil || g.divided.asked == nil {
		return nil
	}
	d := g.divided
	asked := d.asked
	d.asked = nil
	prefiller, ok := g.kind.(backend.Prefiller)
	if !d.awaited || !ok {
		return d.body.body
	}
	d.body.body = prefiller.AppendPrefill(d.body.body[:0], asked)
	d.body.body = appendRest(d.body.body, d.model)
	return d.body.body
}

// Prefilled takes the answer to the call in [RequestAction.Prefill].
func (e *Exchange) Prefilled(a PrefillAnswer) PrefillAction {
	g := e.generation
	if g == nil || g.divided == nil || e.client.state == outletPassing {
		return PrefillAction{}
	}
	d, report := g.divided, &e.report.Prefill
	report.Time = max(e.now()-g.forwarded, 0)
	e.active = true
	if !d.awaited {
		return g.prefilledBeside(a)
	}
	d.awaited = false
	if g.state != awaiting || e.response != response(g) {
		return PrefillAction{} // the proxy has answered the held request
	}
	var params []byte
	if a.Status >= 200 && a.Status <= 299 && !a.TooLarge {
		params, report.Server = backend.TransferParams(a.Body)
	}
	switch {
	case params != nil:
		report.Result = PrefillDone
	case d.model.Prefill.OnFailure == contract.PrefillDecode && !isClientsFault(a.Status):
		report.Result = PrefillFellBack
	default:
		failure := backend.PrefillError(g.kind, a.Status, a.Body)
		if failure == nil {
			failure = &backend.Error{Status: 502, Message: "the server that was asked to read it does not say where it keeps it"}
		}
		return g.prefillFailed(failure, a.RetryAfter)
	}
	d.body.body = backend.AppendTransferParams(d.body.body[:0], params)
	return PrefillAction{Resume: true, Rest: d.body.body}
}

// prefilledBeside takes the answer of a server that reads the prompt while the other one already waits for it. If it
// has failed, the other one would wait for long.
func (g *generation) prefilledBeside(a PrefillAnswer) PrefillAction {
	failure := backend.PrefillError(g.kind, a.Status, a.Body)
	if failure == nil {
		g.x.report.Prefill.Result = PrefillDone
		return PrefillAction{}
	}
	if g.started || g.state != awaiting && g.state != listening || g.x.client.state != outletHeld {
		return PrefillAction{} // the answer is there, or has ended
	}
	return g.prefillFailed(failure, a.RetryAfter)
}

// unanswered returns the result of a call without an answer to it, of a generation that has ended so.
func (g *generation) unanswered(finish string) string {
	switch {
	case g.started:
		return PrefillDone // the other server has what was read, whether or not the first one has said so
	case finish == FinishError && !g.divided.call.Awaited:
		return PrefillFailed // the other server has given up waiting for it, if not for another reason
	}
	return PrefillLeft
}

// isClientsFault reports whether a server has refused the request itself, which other servers would refuse too.
func isClientsFault(status int) bool { return status == 400 || status == 413 || status == 422 }

// prefillFailed answers the client whose prompt was not read.
func (g *generation) prefillFailed(failed *backend.Error, retryAfter string) PrefillAction {
	g.x.report.Prefill.Result = PrefillFailed
	failure := g.prefillError(failed)
	reply := g.x.replyWith(failure)
	if g.divided.call.Awaited {
		reply = g.x.refuse(failure).Reply // the request has reached no server of its pool
	} else {
		g.state = over
		g.x.client.reply(reply)
	}
	if retryAfter != "" {
		reply.RetryAfter = retryAfter
	}
	return PrefillAction{Reply: reply}
}

// prefillError returns the error for a prompt that was not read.
func (g *generation) prefillError(failed *backend.Error) *openai.Error {
	if isClientsFault(failed.Status) {
		return g.failure(failed)
	}
	out := serverError(failed, g.model)
	out.Message = clip("The prompt was not read: " + out.Message)
	return out
}

// errNoPrefill is for a request that needs a server to read its prompt where there is none.
func errNoPrefill() *openai.Error {
	return &openai.Error{
		Status: 503, Type: contract.ServerErrorType, Code: contract.CodeServerUnavailable,
		Message: "The prompt was not read: no server that reads prompts is ready.",
	}
}

// isAwaitingPrefill reports whether the request is held until its prompt has been read.
func (e *Exchange) isAwaitingPrefill() bool {
	return e.generation != nil && e.generation.divided != nil && e.generation.divided.awaited
}
