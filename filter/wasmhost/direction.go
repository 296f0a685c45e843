package wasmhost

// iteration is the state of one direction of a stream, named as in Envoy's filter manager.
type iteration int

const (
	// moving means that whatever the filter passes on is sent at once.
	moving iteration = iota
	// stopped means that the filter has paused and is still called.
	stopped
	// stoppedAll means that the filter has paused and is not called until it resumes the stream.
	stoppedAll
)

// The results of a callback. The SDKs name only the first two.
const (
	resultContinue  = 0
	resultPause     = 1 // for a body: buffer it
	resultWatermark = 2 // for a body: buffer it, and slow the sender down instead of failing
	resultNoBuffer  = 3 // for a body: the filter keeps the data itself
	// resultContinueOpen is the meaning of 2 for headers: continue.
	resultContinueOpen = 2
)

// direction is one half of a stream: the request or the response. Both follow the same rules.
type direction struct {
	stream   *Stream
	response bool

	state    iteration
	headers  *Headers
	trailers *Headers
	// headersOpen and trailersOpen report whether the filter may read and edit them.
	headersOpen, trailersOpen bool
	// open is the buffer that the filter may read and edit now.
	open *[]byte
	// held is the buffered body. Nil means that nothing is buffered; an empty buffer is different.
	held *[]byte
	// buffering reports whether the last body callback asked for the whole body so far in the next one.
	buffering bool
	// strict reports whether a held body over the limit fails the stream. If not, the driver slows the sender down.
	strict bool
	// complete reports whether the whole message has arrived.
	complete bool
	// headersSent reports whether the headers have been sent on.
	headersSent bool
	// sent reports whether the end of the message has been sent on.
	sent bool
	// aborted reports whether the rest of this half is no longer wanted.
	aborted bool
	// local reports whether the response comes from the host, the filter or a route, and not from a server.
	local bool
	bytes uint64
}

func (d *direction) init(s *Stream, response bool) { d.stream, d.response = s, response }

func (d *direction) ended() bool {
	return d.aborted || d.stream.done || d.stream.logging || d.stream.replaced
}

// call invokes the filter's callback and returns its result. The second result reports whether the stream continues: it
// does not if the stream has ended or been answered, or if the VM has failed.
func (d *direction) call(c callback, args ...uint64) (uint32, bool) {
	name, count := d.callback(c)
	s := d.stream
	v := s.vm
	switch {
	case v == nil && (d.response || s.worker.host.plugin.FailurePolicy == FailOpen):
		return resultContinue, true // a stream that never had a VM
	case v != nil && !v.failed && v.calls[name] == nil:
		return resultContinue, true
	case v != nil && !v.failed:
		*count++
		if result, ok := v.call(s, name, append([]uint64{uint64(s.id)}, args...)...); ok {
			return result, !d.ended()
		}
	}
	// Even if the policy lets later streams pass, streams of a failed VM fail.
	s.fail()
	return 0, false
}

func (d *direction) takeHeaders(h *Headers, end bool) {
	if d.ended() {
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
	if d.ended() {
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

// feed passes a piece of the body to the filter.
func (d *direction) feed(p []byte, end bool) {
	d.open = &p
	if d.buffering {
		d.hold(p)
		d.open = d.held
		// A response that is too large fails before the filter is called, a request after it.
		if d.response && d.tooLarge() {
			return
		}
	}
	given := d.open
	fromHeld := given == d.held
	result, ok := d.call(bodyCallback, uint64(len(*given)), flag(end))
	d.buffering = false
	if fromHeld && d.held == nil {
		given = &[]byte{} // a resume within the callback has already sent it
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
	if d.ended() {
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

// resume continues the direction when the filter asks for it outside the direction's own callbacks.
func (d *direction) resume() {
	if d.ended() || d.headers == nil {
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
	// The filter has not seen the body and trailers that arrived meanwhile: it is called for them now.
	d.state = moving
	held, trailers := d.held, d.trailers
	d.held = nil
	d.sendHeaders(d.complete && held == nil && trailers == nil)
	if held != nil && !d.ended() {
		d.feed(*held, d.complete && trailers == nil)
	}
	if trailers != nil && !d.ended() {
		d.feedTrailers()
	}
}

// proceed sends everything that was held.
func (d *direction) proceed() {
	d.state = moving
	held := d.held
	d.held, d.buffering = nil, false
	d.sendHeaders(d.complete && held == nil && d.trailers == nil)
	if held != nil && !d.ended() {
		d.sendData(*held, d.complete && d.trailers == nil)
	}
	if d.trailers != nil && !d.ended() {
		d.sendTrailers()
	}
}

func (d *direction) hold(p []byte) {
	if d.held == nil {
		d.held = &[]byte{}
	}
	*d.held = append(*d.held, p...)
}

// edited is called after the filter has edited the body. A held response that is too large then fails within the edit:
// the filter's last callbacks run inside the callback that makes it.
func (d *direction) edited() {
	if d.open == d.held {
		d.tooLarge()
	}
}

// tooLarge reports whether a held body exceeds the limit, and answers the stream if it does.
func (d *direction) tooLarge() bool {
	if !d.strict || d.held == nil || len(*d.held) <= d.stream.limit {
		return false
	}
	d.stream.tooLarge(d.response)
	return true
}

// callback is one of the three callbacks that each half of a stream has.
type callback int

const (
	headersCallback callback = iota
	bodyCallback
	trailersCallback
)

// callback returns the name of the module's function and a pointer to the counter of its calls.
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
