package backend

import "github.com/harmonyedge/harmonyedge/internal/sse"

// lineStream is the [Reader] of a server that sends an event in each line (NDJSON).
type lineStream struct {
	lines sse.Lines
	// read reads one event. It reports whether it understood it.
	read func(line []byte, e *Event) bool
}

// Write implements [Reader].
func (s *lineStream) Write(chunk []byte) { s.lines.Write(chunk) }

// Next implements [Reader]. Empty lines are no events.
func (s *lineStream) Next(e *Event) Reading {
	for {
		line, ok := s.lines.Next()
		switch {
		case ok && len(line) == 0:
		case ok && s.read(line, e):
			return Read
		case ok:
			return Garbled
		case s.lines.Broken():
			return Broken
		default:
			return Drained
		}
	}
}
