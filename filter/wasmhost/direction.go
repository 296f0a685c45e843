package wasmhost

// iteration is whether a direction of a stream moves, in the words of Envoy's filter manager.
type iteration int

const (
	// moving: what the filter lets go goes.
	moving iteration = iota
	// stopped: the filter has paused, and goes on being called.
	stopped
	// stoppedAll: the filter has paused and is not called until it resumes the stream.
	stoppedAll
)

// The results of a callback. The SDKs have names for the first two.
const (
	resultContinue  = 0
	resultPause     = 1 // for a body: buffer
	resultWatermark = 2 // for a body: buffer, and let the sender wait instead of failing
	resultNoBuffer  = 3 // for a body: the filter keeps the data itself
	// resultContinueOpen is what 2 means for headers: they go on.
	resultContinueOpen = 2
)

// direction is one half of a stream, the request or the response. Both follow the same rules.
type direction struct {
	stream   *Stream
	response bool

	state    iteration
	headers  *Headers
	trailers *Headers
	// headersOpen and trailersOpen say that the filter may read and edit them.
	headersOpen, trailersOpen bool
	// open is the buffer that the filter may read and edit.
	open *[]byte
	// held is what has been buffered; nil is nothing, which is not the same as empty.
	held *[]byte
	// buffering says that the last body callback wants all of the body so far to be there in the next.
	buffering bool
	// strict says that what is held must not grow over the limit; otherwise the sender is slowed down, which is its
	// driver's business.
	strict bool
	// complete says that all of the message is there.
	complete bool
	// headersSent says that the headers have gone on.
	headersSent bool
	// sent says that the last of the message has gone on.
	sent bool
	// aborted says that nothing of this half is wanted any more.
	aborted bool
	// local says that no server sent this response.
	local bool
	bytes uint64
}

func (d *direction) init(s *Stream, response bool) { d.stream, d.response = s, response }

func (d *direction) over() bool {
	return d.aborted || d.stream.done || d.stream.logging || d.stream.replaced
}

// call calls the filter and says how to go on; false is not at all, because the stream has ended or been answered, or
// the VM has failed.
func (d *direction) call(c callback, args ...uint64) (uint32, bool) {
	name, count := d.callback(c)
	s := d.stream
	v := s.vm
	switch {
	case v == nil && (d.response || s.worker.host.plugin.FailurePolicy == FailOpen):
		return resultContinue, true // a stream that never got a VM
	case v != nil && !v.failed && v.calls[name] == nil:
		return resultContinue, true
	case v != nil && !v.failed:
		*count++
		if result, ok := v.call(s, name, append([]uint64{uint64(s.id)}, args...)...); ok {
			return result, !d.over()
		}
	}
	// That the policy lets later streams pass does not help the ones of a VM that is no more.
	s.fail()
	return 0, false
}

func (d *direction) takeHeaders(h *Headers, end bool) {
	if d.over() {
		return
	}
	d.headers, d.complete = h, end
	d.headersOpen = true
	result, ok := d.call(headersCallback, uint64(h.Len()), flag(end))
	if !ok {
		return
	}
	p := &d.stream.worker.host.plugin
	switch {
	case result == resultContinue || result == resultContinueOpen || p.IgnoresHeldHeaders:
		d.headersOpen = false
		d.sendHeaders(end)
	case result == resultPause && p.AllowOnHeadersStopIteration:
		d.state = stopped
	default:
		d.state = stoppedAll
	}
}

func (d *direction) takeData(p []byte, end bool) {
	if d.over() {
		return
	}
	if !d.response {
		d.bytes += uint64(len(p))
	}
	d.complete = end
	if d.state == stoppedAll {
		d.hold(p)
		return
	}
	d.feed(p, end)
}

// feed gives a piece of the body to the filter.
func (d *direction) feed(p []byte, end bool) {
	d.open = &p
	if d.buffering {
		d.hold(p)
		d.open = d.held
		// A response that is too large is answered at once, a request after the filter has had its call.
		if d.response && d.tooLarge() {
			return
		}
	}
	given := d.open
	fromHeld := given == d.held
	result, ok := d.call(bodyCallback, uint64(len(*given)), flag(end))
	d.buffering = false
	if fromHeld && d.held == nil {
		given = &[]byte{} // a resume within the call has sent it on
	}
	if !ok || given == d.held && d.tooLarge() {
		return
	}
	switch result {
	case resultContinue:
		d.open = nil
		if d.state == moving {
			d.sendData(*given, end)
			return
		}
		if given != d.held {
			d.hold(*given)
		}
		if !d.tooLarge() {
			d.proceed()
		}
	case resultPause, resultWatermark:
		d.buffering, d.strict = result == resultPause, result == resultPause
		d.state = stopped
		if given != d.held {
			d.hold(*given)
		}
		if !d.tooLarge() && d.buffering {
			d.open = d.held
		}
	default:
		d.state = stopped
		if end && d.held == nil {
			d.held = &[]byte{}
		}
	}
}

func (d *direction) takeTrailers(t *Headers) {
	if d.over() {
		return
	}
	d.trailers, d.complete = t, true
	if d.state == stoppedAll {
		return
	}
	d.feedTrailers()
}

func (d *direction) feedTrailers() {
	d.trailersOpen = true
	result, ok := d.call(trailersCallback, uint64(d.trailers.Len()))
	if !ok {
		return
	}
	if result != resultContinue {
		if d.state == moving {
			d.state = stopped
		}
		return
	}
	d.trailersOpen = false
	if d.state == moving {
		d.sendTrailers()
		return
	}
	d.proceed()
}

// resume is what the filter asks for from outside of the direction's callbacks.
func (d *direction) resume() {
	if d.over() || d.headers == nil {
		return
	}
	d.headersOpen, d.trailersOpen, d.open = false, false, nil
	if d.state == moving {
		return
	}
	if d.state == stopped {
		d.proceed()
		return
	}
	// The filter has not seen what came since: it is called for it now.
	d.state = moving
	held, trailers := d.held, d.trailers
	d.held = nil
	d.sendHeaders(d.complete && held == nil && trailers == nil)
	if held != nil && !d.over() {
		d.feed(*held, d.complete && trailers == nil)
	}
	if trailers != nil && !d.over() {
		d.feedTrailers()
	}
}

// proceed sends on what was held.
func (d *direction) proceed() {
	d.state = moving
	held := d.held
	d.held, d.buffering = nil, false
	d.sendHeaders(d.complete && held == nil && d.trailers == nil)
	if held != nil && !d.over() {
		d.sendData(*held, d.complete && d.trailers == nil)
	}
	if d.trailers != nil && !d.over() {
		d.sendTrailers()
	}
}

func (d *direction) hold(p []byte) {
	if d.held == nil {
		d.held = &[]byte{}
	}
	*d.held = append(*d.held, p...)
}

// tooLarge reports whether more is held than may be, and answers the stream if so.
func (d *direction) tooLarge() bool {
	if !d.strict || d.held == nil || len(*d.held) <= d.stream.limit {
		return false
	}
	d.stream.tooLarge(d.response)
	return true
}

// callback is one of the three that each half of a stream has.
type callback int

const (
	headersCallback callback = iota
	bodyCallback
	trailersCallback
)

// callback is the function of the module, and the count of its calls.
func (d *direction) callback(c callback) (name string, count *int) {
	n := &d.stream.callbacks
	if d.response {
		return [...]string{"proxy_on_response_headers", "proxy_on_response_body", "proxy_on_response_trailers"}[c],
			[...]*int{&n.ResponseHeaders, &n.ResponseBody, &n.ResponseTrailers}[c]
	}
	return [...]string{"proxy_on_request_headers", "proxy_on_request_body", "proxy_on_request_trailers"}[c],
		[...]*int{&n.RequestHeaders, &n.RequestBody, &n.RequestTrailers}[c]
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
