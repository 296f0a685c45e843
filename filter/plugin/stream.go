package plugin

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// stream is one HTTP stream. exchange is nil for one that is none of ours, and after done: from then on nothing may
// act on the stream, because the host would not survive it.
type stream struct {
	types.DefaultHttpContext
	plugin   *plugin
	id       uint32
	exchange *exchange.Exchange
	// body is the size of the request's body so far, in bytes.
	body int
	// pending says that the request is still held.
	pending bool
	// asks are the names of the client's headers that are for the gateway alone.
	asks []string
}

// The properties of the host that are read.
var (
	codeDetails  = []string{"response", "code_details"}
	responseCode = []string{"response", "code"}
)

// OnHttpRequestHeaders implements types.HttpContext.
func (s *stream) OnHttpRequestHeaders(_ int, end bool) types.Action {
	headers, ok := removeInternalHeaders()
	if !ok {
		// Headers that cannot be read may be anything: an internal one among them would choose the route.
		s.send(exchange.Overloaded())
		return types.ActionPause
	}
	method, err := proxywasm.GetHttpRequestHeader(":method")
	if err != nil {
		return types.ActionContinue
	}
	path, err := proxywasm.GetHttpRequestHeader(":path")
	if err != nil {
		return types.ActionContinue
	}
	begin := s.plugin.gateway.Begin
	if asksForUpgrade(headers) {
		begin = s.plugin.gateway.BeginUpgrade
	}
	s.exchange = begin(method, path)
	if s.exchange == nil {
		return types.ActionContinue
	}
	s.plugin.streams[s.id] = s
	s.pending = true
	s.readClientHeaders(headers)
	if end {
		return s.request()
	}
	head := s.exchange.RequestHeaders()
	if head.Reply != nil {
		s.pending = false
		s.send(head.Reply)
		return types.ActionPause
	}
	if head.Hold {
		return types.ActionPause
	}
	if head.Pool != "" && !s.redirect(head.Pool, head.Path, head.Rewritten) {
		return s.cannotForward()
	}
	if head.Rewritten && !s.plugin.edited("remove content-length", proxywasm.RemoveHttpRequestHeader("content-length")) {
		return s.cannotForward()
	}
	s.pending = !s.exchange.Alone() // a body that nobody waits for is not held
	return types.ActionContinue
}

// asksForUpgrade reports whether a request asks for another protocol on its connection. The host lets only those through that
// it is configured for, and shows one of HTTP/2 (extended CONNECT) as it shows one of HTTP/1.1.
func asksForUpgrade(headers [][2]string) bool {
	named, connection := false, false
	for _, h := range headers {
		switch h[0] {
		case "upgrade":
			named = named || h[1] != ""
		case "connection":
			for token := range strings.SplitSeq(h[1], ",") {
				// Without EqualFold, whose tables would lie among the module's variables.
				connection = connection || strings.ToLower(strings.Trim(token, " \t")) == "upgrade"
			}
		}
	}
	return named && connection
}

// removeInternalHeaders drops what only we may set. The listener has done so already where it is configured by us;
// an edit makes the host choose the route again, so nothing is touched in the ordinary case. It returns all headers, and
// reports whether they could be read and the internal ones are gone.
func removeInternalHeaders() (headers [][2]string, ok bool) {
	headers, err := proxywasm.GetHttpRequestHeaders()
	if !check("read request headers", err) {
		return nil, false
	}
	for _, h := range headers {
		if strings.HasPrefix(h[0], contract.InternalHeaderPrefix) {
			if !check("remove request header", proxywasm.RemoveHttpRequestHeader(h[0])) {
				return nil, false
			}
		}
	}
	return headers, true
}

// readClientHeaders gives the exchange the request's headers. Those that are for the gateway stay until the request is on
// its way to a Harmony server: one that is none of ours keeps them.
func (s *stream) readClientHeaders(headers [][2]string) {
	for _, h := range headers {
		if s.exchange.Header(h[0], h[1]) {
			s.asks = append(s.asks, h[0])
		}
	}
}

// OnHttpRequestBody implements types.HttpContext. size is what the host has buffered so far.
func (s *stream) OnHttpRequestBody(size int, end bool) types.Action {
	if s.exchange == nil || !s.pending {
		return types.ActionContinue
	}
	s.plugin.vm.held.grow(s, size)
	if end {
		return s.request()
	}
	if !s.plugin.vm.held.admits(s, s.plugin.heldLimit) {
		s.plugin.vm.held.release(s)
		s.overloaded()
	}
	return types.ActionPause
}

// OnHttpRequestTrailers implements types.HttpContext: a request with trailers ends here.
func (s *stream) OnHttpRequestTrailers(int) types.Action {
	if s.exchange == nil || !s.pending {
		return types.ActionContinue
	}
	return s.request()
}

// request decides on a request that is all there.
func (s *stream) request() types.Action {
	s.pending = false
	s.plugin.vm.held.release(s)
	var body []byte
	if s.body > 0 {
		var err error
		if body, err = proxywasm.GetHttpRequestBody(0, s.body); err != nil {
			check("read request body", err)
			s.send(s.exchange.Overloaded())
			return types.ActionPause
		}
	}
	at := now()
	host := exchange.Host{Now: at, ID: newID(), Scratch: &s.plugin.vm.scratch, Admit: func(bytes int) bool {
		return s.plugin.vm.heap.admit(uint64(bytes), s.plugin.memoryLimit, at)
	}}
	started := time.Now()
	action := s.exchange.Request(body, host)
	if s.exchange.Report().Translated {
		s.plugin.vm.metrics.Rendered(time.Since(started).Microseconds())
	}
	switch {
	case action.Hold:
		return types.ActionPause
	case action.Reply != nil:
		s.send(action.Reply)
		return types.ActionPause
	case action.Forward != nil:
		if !s.forward(action.Forward) {
			return s.cannotForward()
		}
	}
	return types.ActionContinue
}

// forward rewrites the held request and reports whether the host let it.
func (s *stream) forward(f *exchange.Forward) bool {
	edited := s.plugin.edited
	if f.Readable && !edited("set accept-encoding", proxywasm.ReplaceHttpRequestHeader("accept-encoding", "identity")) {
		return false
	}
	if f.Pool != "" {
		if !s.redirect(f.Pool, f.Path, f.Body != nil) {
			return false
		}
		if f.Body != nil && !edited("set content-length", proxywasm.ReplaceHttpRequestHeader("content-length", strconv.Itoa(len(f.Body)))) {
			return false
		}
	}
	return f.Body == nil || edited("replace request body", proxywasm.ReplaceHttpRequestBody(f.Body))
}

// redirect sends the request to the servers of a pool, and says what body of ours they get and give, where they do. Without
// a path it goes on as it came. It reports whether the host let it.
func (s *stream) redirect(pool, path string, rewritten bool) bool {
	edited := s.plugin.edited
	ok := edited("set "+contract.PoolHeader, proxywasm.ReplaceHttpRequestHeader(contract.PoolHeader, pool))
	if path == "" {
		return ok
	}
	ok = ok && edited("set :path", proxywasm.ReplaceHttpRequestHeader(":path", path))
	for _, name := range s.asks {
		ok = ok && edited("remove "+name, proxywasm.RemoveHttpRequestHeader(name))
	}
	if !ok || !rewritten {
		return ok
	}
	return edited("set content-type", proxywasm.ReplaceHttpRequestHeader("content-type", "application/json")) &&
		edited("set accept", proxywasm.ReplaceHttpRequestHeader("accept", "text/event-stream")) &&
		// Compressed events cannot be read.
		edited("set accept-encoding", proxywasm.ReplaceHttpRequestHeader("accept-encoding", "identity"))
}

func (s *stream) cannotForward() types.Action {
	s.pending = false
	s.plugin.vm.metrics.EditRefused()
	s.send(s.exchange.CannotForward())
	return types.ActionPause
}

// OnHttpResponseHeaders implements types.HttpContext.
func (s *stream) OnHttpResponseHeaders(_ int, end bool) types.Action {
	if s.exchange == nil || s.exchange.Alone() {
		return types.ActionContinue
	}
	head := exchange.ResponseHead{End: end, Local: isLocalReply(), Received: s.body}
	if status, err := proxywasm.GetHttpResponseHeader(":status"); err == nil {
		head.Status, _ = strconv.Atoi(status)
	}
	head.ContentType, _ = proxywasm.GetHttpResponseHeader("content-type")
	head.RetryAfter, _ = proxywasm.GetHttpResponseHeader("retry-after")
	return s.act(s.exchange.ResponseHeaders(head, now()))
}

// isLocalReply reports whether the host made the response itself.
func isLocalReply() bool {
	details, err := proxywasm.GetProperty(codeDetails)
	return err == nil && string(details) != "via_upstream"
}

// OnHttpResponseBody implements types.HttpContext.
func (s *stream) OnHttpResponseBody(size int, end bool) types.Action {
	if s.exchange == nil || s.exchange.Alone() {
		return types.ActionContinue
	}
	s.plugin.vm.metrics.ResponseChunk()
	at := now()
	var chunk []byte
	if size > 0 {
		var err error
		if chunk, err = proxywasm.GetHttpResponseBody(0, size); err != nil {
			check("read response body", err)
		}
	}
	action := s.exchange.ResponseBody(chunk, end, at)
	if !action.Pass && action.Reply == nil && (size > 0 || len(action.Body) > 0) {
		check("replace response body", proxywasm.ReplaceHttpResponseBody(action.Body))
	}
	return s.act(action)
}

// OnHttpResponseTrailers implements types.HttpContext.
func (s *stream) OnHttpResponseTrailers(int) types.Action {
	if s.exchange == nil || s.exchange.Alone() {
		return types.ActionContinue
	}
	return s.act(s.exchange.ResponseTrailers())
}

// act does what is left of an action once the body is replaced.
func (s *stream) act(a exchange.ResponseAction) types.Action {
	if a.Late && a.Reset {
		s.plugin.vm.metrics.ReducedReset()
	} else if a.Late {
		s.plugin.vm.metrics.ReducedLateError()
	}
	switch {
	case a.Hold:
		return types.ActionPause
	case a.Reply != nil:
		s.send(a.Reply)
		return types.ActionPause
	case a.Reset:
		closeStream()
		return types.ActionContinue
	case a.Head != nil:
		check("set status", proxywasm.ReplaceHttpResponseHeader(":status", strconv.Itoa(a.Head.Status)))
		check("set response header", proxywasm.ReplaceHttpResponseHeader("content-type", a.Head.ContentType))
		check("remove response header", proxywasm.RemoveHttpResponseHeader("content-length"))
	}
	return types.ActionContinue
}

// send answers the client from here.
func (s *stream) send(r *exchange.Reply) {
	headers := [][2]string{{"content-type", "application/json"}}
	if r.RetryAfter != "" {
		headers = append(headers, [2]string{"retry-after", r.RetryAfter})
	}
	if r.Upgrade != "" {
		headers = append(headers, [2]string{"upgrade", r.Upgrade}, [2]string{"connection", "upgrade, close"})
	}
	check("send reply", proxywasm.SendHttpResponse(uint32(r.Status), headers, r.Body, -1))
}

// OnHttpStreamDone implements types.HttpContext.
func (s *stream) OnHttpStreamDone() {
	s.plugin.vm.heap.end()
	if s.exchange == nil {
		return
	}
	s.plugin.vm.held.release(s)
	report := s.exchange.Report()
	s.exchange = nil
	if report.Cut == exchange.CutOther {
		details, _ := proxywasm.GetProperty(codeDetails)
		report.Cut = cutBy(string(details))
	}
	s.plugin.vm.metrics.Count(&report, responseStatus())
	describe(&report)
	delete(s.plugin.streams, s.id)
}

// responseStatus is the status that the client got, 0 if it got none.
func responseStatus() int {
	code, err := proxywasm.GetProperty(responseCode)
	if err != nil || len(code) != 8 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(code))
}

// check logs a host call that failed, which is a fault of ours or of the host's configuration, and reports success.
func check(what string, err error) bool {
	if err != nil {
		proxywasm.LogError("harmony: " + what + ": " + err.Error())
	}
	return err == nil
}
