package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// held counts what the host holds of requests whose bodies are still being received. There is one for each VM:
// configurations that are on their way out hold bodies too. The bytes lie in the host's memory, not in the VM's.
type held struct {
	streams map[uint32]*stream
	bytes   int
}

// grow notes that the host now holds size bytes of a request's body.
func (h *held) grow(s *stream, size int) {
	if h.streams == nil {
		h.streams = make(map[uint32]*stream)
	}
	if h.streams[s.id] == nil {
		h.streams[s.id] = s
		s.body = 0
	}
	h.bytes += size - s.body
	s.body = size
}

// release forgets a request, whose body is all there or not wanted any more. It may be called more than once.
func (h *held) release(s *stream) {
	if h.streams[s.id] != s {
		return
	}
	h.bytes -= s.body
	delete(h.streams, s.id)
}

// largest is the request of which the most is held, nil if nothing is.
func (h *held) largest() *stream {
	var most *stream
	for _, s := range h.streams {
		if most == nil || s.body > most.body {
			most = s
		}
	}
	return most
}

// admits reports whether the host may go on holding the body of current, whose callback this is. Beyond limit the
// largest body has to go: if the one that grows were refused, a few large bodies could keep all others out. Here only
// current can be refused; makeRoom refuses the others. Until it has run they may take half as much again.
//
// Another stream must not be refused from here. Envoy takes the reply for one to current, and drops the chunk that
// current has just brought: its body would go on without it.
func (h *held) admits(current *stream, limit int) bool {
	return h.bytes <= limit || h.bytes <= limit+limit/2 && h.largest() != current
}

// makeRoom refuses the largest requests until no more than limit is held. It is for the timer.
func (h *held) makeRoom(limit int) {
	for h.bytes > limit {
		s := h.largest()
		h.release(s)
		if check("choose stream", proxywasm.SetEffectiveContext(s.id)) {
			s.overloaded()
		}
	}
}

// overloaded refuses a request of which not everything is there yet.
func (s *stream) overloaded() {
	s.pending = false
	s.send(s.exchange.Overloaded())
}
