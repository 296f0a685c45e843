package wasmhost

import "time"

func setTickPeriod(v *vm, a []uint64) Status {
	v.tick = time.Duration(uint32(a[0])) * time.Millisecond
	v.next = v.worker.host.options.Now().Add(v.tick)
	v.worker.ticking()
	return StatusOK
}

// The stream types of the ABI.
const (
	streamRequest  = 0
	streamResponse = 1
	streamUpstream = 3 // the last of the two TCP types
)

// currentStream returns the stream that a filter's call acts on. It is nil if there is none, which is not an error.
func (v *vm) currentStream() *Stream {
	if s := v.active; s != nil && !s.logging && !s.done {
		return s
	}
	return nil
}

// lateCall calls [Options.Violation] for a reply or a close on a stream that is done.
func (v *vm) lateCall(call string) {
	if v.active != nil {
		v.worker.host.violation("%s on a stream that is done: Envoy does not survive this", call)
	}
}

// continueStream resumes one direction. Like [closeStream] and [sendLocalResponse] it takes effect when the call into
// the module has returned.
func continueStream(v *vm, a []uint64) Status {
	if a[0] > streamResponse {
		return StatusBadArgument
	}
	s := v.currentStream()
	if s == nil {
		return StatusOK
	}
	d := &s.response
	if a[0] == streamRequest {
		// The filter loses access to the request's maps at once, although the stream moves later.
		d = &s.request
		d.headersOpen, d.trailersOpen = false, false
	}
	v.afterCall = append(v.afterCall, d.resume)
	return StatusOK
}

func closeStream(v *vm, a []uint64) Status {
	s := v.currentStream()
	if s == nil {
		if a[0] <= streamResponse {
			v.lateCall("proxy_close_stream")
		}
		return StatusOK
	}
	if a[0] > streamUpstream {
		return StatusBadArgument
	}
	// The types of TCP streams are accepted and have no effect.
	if a[0] <= streamResponse {
		v.afterCall = append(v.afterCall, func() {
			if s.details == nil {
				s.setDetails("wasm_close_stream")
			}
			s.reset()
		})
	}
	return StatusOK
}

func sendLocalResponse(v *vm, a []uint64) Status {
	details, ok1 := v.readString(a[1], a[2])
	body, ok2 := v.read(a[3], a[4])
	pairs, ok3 := v.read(a[5], a[6])
	if !ok1 || !ok2 || !ok3 {
		return StatusInvalidMemoryAccess
	}
	fields, ok := readPairs(pairs)
	if !ok {
		return StatusBadArgument
	}
	s := v.currentStream()
	if s == nil {
		v.lateCall("proxy_send_local_response")
		return StatusOK
	}
	code := int(uint32(a[0]))
	v.afterCall = append(v.afterCall, func() {
		s.localReply(LocalReply{Status: code, Details: details, Body: body}, func(h *Headers) {
			for _, f := range fields {
				if f.Name != ":status" {
					h.Add(f.Name, f.Value)
				}
			}
		})
	})
	return StatusOK
}

// callForeign offers clear_route_cache, the one function that an HTTP filter in Envoy needs. [Options.Foreign] adds
// others.
func callForeign(v *vm, a []uint64) Status {
	name, ok1 := v.readString(a[0], a[1])
	argument, ok2 := v.read(a[2], a[3])
	if !ok1 || !ok2 {
		return StatusInvalidMemoryAccess
	}
	if name == "clear_route_cache" {
		if v.active != nil {
			v.active.route = nil
		}
		return StatusOK
	}
	f, ok := v.worker.host.options.Foreign[name]
	if !ok {
		return StatusNotFound
	}
	result, status := f(argument)
	if status != StatusOK {
		return status
	}
	return v.writeNew(result, a[4], a[5])
}
