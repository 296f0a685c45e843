package wasmhost

import (
	"net/http"
	"strconv"
	"strings"
)

// RequestHeaders begins the request; end reports whether it has no body.
func (s *Stream) RequestHeaders(h *Headers, end bool) {
	s.worker.enter()
	defer s.worker.leave()
	s.head = h.Get(":method") == http.MethodHead
	s.raiseLimit(s.chooseRoute(h))
	s.request.takeHeaders(h.Clone(), end)
}

// RequestData adds a piece of the request's body; end reports whether it is the last. Over HTTP/1.1 Envoy sends the end
// as a separate empty piece.
func (s *Stream) RequestData(p []byte, end bool) {
	s.worker.enter()
	defer s.worker.leave()
	s.request.takeData(append([]byte(nil), p...), end)
}

// RequestTrailers ends the request with trailers.
func (s *Stream) RequestTrailers(t *Headers) {
	s.worker.enter()
	defer s.worker.leave()
	s.request.takeTrailers(t.Clone())
}

// ClientGone ends the stream because the client has left. reset reports whether the client reset its HTTP/2 stream;
// otherwise its connection has ended.
func (s *Stream) ClientGone(reset bool) {
	s.worker.enter()
	defer s.worker.leave()
	if s.done {
		return
	}
	if reset {
		s.setDetails("http2.remote_reset")
		s.flags |= flagDownstreamRemoteReset
	} else {
		s.setDetails("downstream_remote_disconnect")
		s.flags |= flagDownstreamTermination
	}
	s.finish()
}

// UpstreamAddress records which server received the request, as host:port.
func (s *Stream) UpstreamAddress(address string) {
	s.worker.enter()
	defer s.worker.leave()
	s.upstream = address
}

// ResponseHeaders begins the server's response; end reports whether it has no body. Interim (1xx) responses must not be
// passed in.
func (s *Stream) ResponseHeaders(h *Headers, end bool) {
	s.worker.enter()
	defer s.worker.leave()
	if s.response.local || s.response.ended() {
		return
	}
	h = h.Clone()
	if s.sentTo != nil {
		for _, f := range s.sentTo.SetResponseHeaders {
			h.Set(f.Name, f.Value)
		}
	}
	s.setDetails("via_upstream")
	s.ended(end)
	s.response.takeHeaders(h, end)
}

// ResponseData adds a piece of the response's body; end reports whether it is the last.
func (s *Stream) ResponseData(p []byte, end bool) {
	s.worker.enter()
	defer s.worker.leave()
	if s.response.local {
		return
	}
	s.ended(end)
	s.response.takeData(append([]byte(nil), p...), end)
}

// ResponseTrailers ends the response with trailers.
func (s *Stream) ResponseTrailers(t *Headers) {
	s.worker.enter()
	defer s.worker.leave()
	if s.response.local {
		return
	}
	s.ended(true)
	s.response.takeTrailers(t.Clone())
}

func (s *Stream) ended(end bool) {
	if end {
		s.serverBusy = false
	}
}

// ServerReset fails the server's response. why is the transport's error text, or empty.
func (s *Stream) ServerReset(r Reset, why string) {
	s.worker.enter()
	defer s.worker.leave()
	if s.response.local || s.response.ended() || !s.serverBusy {
		return
	}
	s.serverBusy = false
	moment := "before"
	if s.response.headers != nil {
		moment = "after"
	}
	s.flags |= r.flag()
	s.transport = why
	details := r.String()
	if why != "" {
		details += "|" + strings.ReplaceAll(why, " ", "_")
	}
	reply := LocalReply{
		Status:  http.StatusServiceUnavailable,
		Details: "upstream_reset_" + moment + "_response_started{" + details + "}",
		Body: []byte("upstream connect error or disconnect/reset before headers. reset reason: " +
			strings.ReplaceAll(r.String(), "_", " ")),
	}
	switch r {
	case ProtocolError:
		reply.Status = http.StatusBadGateway
	case NoHealthyUpstream:
		reply.Details, reply.Body = "no_healthy_upstream", []byte("no healthy upstream")
	}
	s.localReply(reply, nil)
}

// Timeout answers a stream that has been idle for too long.
func (s *Stream) Timeout() {
	s.worker.enter()
	defer s.worker.leave()
	s.flags |= flagStreamIdleTimeout
	status := http.StatusGatewayTimeout
	if !s.request.complete {
		status = http.StatusRequestTimeout
	}
	s.localReply(LocalReply{Status: status, Details: "stream_idle_timeout", Body: []byte("stream timeout")}, nil)
}

// RequestTimeout answers a stream whose client has taken too long to send its request.
func (s *Stream) RequestTimeout() {
	s.worker.enter()
	defer s.worker.leave()
	if s.request.complete || s.done {
		return
	}
	s.localReply(LocalReply{Status: http.StatusRequestTimeout, Details: "request_overall_timeout",
		Body: []byte("request timeout")}, nil)
}

// ServerTimeout answers a stream whose server has taken longer than its route allows.
func (s *Stream) ServerTimeout() {
	s.worker.enter()
	defer s.worker.leave()
	s.flags |= flagUpstreamRequestTimeout
	s.localReply(LocalReply{Status: http.StatusGatewayTimeout, Details: "response_timeout",
		Body: []byte("upstream request timeout")}, nil)
}

// Refuse answers the request before it reaches the filter, as a codec does for a malformed request. The filter sees h
// only in its log callback. h is nil if the request's headers could not be read.
func (s *Stream) Refuse(h *Headers, r LocalReply) {
	s.worker.enter()
	defer s.worker.leave()
	if h != nil {
		s.head = h.Get(":method") == http.MethodHead
		s.request.headers = h.Clone()
	}
	s.setDetails(r.Details)
	reply, body := s.compose(r, nil)
	s.sendToClient(reply, body)
}

// RefuseWhole is [Stream.Refuse] for a request without a body, after which the connection can be used again.
func (s *Stream) RefuseWhole(h *Headers, r LocalReply) {
	s.worker.enter()
	s.request.complete = true
	s.worker.leave()
	s.Refuse(h, r)
}

// ClientFailed ends the stream because the client sent something that is not HTTP.
func (s *Stream) ClientFailed() {
	s.worker.enter()
	defer s.worker.leave()
	if s.done {
		return
	}
	s.setDetails("http1.codec_error")
	if s.response.headersSent {
		s.reset()
		return
	}
	h, body := s.compose(LocalReply{Status: http.StatusBadRequest, Details: "http1.codec_error",
		Body: []byte(http.StatusText(http.StatusBadRequest))}, nil)
	s.sendToClient(h, body)
}

// raiseLimit applies the limit of a route to a cluster: it can raise the stream's limit, but not lower it.
func (s *Stream) raiseLimit(r *Route) {
	if r != nil && r.Direct == nil {
		s.limit = max(s.limit, r.BodyLimit)
	}
}

func (s *Stream) tooLarge(response bool) {
	if response {
		s.localReply(LocalReply{Status: http.StatusInternalServerError, Details: "response_payload_too_large",
			Body: []byte("Internal Server Error")}, nil)
		return
	}
	s.localReply(LocalReply{Status: http.StatusRequestEntityTooLarge, Details: "request_payload_too_large",
		Body: []byte("Payload Too Large")}, nil)
}

// chooseRoute returns the route of the request as it is now. The route is kept until a header changes.
func (s *Stream) chooseRoute(h *Headers) *Route {
	if s.route == nil {
		s.route = s.options.Router.Route(h)
	}
	return s.route
}

// sendHeaders sends the headers on, once.
func (d *direction) sendHeaders(end bool) {
	if d.headersSent || d.ended() {
		return
	}
	s := d.stream
	d.headersSent = true
	if d.response {
		d.sendResponseHeaders(end)
		return
	}
	route := s.chooseRoute(d.headers)
	s.raiseLimit(route)
	switch {
	case route == nil:
		s.flags |= flagNoRoute
		s.localReply(LocalReply{Status: http.StatusNotFound, Details: "route_not_found"}, nil)
		return
	case route.Direct != nil:
		s.localReply(LocalReply{Status: route.Direct.Status, Details: "direct_response", Body: []byte(route.Direct.Body)},
			func(h *Headers) {
				for _, f := range route.SetResponseHeaders {
					h.Set(f.Name, f.Value)
				}
			})
		return
	case !s.options.Router.HasCluster(route.Cluster):
		s.flags |= flagNoCluster
		s.localReply(LocalReply{Status: http.StatusServiceUnavailable, Details: "cluster_not_found"}, nil)
		return
	}
	if fault := d.headers.fault(":method"); fault != "" {
		details := "filter_removed_required_request_headers{" + strings.ReplaceAll(fault, " ", "_") + "}"
		s.localReply(LocalReply{Status: http.StatusServiceUnavailable, Details: details, Body: []byte(fault)}, nil)
		return
	}
	h := d.headers.Clone()
	hashed := ""
	if route.HashHeader != "" {
		hashed = h.Get(route.HashHeader)
	}
	for _, name := range route.RemoveRequestHeaders {
		h.Remove(name)
	}
	s.sentTo, s.serverBusy, d.sent = route, true, end
	s.emit(Event{To: ToServer, Kind: HeadersKind, Headers: h, End: end, Cluster: route.Cluster, Hashed: hashed,
		RetryStatuses: route.RetryStatuses, Held: string(s.state[route.HoldState]), TryIdleTimeout: route.TryIdleTimeout,
		HostRewrite: route.HostRewrite, ForwardHost: route.ForwardHost,
		IdleTimeout: route.IdleTimeout, Timeout: route.Timeout})
}

// sendResponseHeaders checks a response's headers after the filter and sends them on.
func (d *direction) sendResponseHeaders(end bool) {
	s := d.stream
	if _, err := strconv.ParseUint(d.headers.Get(":status"), 10, 32); err != nil {
		const fault = "missing required header: :status"
		d.headersSent = false
		s.localReply(LocalReply{Status: http.StatusBadGateway,
			Details: "filter_removed_required_response_headers{missing_required_header:_:status}", Body: []byte(fault)}, nil)
		return
	}
	d.sent = end
	s.finalize(d.headers)
	s.emit(Event{To: ToClient, Kind: HeadersKind, Headers: d.headers.Clone(), End: end, Local: d.local,
		RequestOpen: !s.request.complete})
	d.finished()
}

func (d *direction) sendData(p []byte, end bool) {
	if d.ended() || d.sent || len(p) == 0 && !end {
		return
	}
	d.sent = end
	if d.response {
		d.bytes += uint64(len(p))
	}
	d.stream.emit(Event{To: d.to(), Kind: DataKind, Data: append([]byte(nil), p...), End: end})
	d.finished()
}

func (d *direction) sendTrailers() {
	if d.ended() || d.sent {
		return
	}
	d.sent = true
	d.stream.emit(Event{To: d.to(), Kind: TrailersKind, Headers: d.trailers.Clone(), End: true})
	d.finished()
}

func (d *direction) to() Side {
	if d.response {
		return ToClient
	}
	return ToServer
}

// finished ends the stream after the end of its response.
func (d *direction) finished() {
	if d.response && d.sent {
		d.stream.finish()
	}
}
