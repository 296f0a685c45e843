package backend

import "github.com/harmonyedge/harmonyedge/internal/sse"

// eventStream is the [Reader] of a server that sends server-sent events.
type eventStream struct {
	decoder sse.Decoder
	// trim removes bytes that the gateway does not need from a chunk, before the decoder keeps any. Nil removes none.
	trim func(chunk []byte) []byte
	// read reads the data of one event. It reports whether it understood the data.
	read func(data []byte, e *Event) bool
}

// Write implements [Reader].
func (s *eventStream) Write(chunk []byte) {
	if s.trim != nil {
		chunk = s.trim(chunk)
	}
	s.decoder.Write(chunk)
}

// Next implements [Reader].
func (s *eventStream) Next(e *Event) Reading {
	data, ok := s.decoder.Next()
	switch {
	case ok && s.read(data, e):
		return Read
	case ok:
		return Garbled
	case s.decoder.Broken():
		return Broken
	default:
		return Drained
	}
}
