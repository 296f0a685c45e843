package backend

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// eventStream is the [Reader] of a server that sends server-sent events, or lines of JSON (NDJSON). Most events fit the
// template. The others go through the decoder, one line at a time, so that the template gets each event that follows.
type eventStream struct {
	// decoder knows which of the two the server sends.
	decoder sse.Decoder
	// rest is the part of the last write that is not read yet. It is the caller's memory.
	rest     []byte
	template template
	// variables are the members that differ from event to event. Without any, every event is parsed.
	variables []variable
	// trim removes bytes that the gateway does not need from a chunk, before the decoder keeps any. Nil removes none. It
	// holds nothing back over the end of a line.
	trim func(chunk []byte) []byte
	// read reads the data of one event. It reports whether it understood the data.
	read func(data []byte, e *Event) bool
	// fitted does the rest of read for an event that the template has read, where that depends on earlier events. It
	// reports whether the event can follow them. Nil is for a kind whose events do not depend on each other.
	fitted func(e *Event) bool
	// more reads a further event out of the data that was read last. It reports whether there is one. Nil is for a kind
	// whose data is one event.
	more func(e *Event) bool
}

// Write implements [Reader].
func (s *eventStream) Write(chunk []byte) {
	if len(s.rest) == 0 {
		s.rest = chunk
		return
	}
	joined := make([]byte, 0, len(s.rest)+len(chunk))
	s.rest = append(append(joined, s.rest...), chunk...)
}

// Next implements [Reader].
func (s *eventStream) Next(e *Event) Reading {
	for {
		if s.more != nil && s.more(e) {
			return Read
		}
		if s.decoder.Between() {
			if len(s.rest) == 0 {
				return Drained
			}
			if size := s.template.read(s.rest, e); size > 0 {
				s.rest = s.rest[size:]
				return s.follows(e)
			}
		}
		data, ok := s.decoder.Next()
		value := bytes.TrimSpace(data) // some servers write two spaces before it
		switch {
		case ok && len(value) == 0: // some servers keep the connection alive so
		case ok && s.read(value, e):
			if s.decoder.Lines {
				s.template.learn("", data, "\n", e, s.variables)
			} else {
				s.template.learn("data: ", data, "\n\n", e, s.variables)
			}
			return Read
		case ok:
			return Garbled
		case s.decoder.Broken():
			s.rest = nil
			return Broken
		case len(s.rest) == 0:
			return Drained
		}
		s.writeLine()
	}
}

// Like implements [LikeReader].
func (s *eventStream) Like(b []byte, e *Event) (int, Reading) {
	if len(s.rest) > 0 || !s.decoder.Between() {
		return 0, Drained
	}
	size := s.template.read(b, e)
	if size == 0 {
		return 0, Drained
	}
	return size, s.follows(e)
}

// follows does the rest of read for an event that the template has read.
func (s *eventStream) follows(e *Event) Reading {
	if s.fitted != nil && !s.fitted(e) {
		return Garbled
	}
	return Read
}

// writeLine passes the next line, or the beginning of one, to the decoder.
func (s *eventStream) writeLine() {
	size := min(sse.LineSize(s.rest)+1, len(s.rest))
	line := s.rest[:size]
	s.rest = s.rest[size:]
	if s.trim != nil {
		line = s.trim(line)
	}
	s.decoder.Write(line)
}
