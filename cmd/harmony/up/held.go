package up

import (
	"io"
	"sync"
	"time"
)

// holdTime is how long the start may hold the log's lines, and maxHeld is how many bytes of them.
const (
	holdTime = 15 * time.Second
	maxHeld  = 64 << 10
)

// heldWriter holds what is written to it until it is released. A warning of the start then stands after the lines that
// say where the gateway is, where it is seen.
type heldWriter struct {
	mu   sync.Mutex
	to   io.Writer
	held []byte
	open bool
	late *time.Timer
}

// hold returns a writer that is released at the latest after a time.
func hold(to io.Writer, atMost time.Duration) *heldWriter {
	h := &heldWriter{to: to}
	h.mu.Lock() // release waits until it knows the timer
	defer h.mu.Unlock()
	h.late = time.AfterFunc(atMost, h.release)
	return h
}

// Write implements [io.Writer].
func (h *heldWriter) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open && len(h.held)+len(p) <= maxHeld {
		h.held = append(h.held, p...)
		return len(p), nil
	}
	h.flush()
	return h.to.Write(p)
}

// release writes what is held. What comes later is not held.
func (h *heldWriter) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flush()
}

func (h *heldWriter) flush() {
	if h.open {
		return
	}
	h.open = true
	h.late.Stop()
	if len(h.held) > 0 {
		_, _ = h.to.Write(h.held) // a log has no better place for its own error
	}
	h.held = nil
}
