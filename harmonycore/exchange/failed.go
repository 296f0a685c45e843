package exchange

import (
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/anthropic"
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

const (
	// maxErrorBody is how much of a failed response is read for its message, in bytes.
	maxErrorBody = 64 << 10
	// maxDiscarded is how much more of a failed response the gateway waits for without keeping it, in bytes.
	maxDiscarded = 1 << 20
)

// failedResponse takes a response that is an error, or that is not a stream of events. It collects the body, and puts
// it into the API's form.
type failedResponse struct {
	x *Exchange
	// model is the model that the server was asked for. It is nil if the response came before the request was read.
	model *Model
	// answer returns the reply to a server's error. It is nil if the response came before the request was read.
	answer func(*backend.Error) *Reply
	// headersReceived reports whether the headers have come.
	headersReceived bool
	status          int
	// local, givenUp and full are those of the [ResponseHead].
	local, givenUp, full bool
	// shaped reports whether the proxy itself made the response, in OpenAI's form.
	shaped bool
	retry  string
	// received is how much of the request's body had come when the proxy itself answered.
	received int
	// collected is the part of the body that is kept. discarded is how much more came, in bytes.
	collected []byte
	discarded int
}

// earlyReply takes a response that comes while the request is being read. A server has sent it only if it has got the
// headers already.
func (e *Exchange) earlyReply() response {
	f := &failedResponse{x: e}
	if e.headersForwarded {
		f.model = e.gateway.onlyModel()
	}
	return f
}

func (f *failedResponse) headers(h ResponseHead) ResponseAction {
	shaped := h.Local && isJSON(h.ContentType) // the proxy was configured to shape its own replies
	if shaped && !f.x.Anthropic() {
		return f.x.client.pass()
	}
	f.headersReceived, f.givenUp, f.full, f.shaped = true, h.GivenUp, h.Full, shaped
	f.status, f.local, f.received, f.retry = h.Status, h.Local, h.Received, strings.Clone(h.RetryAfter)
	if h.End {
		return f.x.client.reply(f.reply())
	}
	return f.tellWhen(f.x.client.hold(f.headStatus(), contentTypeJSON), waitForServers)
}

func (f *failedResponse) body(chunk []byte, end bool) ResponseAction {
	client := &f.x.client
	switch {
	case client.state == outletClosed:
		return ResponseAction{}
	case !f.headersReceived:
		return client.reply(f.x.replyWith(errNotUnderstood()))
	}
	kept := min(maxErrorBody-len(f.collected), len(chunk))
	f.collected = append(f.collected, chunk[:kept]...)
	f.discarded += len(chunk) - kept
	switch {
	case end:
		r := f.reply()
		return f.tellWhen(client.last(r.Status, r.MediaType(), r.Body), r.RetryAfter)
	case client.state == outletHeld && len(f.collected) == maxErrorBody:
		return client.reply(f.reply()) // the rest of it is not waited for
	case f.discarded > maxDiscarded:
		// The headers have been sent, so only the end of the response could end it properly.
		return client.cutOff(CutServer)
	default:
		return client.wait()
	}
}

func (f *failedResponse) trailers() ResponseAction {
	switch client := &f.x.client; {
	case client.state == outletClosed:
		return ResponseAction{Pass: true}
	case !f.headersReceived:
		return client.reply(f.x.replyWith(errNotUnderstood()))
	default:
		return client.fail(f.reply(), CutServer)
	}
}

func (f *failedResponse) silent(limit int64) ResponseAction {
	if f.x.client.state == outletClosed {
		return ResponseAction{}
	}
	return f.x.client.fail(f.x.replyWith(errStalled(limit)), CutStall)
}

// tellWhen adds to the headers when to try again, if they are those of a refusal for load and the server has not said.
func (f *failedResponse) tellWhen(a ResponseAction, after string) ResponseAction {
	if a.Head != nil && a.Head.Status == statusBusy && f.retry == "" {
		a.Head.RetryAfter = after
	}
	return a
}

// headStatus returns the status of the response that its headers tell. It is the status of reply, except for
// servers that name the true status only in the body.
func (f *failedResponse) headStatus() int {
	if f.full || f.status == 503 && !f.local && !f.givenUp {
		return statusBusy
	}
	if f.local || f.status >= 400 && f.status <= 599 && !isGatewaysFault(f.status, f.model) {
		return f.status
	}
	return errNotUnderstood().Status
}

// reply puts the complete response into the API's form.
func (f *failedResponse) reply() *Reply {
	if f.givenUp {
		return f.x.replyWith(errGivenUp(f.status, int64(f.x.gateway.options.StallTimeoutMS)))
	}
	if f.local {
		if f.full {
			return f.x.replyWith(errFull())
		}
		text := string(f.collected)
		if f.shaped {
			text = backend.ReadError(f.status, f.collected).Message
		}
		return f.x.replyWith(localError(f.status, text, f.received, f.x.gateway.options.BodyLimit))
	}
	failure := backend.ReadError(f.status, f.collected)
	if f.status >= 200 && f.status <= 299 {
		// Some servers report a failure in the body although the status reports success.
		if failure = backend.BodyError(f.collected); failure == nil {
			return f.x.replyWith(errNotUnderstood())
		}
	}
	var r *Reply
	if f.answer != nil {
		r = f.answer(failure)
	} else {
		r = f.x.replyWith(serverError(failure, f.model))
	}
	if f.retry != "" {
		r.RetryAfter = f.retry
	}
	return r
}

// refused puts a server's error into OpenAI's form, and returns its cause. param is the member of the request that the
// prompt is made of. An error for a prompt that is too long names it.
func (e *Exchange) refused(failed *backend.Error, model *Model, param string) (*openai.Error, backend.Cause) {
	out, cause := serverError(failed, model), model.Kind.Cause(failed)
	switch cause {
	case backend.ContextExceeded:
		// Its message begins with OpenAI's words too.
		out.Code, out.Param = contract.CodeContextLengthExceeded, param
		out.Message = e.tooLongAtServer(out.Message, model.ContextLength)
	case backend.ImageRefused:
		e.curable(out, anthropic.NoImage)
	case backend.EffortRefused:
		e.curable(out, anthropic.NoEffort)
	case backend.FormatRefused:
		e.curable(out, anthropic.NoFormat)
	case backend.LateSystemRefused:
		e.curable(out, anthropic.NoSystem)
	}
	return out, cause
}

// failure puts a server's error into OpenAI's form. If the server refused the request for a reason that the gateway did
// not know, failure returns the error that the gateway itself would have returned.
func (g *generation) failure(failed *backend.Error) *openai.Error {
	out, cause := g.x.refused(failed, g.model, g.param())
	switch cause {
	case backend.TagsRefused:
		return errServerTags(g.kind.Facts().Name)
	case backend.TagRefused:
		out.Message = "The inference server cannot be held to the form of the answer. It refuses what it does not know in " +
			"a JSON schema or a regular expression: simplify them. If it refuses every form, this gateway's operator finds " +
			"out why with harmony probe."
	case backend.ChoicesRefused:
		out.Code, out.Param = contract.CodeChoicesNotSupported, "n"
		out.Message = "The model's inference server (" + g.kind.Facts().Name + ") does not generate " +
			strconv.Itoa(g.translated.Choices) + " choices in one request: it says \"" + clip(failed.Message) +
			"\" Send one request for each choice."
	}
	return out
}

const contentTypeJSON = "application/json"

func isJSON(contentType string) bool { return isMediaType(contentType, contentTypeJSON) }

func isMediaType(contentType, want string) bool {
	return len(contentType) >= len(want) && strings.EqualFold(contentType[:len(want)], want) &&
		(len(contentType) == len(want) || contentType[len(want)] == ';' || contentType[len(want)] == ' ')
}
