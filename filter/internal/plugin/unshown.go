package plugin

import (
	"encoding/binary"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// requestSize is the property with the size of a request's headers, and of what has arrived of its body.
const requestSize = "request\x00total_size"

// unshownMS is how long the host may have something of a request's body, in milliseconds, and not show it. A filter
// before this one may hold bodies too.
const unshownMS = 5_000

// await notes that the request's headers are held, and that its body is to be shown next. A host without
// allow_on_headers_stop_iteration keeps the body to itself, and nothing else tells it apart from a slow client
// (RATIONALE.md#116). One body that is shown settles it for the configuration.
func (s *stream) await() {
	if !s.plugin.showsBodies {
		s.awaited, s.arrived, s.arrivedAt = true, receivedSize(), 0
	}
}

// shown notes that the host shows what follows the held headers.
func (s *stream) shown() {
	if s.awaited {
		s.awaited, s.plugin.showsBodies = false, true
	}
}

// unshown reports whether the host has had something of the request's body for too long. The stream must be the one
// that the host acts on.
func (s *stream) unshown(at int64) bool {
	if size := receivedSize(); size > s.arrived {
		s.arrived, s.arrivedAt = size, at
	}
	return s.arrivedAt != 0 && at-s.arrivedAt >= unshownMS
}

// refuseUnshown answers requests whose bodies the host keeps to itself, and logs that once. Only the timer calls it.
func (p *plugin) refuseUnshown(at int64) {
	for i := len(p.streams) - 1; i >= 0 && !p.showsBodies; i-- {
		if i >= len(p.streams) {
			continue // a reply has ended streams
		}
		s := p.streams[i]
		if !s.awaited || !check("choose stream", proxywasm.SetEffectiveContext(s.id)) || !s.unshown(at) {
			continue
		}
		s.awaited = false
		if !p.editRefusalLogged {
			p.editRefusalLogged = true
			proxywasm.LogCritical("harmony: the proxy keeps the bodies of held requests to itself: " +
				"allow_on_headers_stop_iteration is not in force; requests are answered 500: see docs/modes.md")
		}
		s.cannotForward()
	}
}

// receivedSize returns the size of what has arrived of a request, or 0.
func receivedSize() uint64 {
	size, err := readProperty(requestSize)
	if err != nil || len(size) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(size)
}
