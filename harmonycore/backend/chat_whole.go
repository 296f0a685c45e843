package backend

import (
	"github.com/harmonyedge/harmonyedge/internal/sse"
)

// NewWholeReader returns a reader of a Chat answer that is one JSON object and no stream. Each choice is an event.
func NewWholeReader() Reader {
	r := &chatReader{whole: true}
	return &wholeReader{read: r.read, more: r.more}
}

// wholeReader finds the end of the object, and reads it as one event or several. Bytes after the object are not read.
type wholeReader struct {
	// read and more are as in eventStream.
	read func(data []byte, e *Event) bool
	more func(e *Event) bool
	body []byte
	// depth counts the open objects and arrays. inString and escaped are about the string that is open.
	depth             int
	inString, escaped bool
	// ended reports whether the object is whole, and started whether its first event was read.
	ended, started, broken bool
}

// Write implements [Reader].
func (w *wholeReader) Write(chunk []byte) {
	if w.ended || w.broken {
		return
	}
	size := w.scan(chunk)
	if len(w.body)+size > sse.MaxEvent {
		*w = wholeReader{broken: true}
		return
	}
	w.body = append(w.body, chunk[:size]...)
}

// scan returns the size of what belongs to the object.
func (w *wholeReader) scan(chunk []byte) int {
	for i, c := range chunk {
		switch {
		case w.inString:
			w.inString = w.escaped || c != '"'
			w.escaped = !w.escaped && c == '\\'
		case w.depth == 0 && c != '{':
			if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				w.broken = true
				return 0
			}
		case c == '"':
			w.inString = true
		case c == '{' || c == '[':
			w.depth++
		case c == '}' || c == ']':
			if w.depth--; w.depth == 0 {
				w.ended = true
				return i + 1
			}
		}
	}
	return len(chunk)
}

// Next implements [Reader].
func (w *wholeReader) Next(e *Event) Reading {
	switch {
	case w.broken:
		return Broken
	case !w.ended:
		return Drained
	case w.started && w.more != nil && w.more(e):
		return Read
	case w.started:
		w.body = nil
		return Drained
	}
	w.started = true
	if !w.read(w.body, e) {
		w.broken, w.body = true, nil
		return Broken
	}
	return Read
}
