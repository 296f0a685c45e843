package wasmhost

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// StreamOptions is what a stream is opened with.
type StreamOptions struct {
	Router Router
	// BufferLimit is how much of a request or a response may be held, in bytes: per_connection_buffer_limit_bytes.
	// 0 is Envoy's default of 1 MiB.
	BufferLimit int
	// Shape puts local replies into another form, as local_reply_config does. Nil leaves them.
	Shape func(*LocalReply)
	// Changed is called when there are events to Take, from any goroutine.
	Changed func()
	// Protocol is the client's: HTTP/1.1 or HTTP/2.
	Protocol string
	// ClientAddress and LocalAddress are the two ends of the client's connection, as host:port.
	ClientAddress, LocalAddress string
}

const defaultBufferLimit = 1 << 20

// Callbacks counts the calls that the filter got for one stream.
type Callbacks struct {
	RequestHeaders, RequestBody, RequestTrailers    int
	ResponseHeaders, ResponseBody, ResponseTrailers int
}

// Stream is one request and its response on their way through the filter. Both sides are pushed in, piece by piece;
// what goes on to the other side is taken out as events.
type Stream struct {
	worker  *Worker
	vm      *vm
	id      uint32
	options StreamOptions

	request, response direction
	events            []Event
	callbacks         Callbacks

	route *Route
	// sentTo is the route that the request was sent by.
	sentTo *Route
	// limit is how much may be held, in bytes.
	limit int
	// head says that the request is a HEAD: its answer has no body.
	head     bool
	upstream string
	details  string
	flags    uint64
	state    map[string][]byte
	opened   time.Time
	// serverBusy says that a server has a request of ours and has not finished its answer.
	serverBusy bool
	// logging says that the filter is being told that the stream is done; done that it has been told.
	logging, done bool
}

// Open begins a stream. Without a VM, which a worker that has failed may not get back at once, every stream is
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
		s.id = s.vm.nextID
		s.vm.nextID++
		s.vm.streams[s.id] = s
		s.vm.call(nil, "proxy_on_context_create", uint64(s.id), rootID)
	}
	return s
}

// Take returns the events since it was last called.
func (s *Stream) Take() []Event {
	s.worker.enter()
	defer s.worker.leave()
	events := s.events
	s.events = nil
	return events
}

// Pending is how many bytes wait in events for the client.
func (s *Stream) Pending() int {
	s.worker.enter()
	defer s.worker.leave()
	n := 0
	for _, e := range s.events {
		if e.To == ToClient {
			n += len(e.Data)
		}
	}
	return n
}

// Callbacks returns how often the filter was called for the stream.
func (s *Stream) Callbacks() Callbacks {
	s.worker.enter()
	defer s.worker.leave()
	return s.callbacks
}

// State is the filter state that the filter has set with proxy_set_property, by its path.
func (s *Stream) State(path string) ([]byte, bool) {
	s.worker.enter()
	defer s.worker.leave()
	v, ok := s.state[path]
	return slices.Clone(v), ok
}

// Details is why the response is as it is, as in Envoy's response.code_details.
func (s *Stream) Details() string {
	s.worker.enter()
	defer s.worker.leave()
	return s.details
}

// Done reports that the stream has ended.
func (s *Stream) Done() bool {
	s.worker.enter()
	defer s.worker.leave()
	return s.done
}

func (s *Stream) emit(e Event) {
	s.events = append(s.events, e)
	s.worker.changed[s] = true
}

// headerMap is one of the four maps of the stream, nil when the filter cannot have it now.
func (s *Stream) headerMap(kind uint64) *Headers {
	d := &s.request
	if kind == mapResponseHeaders || kind == mapResponseTrailers {
		d = &s.response
	}
	if kind == mapRequestTrailers || kind == mapResponseTrailers {
		if d.trailersOpen || s.logging {
			return d.trailers
		}
		return nil
	}
	if d.headersOpen || s.logging {
		return d.headers
	}
	return nil
}

// body is the buffer that the filter can have now, or nil.
func (s *Stream) body(kind uint32) *[]byte {
	if kind == bufferResponseBody {
		return s.response.open
	}
	return s.request.open
}

// localReply answers in place of a server: through the filter while the response has not begun, past it while the
// response's headers are held, and by a reset when they have gone.
func (s *Stream) localReply(r LocalReply, edit func(*Headers)) {
	if s.done || s.logging {
		return
	}
	s.details = r.Details
	if s.response.headersSent {
		s.reset(r.Details)
		return
	}
	if s.options.Shape != nil {
		s.options.Shape(&r)
	}
	h := NewHeaders(":status", strconv.Itoa(r.Status))
	if edit != nil {
		edit(h)
	}
	if len(r.Body) > 0 {
		h.Set("content-length", strconv.Itoa(len(r.Body)))
		if _, ok := h.Lookup("content-type"); !ok || r.ContentType != "" {
			if r.ContentType == "" {
				r.ContentType = "text/plain"
			}
			h.Set("content-type", r.ContentType)
		}
	} else {
		h.Remove("content-length")
		h.Remove("content-type")
	}
	if s.head {
		r.Body = nil
	}
	s.request.aborted = true
	through := s.response.headers == nil
	s.cancelServer()
	s.response.local = true
	if !through {
		s.response.aborted = true
		s.sendToClient(h, r.Body)
		return
	}
	s.response.takeHeaders(h, len(r.Body) == 0)
	if len(r.Body) > 0 && !s.done {
		s.response.takeData(r.Body, true)
	}
}

// sendToClient is a whole response past the filter.
func (s *Stream) sendToClient(h *Headers, body []byte) {
	s.response.headersSent = true
	s.emit(Event{To: ToClient, Kind: HeadersKind, Headers: h, End: len(body) == 0, Local: true})
	if len(body) > 0 {
		s.emit(Event{To: ToClient, Kind: DataKind, Data: body, End: true})
	}
	s.finish()
}

// cancelServer lets a server go whose answer is not wanted any more.
func (s *Stream) cancelServer() {
	if s.serverBusy || s.sentTo != nil && !s.request.sent {
		s.serverBusy, s.request.sent = false, true
		s.emit(Event{To: ToServer, Kind: ResetKind})
	}
}

// reset cuts the stream on both sides.
func (s *Stream) reset(details string) {
	if s.done || s.logging {
		return
	}
	s.details = details
	s.emit(Event{To: ToClient, Kind: ResetKind})
	s.finish()
}

// finish ends the stream: the filter is told, for the last time.
func (s *Stream) finish() {
	if s.done || s.logging {
		return
	}
	s.cancelServer()
	s.logging = true
	s.request.open, s.response.open = nil, nil
	if v := s.vm; v != nil && !v.failed {
		v.call(s, "proxy_on_log", uint64(s.id))
		v.call(s, "proxy_on_done", uint64(s.id))
		v.call(s, "proxy_on_delete", uint64(s.id))
	}
	if s.vm != nil {
		delete(s.vm.streams, s.id)
	}
	s.logging, s.done = false, true
	delete(s.worker.open, s)
}

// fail is what becomes of a stream whose VM has failed, when it is noticed.
func (s *Stream) fail() {
	s.localReply(LocalReply{Status: http.StatusServiceUnavailable, Details: "wasm_fail_stream"}, nil)
}
