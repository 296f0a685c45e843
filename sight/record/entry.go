package record

import (
	"bytes"
	"context"
	"time"

	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// entry is a record in memory. The recorder's lock guards it.
type entry struct {
	recorder *Recorder
	id       string
	from     source
	summary  Summary
	// stream makes lines of frames. It is nil once the record has ended.
	stream *stream
	file   *file
	// lines are what has been written, each with a line end. Bytes are never changed, so readers need no lock for what
	// they have seen.
	lines []byte
	// used is the part of [Recorder.used] that this record has.
	used int
	// written is the size of all lines, also of those that memory had no room for. lost is the number of lines that were
	// not written.
	written, lost int
	// seen is when the last frame came.
	seen time.Time
	// changed is closed when there is more to read.
	changed chan struct{}
}

// hold takes memory that is no line yet. It reports whether there is room.
func (e *entry) hold(size int) bool {
	if !e.recorder.room(size) {
		return false
	}
	e.recorder.used += size
	e.used += size
	return true
}

// release gives back what hold took.
func (e *entry) release(size int) {
	e.recorder.used -= size
	e.used -= size
}

// write adds a line. The last line is always written.
func (e *entry) write(l line.Line) {
	text := line.Append(nil, l)
	_, last := l.(*line.End)
	if !last && e.written+len(text) > e.recorder.maxRecord {
		e.lost++
		return
	}
	e.written += len(text)
	e.recorder.files.write(e, text)
	e.keep(text)
	e.signal()
	e.recorder.publish(Event{Kind: Line, ID: e.id, Line: text[:len(text)-1]})
}

// keep adds a line to memory, if there is room.
func (e *entry) keep(text []byte) {
	before := cap(e.lines)
	need := 0
	if len(e.lines)+len(text) > before {
		need = len(text) + len(e.lines)/4 // append grows by about that much
	}
	if !e.recorder.room(need) {
		e.lost++
		return
	}
	if need > 0 {
		grown := make([]byte, len(e.lines), len(e.lines)+need)
		copy(grown, e.lines)
		e.lines = grown
	}
	e.lines = append(e.lines, text...)
	grown := cap(e.lines) - before
	e.recorder.used += grown
	e.used += grown
}

// signal wakes who follows the record.
func (e *entry) signal() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// follow sends the lines on out until the record or ctx ends.
func (e *entry) follow(ctx context.Context, out chan<- []byte) {
	for at := 0; ; {
		e.recorder.mu.Lock()
		lines, changed, running := e.lines, e.changed, e.summary.Running
		e.recorder.mu.Unlock()
		for at < len(lines) {
			size := bytes.IndexByte(lines[at:], '\n')
			select {
			case out <- lines[at : at+size : at+size]:
				at += size + 1
			case <-ctx.Done():
				return
			}
		}
		if !running {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
