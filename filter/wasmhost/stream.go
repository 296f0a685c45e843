package wasmhost

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// StreamOptions are the options of [Worker.Open].
type StreamOptions struct {
	Router Router
	// BufferLimit is how many bytes of a request or response may be held: per_connection_buffer_limit_bytes. 0 means
	// Envoy's default of 1 MiB.
	BufferLimit int
	// Shape changes the form of local replies, as local_reply_config does. Nil leaves them unchanged.
	Shape func(*LocalReply)
	// Finalize receives the headers of every response on their way to the client, and adds what the proxy adds. Nil adds
	// nothing.
	Finalize func(*Headers)
	// Changed is called, from any goroutine, when there are events to [Stream.Take].
	Changed func()
	// Protocol is the client's: HTTP/1.1 or HTTP/2.
	Protocol string
	// ClientAddress and [StreamOptions.LocalAddress] are the two ends of the client's connection, as host:port.
	ClientAddress, LocalAddress string
}

const defaultBufferLimit = 1 << 20

// Callbacks counts the filter's callbacks for one stream.
type Callbacks struct {
	RequestHeaders, RequestBody, RequestTrailers    int
	ResponseHeaders, ResponseBody, ResponseTrailers int
}

// Stream is one request and its response on their way through the filter. The driver pushes both in, piece by piece,
// and takes out events for both sides.
type Stream struct {
	worker  *Worker
	vm      *vm
	id      uint32
	options StreamOptions

	request, response direction
	events            []Event
	callbacks         Callbacks

	route *Route
	// sentTo is the route by which the request was sent.
	sentTo *Route
	// limit is how many bytes may be held.
	limit int
	// head reports whether the request is a HEAD, whose response has no body.
	head     bool
	upstream string
	// transport is the reason why there is no connection to the server.
	transport string
	// details is response.code_details; nil if not known yet.
	details *string
	flags   uint64
	state   map[string][]byte
	// opened and closed are when the stream began and ended.
	opened, closed time.Time
	// replying reports whether a local reply is passing the filter; replaced reports whether another reply has replaced it
	// meanwhile.
	replying, replaced bool
	// serverBusy reports whether a server has the request and has not finished its response.
	serverBusy bool
	// The end of a stream has three steps. logging is true during the filter's last callbacks, logged after it has seen
	// the header maps for the last time, done after the last callback.
	logging, logged, done bool
}

// Open begins a stream. If the worker has no VM, because it has failed and may not be replaced yet, every stream is
// answered 503.
func (w *Worker) Open(o StreamOptions) *Stream {
	w.enter()
	defer w.leave()
	if o.BufferLimit == 0 {
		o.BufferLimit = defaultBufferLimit
	}
	s := &Stream{worker: w, options: o, limit: o.BufferLimit, state: map[string][]byte{}, opened: w.host.options.Now()}
	s.request.init(s, false)
	s.response.init(s, true)
	w.open[s] = true
	if w.ready() {
		s.vm = w.vm
		s.id = s.vm.freeID()
		s.vm.streams[s.id] = s
		s.vm.call(nil, "proxy_on_context_create", uint64(s.id), rootID)
	}
	return s
}

// Take returns the events since the last call.
func (s *Stream) Take() []Event {
	s.worker.enter()
	defer s.worker.leave()
	events := s.events
	s.events = nil
	return events
}

// Backlog returns how many bytes wait for one side: those that the filter holds and those in events. The driver must
// stop the sender while this exceeds [Stream.Limit] plus what the driver reads at once; otherwise memory grows without
// bound.
func (s *Stream) Backlog(to Side) int {
	s.worker.enter()
	defer s.worker.leave()
	if s.done {
		return 0
	}
	n := 0
	d := &s.request
	if to == ToClient {
		d = &s.response
	}
	if d.held != nil {
		n = len(*d.held)
	}
	for _, e := range s.events {
		if e.To == to {
			n += len(e.Data)
		}
	}
	return n
}

// Limit returns how many bytes the filter may hold, as the stream's route has it now.
func (s *Stream) Limit() int {
	s.worker.enter()
	defer s.worker.leave()
	return s.limit
}

// Callbacks returns how often the filter was called for the stream.
func (s *Stream) Callbacks() Callbacks {
	s.worker.enter()
	defer s.worker.leave()
	return s.callbacks
}

// State returns the value that the filter has set at a path with proxy_set_property. Dots separate the parts of the
// path. The second result reports whether there is a value.
func (s *Stream) State(path string) ([]byte, bool) {
	s.worker.enter()
	defer s.worker.leave()
	v, ok := s.state[strings.ReplaceAll(path, ".", "\x00")]
	return slices.Clone(v), ok
}

// Details returns why the response is as it is: Envoy's response.code_details.
func (s *Stream) Details() string {
	s.worker.enter()
	defer s.worker.leave()
	if s.details == nil {
		return ""
	}
	return *s.details
}

// Done reports whether the stream has ended.
func (s *Stream) Done() bool {
	s.worker.enter()
	defer s.worker.leave()
	return s.done
}

func (s *Stream) emit(e Event) {
	s.events = append(s.events, e)
	s.worker.changed[s] = true
}

// headerMap returns one of the stream's four maps, or nil if the filter may not have it now.
func (s *Stream) headerMap(kind uint64) *Headers {
	d := &s.request
	if kind == mapResponseHeaders || kind == mapResponseTrailers {
		d = &s.response
	}
	if kind == mapRequestTrailers || kind == mapResponseTrailers {
		if !s.logged && (d.trailersOpen || s.logging) {
			return d.trailers
		}
		return nil
	}
	if !s.logged && (d.headersOpen || s.logging) {
		return d.headers
	}
	return nil
}

// body returns the buffer that the filter may have now, or nil.
func (s *Stream) body(kind uint32) *[]byte {
	if kind == bufferResponseBody {
		return s.response.open
	}
	return s.request.open
}

// setDetails sets response.code_details.
func (s *Stream) setDetails(details string) { s.details = &details }

// localReply answers in place of a server. If the response has not begun, the reply passes through the filter. If the
// response's headers are held, the reply replaces them without passing the filter. If they have been sent, the stream
// is reset.
func (s *Stream) localReply(r LocalReply, edit func(*Headers)) {
	if s.done || s.logging || s.replaced {
		return
	}
	s.setDetails(r.Details)
	if s.response.headersSent {
		s.reset()
		return
	}
	if s.sentTo != nil {
		r.Cluster = s.sentTo.Cluster
	}
	h, body := s.compose(r, edit)
	s.request.aborted = true
	through := s.response.headers == nil
	s.cancelServer()
	s.response.local = true
	if !through {
		s.sendToClient(h, body)
		return
	}
	// The filter sees the whole reply even if it replaces the reply in the headers callback.
	s.replying = true
	s.response.takeHeaders(h, len(body) == 0)
	s.replying = false
	switch {
	case s.replaced:
		if len(body) > 0 {
			s.response.call(bodyCallback, uint64(len(body)), flag(true))
		}
		s.finish()
	case len(body) > 0:
		s.response.takeData(body, true)
	}
}

// compose makes the headers and the body of a local reply.
func (s *Stream) compose(r LocalReply, edit func(*Headers)) (*Headers, []byte) {
	if s.options.Shape != nil {
		r.Request, r.State = s.request.headers, s.state
		s.options.Shape(&r)
	}
	h := NewHeaders(":status", strconv.Itoa(r.Status))
	if edit != nil {
		edit(h)
	}
	for _, header := range r.Headers {
		h.Set(header[0], header[1])
	}
	if len(r.Body) == 0 {
		h.Remove("content-length")
		h.Remove("content-type")
		return h, nil
	}
	h.Set("content-length", strconv.Itoa(len(r.Body)))
	if _, ok := h.Lookup("content-type"); !ok || r.ContentType != "" {
		h.Set("content-type", cmp.Or(r.ContentType, "text/plain"))
	}
	if s.head {
		return h, nil
	}
	return h, r.Body
}

// sendToClient sends a whole response without passing the filter.
func (s *Stream) sendToClient(h *Headers, body []byte) {
	d := &s.response
	d.headers, d.headersOpen, d.headersSent, d.sent = h, false, true, true
	s.request.aborted = true
	s.finalize(h)
	s.emit(Event{To: ToClient, Kind: HeadersKind, Headers: h.Clone(), End: len(body) == 0, Local: true,
		RequestOpen: !s.request.complete})
	if len(body) > 0 {
		d.bytes += uint64(len(body))
		s.emit(Event{To: ToClient, Kind: DataKind, Data: body, End: true})
	}
	if s.replying {
		s.replaced = true
		return
	}
	s.finish()
}

// finalize adds the headers that the proxy adds to every response.
func (s *Stream) finalize(h *Headers) {
	if s.options.Finalize != nil {
		s.options.Finalize(h)
	}
}

// cancelServer resets the request to a server whose response is no longer wanted.
func (s *Stream) cancelServer() {
	if s.serverBusy || s.sentTo != nil && !s.request.sent {
		s.serverBusy, s.request.sent = false, true
		s.emit(Event{To: ToServer, Kind: ResetKind})
	}
}

// reset cuts the stream on both sides.
func (s *Stream) reset() {
	if s.done || s.logging {
		return
	}
	s.emit(Event{To: ToClient, Kind: ResetKind})
	s.finish()
}

// finish ends the stream and makes the filter's last callbacks for it.
func (s *Stream) finish() {
	if s.done || s.logging {
		return
	}
	s.cancelServer()
	s.logging, s.closed = true, s.worker.host.options.Now()
	s.request.open, s.response.open = nil, nil
	if v := s.vm; v != nil && !v.failed {
		v.call(s, "proxy_on_log", uint64(s.id))
		s.logged = true
		v.call(s, "proxy_on_done", uint64(s.id))
		v.call(s, "proxy_on_delete", uint64(s.id))
	}
	if s.vm != nil {
		delete(s.vm.streams, s.id)
	}
	s.logging, s.done = false, true
	delete(s.worker.open, s)
}

// fail answers a stream whose VM has failed, at the moment when it would next call the filter.
func (s *Stream) fail() {
	s.localReply(LocalReply{Status: http.StatusServiceUnavailable, Details: "wasm_fail_stream"}, nil)
}
