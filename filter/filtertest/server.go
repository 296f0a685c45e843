package filtertest

import (
	"net/http"
	"strconv"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// Respond sends the server's whole response. The host adds a content-length, as a server does.
func (x *Exchange) Respond(status int, body string, headers ...string) {
	x.host.t.Helper()
	h := x.responseHeaders("Respond", status, headers)
	bodyless := x.method == http.MethodHead || status == http.StatusNoContent || status == http.StatusNotModified
	if bodyless && body != "" {
		x.misuse("Respond", "a response %d to %s has no body", status, x.method)
	}
	if !bodyless && length(h) < 0 && (x.server == HTTP1 || body != "") {
		h.Set("content-length", strconv.Itoa(len(body)))
	}
	x.beginResponse(h, body == "", bodyless, "Respond")
	if body != "" {
		x.endResponse("Respond", body)
	}
}

// BeginResponse sends the headers of a response. Its body follows with [Exchange.SendResponse] and
// [Exchange.EndResponse]. Over HTTP/1.1 the host adds transfer-encoding: chunked if no content-length is given.
func (x *Exchange) BeginResponse(status int, headers ...string) {
	x.host.t.Helper()
	h := x.responseHeaders("BeginResponse", status, headers)
	if x.server == HTTP1 && length(h) < 0 {
		h.Set("transfer-encoding", "chunked")
	}
	x.beginResponse(h, false, false, "BeginResponse")
}

func (x *Exchange) responseHeaders(step string, status int, headers []string) *Headers {
	x.host.t.Helper()
	x.pairs(step, headers)
	if status < 200 || status > 999 {
		x.misuse(step, "%d is not the status of a response; it is %s(status, …), and informational responses do not reach "+
			"filters", status, step)
	}
	return wasmhost.NewHeaders(append([]string{":status", strconv.Itoa(status)}, headers...)...)
}

func (x *Exchange) beginResponse(h *Headers, end, bodyless bool, step string) {
	x.host.t.Helper()
	if x.fromServer.started {
		x.misuse(step, "the server has answered already; the body goes on with SendResponse")
	}
	started := x.mayRespond(step)
	x.fromServer = side{started: true, ended: end, declared: length(h)}
	if bodyless {
		x.fromServer.declared = -1 // the content-length of a body that is not sent
	}
	if !started {
		return
	}
	x.stream.ResponseHeaders(h, end)
	x.settle(step)
}

// SendResponse sends pieces of the response's body, each one separately. Empty pieces are skipped.
func (x *Exchange) SendResponse(pieces ...string) {
	x.host.t.Helper()
	if !x.mayContinue("SendResponse", pieces, false) {
		return
	}
	for _, p := range pieces {
		if p != "" {
			x.stream.ResponseData([]byte(p), false)
			x.settle("SendResponse")
		}
	}
}

// EndResponse sends the last pieces, if any, and ends the response. Over HTTP/2 the last piece carries the end; over
// HTTP/1.1 the end follows it.
func (x *Exchange) EndResponse(pieces ...string) {
	x.host.t.Helper()
	x.endResponse("EndResponse", pieces...)
}

func (x *Exchange) endResponse(step string, pieces ...string) {
	x.host.t.Helper()
	if !x.mayContinue(step, pieces, true) {
		return
	}
	pieces = ending(pieces, x.server)
	for i, p := range pieces {
		x.stream.ResponseData([]byte(p), i == len(pieces)-1)
		x.settle(step)
	}
}

// ResponseTrailers ends the response with trailers. Envoy drops the trailers of an HTTP/1.1 server.
func (x *Exchange) ResponseTrailers(trailers ...string) {
	x.host.t.Helper()
	x.pairs("ResponseTrailers", trailers)
	if !x.mayContinue("ResponseTrailers", nil, true) {
		return
	}
	if x.server == HTTP2 {
		x.stream.ResponseTrailers(wasmhost.NewHeaders(trailers...))
	} else {
		x.stream.ResponseData(nil, true)
	}
	x.settle("ResponseTrailers")
}

// KillServer makes the server fail, before or in the middle of its response. If the response has not begun, the filter
// is called for the 503 or 502 that replaces it, as in Envoy. If it has begun, the filter sees the failure only in its
// last callbacks, even while it holds the response's headers.
func (x *Exchange) KillServer(why Failure) {
	x.host.t.Helper()
	if x.fromServer.ended {
		x.misuse("KillServer", "the response has ended")
	}
	if !x.mayRespond("KillServer") {
		return
	}
	detail := ""
	switch why {
	case ConnectionFailure, ConnectionTimeout, NoHealthyUpstream:
		if x.fromServer.started {
			x.misuse("KillServer", "%s is of a server that was never reached, and this one has begun to answer; use "+
				"ConnectionTermination", why)
		}
		if why == ConnectionFailure {
			detail = "delayed connect error: Connection refused"
		}
	case RemoteReset:
		if x.server == HTTP1 {
			x.misuse("KillServer", "only a server that speaks HTTP/2 can reset a stream, see Protocols; use "+
				"ConnectionTermination")
		}
	case ConnectionTermination:
		if x.fromServer.started && x.server == HTTP1 {
			why = ProtocolError // Envoy's codec reports a body that is cut short as a protocol error
		}
	}
	x.fromServer.started, x.fromServer.ended = true, true
	x.request.State = Reset
	x.stream.ServerReset(why, detail)
	x.settle("KillServer")
}

// mayRespond reports whether the client still waits for the response. It fails the test if no server has the request.
func (x *Exchange) mayRespond(step string) bool {
	x.host.t.Helper()
	if x.request.State == Nothing {
		switch {
		case x.clientLeft:
			x.misuse(step, "the client has left before a server had the request")
		case x.response.State != Nothing:
			x.misuse(step, "no server has this request; the client has got %s", x.Client())
		default:
			x.misuse(step, "no server has this request yet: the filter holds it%s", x.missing())
		}
	}
	return x.request.State != Reset && !x.stream.Done()
}

// missing names the step that the filter may be waiting for, or returns an empty string.
func (x *Exchange) missing() string {
	if !x.fromClient.ended {
		return ", and the request has not ended; is EndRequest missing?"
	}
	return ""
}

// mayContinue is [Exchange.mayRespond] for a response that has begun.
func (x *Exchange) mayContinue(step string, pieces []string, end bool) bool {
	x.host.t.Helper()
	switch {
	case !x.fromServer.started:
		x.misuse(step, "the response has not begun; begin it with BeginResponse")
	case x.fromServer.ended:
		x.misuse(step, "the response has ended")
	}
	x.recordSent(&x.fromServer, step, pieces, end)
	return x.mayRespond(step)
}
