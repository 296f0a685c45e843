package plugin

import (
	"strconv"
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// OnHttpRequestHeaders implements [types.HttpContext].
func (s *stream) OnHttpRequestHeaders(_ int, end bool) types.Action {
	headers, tapped, ok := s.plugin.removeInternalHeaders()
	if !ok {
		// If the headers cannot be read, an internal one among them could choose the route.
		s.send(exchange.Overloaded())
		return types.ActionPause
	}
	method, ok := find(headers, ":method")
	if !ok {
		return types.ActionContinue
	}
	path, ok := find(headers, ":path")
	if !ok {
		return types.ActionContinue
	}
	protocol := upgradeOf(headers)
	if protocol != "" {
		s.exchange = s.plugin.gateway.BeginUpgrade(method, path, protocol)
	} else {
		s.exchange = s.plugin.gateway.Begin(method, path)
	}
	if s.exchange == nil {
		s.plugin.otherSpan()
		return types.ActionContinue
	}
	s.plugin.begin(s)
	s.pending = true
	if s.plugin.tap != nil {
		id, _ := find(headers, "x-request-id")
		s.beginTap(tapped, protocol != "", method, path, id)
	}
	s.readClientHeaders(headers)
	if s.exchange.Anthropic() {
		setState(contract.LogStatePrefix+contract.ErrorsState, contract.ErrorsAnthropic)
	}
	if end {
		return s.request()
	}
	head := s.exchange.RequestHeaders()
	if head.Reply != nil {
		s.pending = false
		s.beginSpan()
		s.send(head.Reply)
		return types.ActionPause
	}
	if head.Hold {
		s.await()
		return types.ActionPause
	}
	if !s.hide() {
		return s.cannotForward()
	}
	if head.Pool != "" && !s.redirect(head.Pool, head.Path, head.Without, head.Rewritten) || !s.tell(head.Internal) {
		return s.cannotForward()
	}
	if head.Rewritten && !s.plugin.edited("remove content-length", proxywasm.RemoveHttpRequestHeader("content-length")) {
		return s.cannotForward()
	}
	if protocol != "" {
		s.plugin.vm.heap.release()
		s.released = true
	}
	s.pending = !s.exchange.PassesThrough() // a body is held only if the exchange waits for it
	if s.tapped != nil {
		s.tapped.path, s.tapped.pool = head.Path, head.Pool
		if !s.pending {
			s.showSent(nil)
		}
	}
	s.beginSpan()
	return types.ActionContinue
}

// upgradeOf returns the protocol that a request asks for on its connection, in lower case, or empty. The host passes
// only upgrades for which it is configured. It shows one of HTTP/2 (extended CONNECT) in the form of HTTP/1.1.
func upgradeOf(headers [][2]string) string {
	protocol, connection := "", false
	for _, h := range headers {
		switch h[0] {
		case "upgrade":
			if h[1] != "" {
				protocol = strings.ToLower(h[1])
			}
		case "connection":
			for token := range strings.SplitSeq(h[1], ",") {
				// strings.EqualFold would add its tables to the module's variables.
				connection = connection || strings.ToLower(strings.Trim(token, " \t")) == "upgrade"
			}
		}
	}
	if !connection {
		return ""
	}
	return protocol
}

// removeInternalHeaders removes the headers that only the filter may set, and the one that asks for the tap. A listener
// that the control plane configures has already removed the first. An edit makes the host choose the route again, so
// nothing is edited in the ordinary case. It returns all headers, and reports whether the client asks for the tap with
// the right key, and whether the headers could be read and no such header is left.
func (p *plugin) removeInternalHeaders() (headers [][2]string, tapped, ok bool) {
	headers, err := readRequestHeaders()
	if !check("read request headers", err) {
		return nil, false, false
	}
	for _, h := range headers {
		isTap := h[0] == tap.KeyHeader
		if !isTap && !contract.IsInternalHeader(h[0]) || p.keepsDestination && h[0] == contract.DestinationHeader {
			continue // redirect decides on the last one
		}
		if !check("remove request header", proxywasm.RemoveHttpRequestHeader(h[0])) {
			return nil, false, false
		}
		tapped = tapped || isTap && p.tap != nil && p.tap.opens(h[1])
	}
	return headers, tapped, true
}

// keepsDestinationTo reports whether requests to a pool keep their [contract.DestinationHeader].
func (p *plugin) keepsDestinationTo(pool string) bool {
	for i := range p.models {
		m := &p.models[i]
		if m.Routing.Destination && (m.Pool == pool || contract.UntranslatedRoute(m.Pool) == pool) {
			return true
		}
	}
	return false
}

// readClientHeaders passes the request's headers to the exchange. Headers for the gateway are removed only when the
// request is sent to a Harmony server: a request to another server keeps them.
func (s *stream) readClientHeaders(headers [][2]string) {
	for _, h := range headers {
		if s.exchange.Header(h[0], h[1]) {
			s.optionHeaders = append(s.optionHeaders, strings.Clone(h[0]))
		}
	}
}

// OnHttpRequestBody implements [types.HttpContext]. size is the number of bytes that the host has buffered so far.
func (s *stream) OnHttpRequestBody(size int, end bool) types.Action {
	if s.exchange == nil || !s.pending {
		if s.tapped != nil {
			s.showPassed(tap.Body, size)
		}
		return types.ActionContinue
	}
	s.shown()
	s.plugin.vm.heap.busy = true
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

// OnHttpRequestTrailers implements [types.HttpContext]. A request with trailers ends here.
func (s *stream) OnHttpRequestTrailers(int) types.Action {
	if s.exchange == nil || !s.pending {
		return types.ActionContinue
	}
	s.shown()
	return s.request()
}

// request decides on a complete request.
func (s *stream) request() types.Action {
	s.pending = false
	s.plugin.vm.held.release(s)
	heap := &s.plugin.vm.heap
	heap.relieveFor(s.body)
	var body []byte
	if s.body > 0 {
		var err error
		if body, err = readRequest(s.body); err != nil {
			check("read request body", err)
			s.send(s.exchange.Overloaded())
			return types.ActionPause
		}
	}
	if s.tapped != nil && s.tapped.whole {
		s.showBytes(tap.Body, body)
	}
	started := micros()
	at := started / 1_000
	action := s.exchange.Request(body, s.host(at))
	if action.Full && heap.makeRoom(s.plugin.memoryLimit, s.plugin.vm.forget(), at) {
		action = s.exchange.Request(body, s.host(at)) // the host of the first call may have been collected
	}
	if action.Full {
		heap.refuse()
		action.Reply = s.exchange.Overloaded()
	}
	if s.exchange.Translated() {
		s.plugin.vm.metrics.Rendered(micros() - started)
	}
	if action.Render != nil {
		if result, called := s.render(action.Render); called {
			return result
		}
		action = s.exchange.Rendered(exchange.RenderAnswer{Status: 503}, s.host(at)) // no such cluster, or no server in it
	}
	return s.actOn(&action)
}

// actOn does what was decided on the held request.
func (s *stream) actOn(action *exchange.RequestAction) types.Action {
	s.beginSpan()
	switch {
	case action.Hold:
		return types.ActionPause
	case action.Reply != nil:
		s.send(action.Reply)
		return types.ActionPause
	case !s.hide():
		return s.cannotForward()
	case action.Forward != nil:
		if !s.forward(action.Forward) {
			return s.cannotForward()
		}
	}
	if s.tapped != nil {
		s.showSent(action.Forward)
	}
	if action.Prefill != nil {
		return s.prefill(action.Prefill, len(action.Forward.Body))
	}
	return types.ActionContinue
}

// host returns what the exchange is told at this time, in milliseconds since 1970.
func (s *stream) host(at int64) exchange.Host {
	return exchange.Host{Now: at, Clock: now, ID: newID(), Scratch: &s.plugin.vm.scratch, Admit: func(bytes int) bool {
		return s.plugin.vm.heap.admit(uint64(bytes), s.plugin.memoryLimit)
	}, Bootstrap: s.plugin.vm.chooses}
}

// forward rewrites the held request, and reports whether the host allowed it.
func (s *stream) forward(f *exchange.Forward) bool {
	edited := s.plugin.edited
	if f.Readable && !edited("set accept-encoding", proxywasm.ReplaceHttpRequestHeader("accept-encoding", "identity")) {
		return false
	}
	if f.Pool != "" {
		if !s.redirect(f.Pool, f.Path, f.Without, f.Body != nil && !f.Readable) {
			return false
		}
		if f.Readable && f.Body != nil &&
			!edited("set content-type", proxywasm.ReplaceHttpRequestHeader("content-type", "application/json")) {
			return false
		}
		length := strconv.Itoa(len(f.Body))
		if f.Body != nil && !edited("set content-length", proxywasm.ReplaceHttpRequestHeader("content-length", length)) {
			return false
		}
	}
	if !s.tell(f.Internal) {
		return false
	}
	if f.Attempt != "" {
		setState(contract.AttemptState, f.Attempt)
	}
	return f.Body == nil || edited("replace request body", proxywasm.ReplaceHttpRequestBody(f.Body))
}

// hide removes the headers that no server may get, and reports whether the host allowed it.
func (s *stream) hide() bool {
	for _, name := range s.exchange.Hidden() {
		if !s.plugin.edited("remove header", proxywasm.RemoveHttpRequestHeader(name)) {
			return false
		}
	}
	return true
}

// tell sets internal headers, and reports whether the host allowed it.
func (s *stream) tell(headers []exchange.Header) bool {
	for _, h := range headers {
		if !s.plugin.edited("set internal header", proxywasm.ReplaceHttpRequestHeader(h.Name, h.Value)) {
			return false
		}
	}
	return true
}

// redirect sends the request to the servers of a pool. rewritten reports whether they get a body made by the gateway;
// redirect then sets the headers for that body and for the response. without is the name of a header that the servers
// must not get, or empty. Without a path the request is sent on unchanged. redirect reports whether the host allowed
// it.
func (s *stream) redirect(pool, path, without string, rewritten bool) bool {
	edited := s.plugin.edited
	ok := edited("set "+contract.PoolHeader, proxywasm.ReplaceHttpRequestHeader(contract.PoolHeader, pool))
	if s.plugin.keepsDestination && !s.plugin.keepsDestinationTo(pool) {
		ok = ok && edited("remove "+contract.DestinationHeader,
			proxywasm.RemoveHttpRequestHeader(contract.DestinationHeader))
	}
	if path == "" {
		return ok
	}
	ok = ok && edited("set :path", proxywasm.ReplaceHttpRequestHeader(":path", path))
	for _, name := range s.optionHeaders {
		ok = ok && edited("remove "+name, proxywasm.RemoveHttpRequestHeader(name))
	}
	if without != "" {
		ok = ok && edited("remove "+without, proxywasm.RemoveHttpRequestHeader(without))
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
