package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// held counts the bytes that the host holds of requests whose bodies are still being received. Each VM has one, because
// configurations that are being replaced hold bodies too. The bytes lie in the host's memory, not in the VM's.
type held struct {
	streams []*stream
	bytes   int
}

// grow notes that the host now holds size bytes of a request's body.
func (h *held) grow(s *stream, size int) {
	if s.heldAt == 0 {
		h.streams = append(h.streams, s)
		s.heldAt, s.body = len(h.streams), 0
	}
	h.bytes += size - s.body
	s.body = size
}

// release forgets a request whose body is complete or no longer wanted. It may be called more than once.
func (h *held) release(s *stream) {
	n := len(h.streams)
	if s.heldAt == 0 || s.heldAt > n {
		return
	}
	h.bytes -= s.body
	last := h.streams[n-1]
	h.streams[s.heldAt-1], last.heldAt = last, s.heldAt
	h.streams[n-1], s.heldAt = nil, 0
	h.streams = h.streams[:n-1]
}

// largest returns the request of which the host holds the most bytes, or nil if it holds none.
func (h *held) largest() *stream {
	var largest *stream
	for _, s := range h.streams {
		if largest == nil || s.body > largest.body {
			largest = s
		}
	}
	return largest
}

// admits reports whether the host may continue to hold the body of current, whose callback is running. Beyond limit the
// largest body is refused: if the growing body were refused instead, a few large bodies could keep all others out. This
// callback can refuse only current; makeRoom refuses the others. Until makeRoom has run, they may take half as much
// again.
//
// Another stream must not be refused here. Envoy would take the reply as one for current, and drop the chunk that
// current has just received: its body would continue without that chunk.
func (h *held) admits(current *stream, limit int) bool {
	return h.bytes <= limit || h.bytes <= limit+limit/2 && h.largest() != current
}

// makeRoom refuses the largest requests until no more than limit bytes are held. Only the timer calls it.
func (h *held) makeRoom(limit int) {
	for h.bytes > limit {
		s := h.largest()
		h.release(s)
		if check("choose stream", proxywasm.SetEffectiveContext(s.id)) {
			s.overloaded()
		}
	}
}

// overloaded refuses a request that is not complete yet.
func (s *stream) overloaded() {
	s.pending = false
	s.send(s.exchange.Overloaded())
}
