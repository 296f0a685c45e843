package inprocess

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// accessLog writes lines to a file in a goroutine of its own, so that a slow disk or reader holds no request.
type accessLog struct {
	format *logFormat
	file   *os.File
	log    func(wasmhost.Level, string)

	mu sync.Mutex
	// waiting are the lines that are not written yet. lost is how many there was no room for.
	waiting []byte
	lost    int
	closed  bool
	// more signals that lines are waiting. written is closed when the goroutine has ended.
	more    chan struct{}
	written chan struct{}
}

// maxWaiting is how many bytes of lines wait for the file. Further lines are lost.
const maxWaiting = 4 << 20

// open opens the log's file, and adds to what it has. log receives what goes wrong later, and may be nil. Without a
// format there is no log: it is nil.
func (f *logFormat) open(log func(wasmhost.Level, string)) (*accessLog, error) {
	if f == nil {
		return nil, nil
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("access_log: %w", err)
	}
	l := &accessLog{format: f, file: file, log: log, more: make(chan struct{}, 1), written: make(chan struct{})}
	go l.run()
	return l, nil
}

// add adds the line of a stream that has ended.
func (l *accessLog) add(s *wasmhost.Stream) {
	if l != nil {
		l.put(l.format.line(s))
	}
}

// put adds a line.
func (l *accessLog) put(line []byte) {
	l.mu.Lock()
	switch {
	case l.closed:
	case len(l.waiting)+len(line) > maxWaiting:
		l.lost++
	default:
		l.waiting = append(l.waiting, line...)
	}
	l.mu.Unlock()
	l.wake()
}

func (l *accessLog) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *accessLog) run() {
	defer close(l.written)
	var lines []byte
	failed := false
	for range l.more {
		l.mu.Lock()
		lines, l.waiting = l.waiting, lines[:0]
		lost, closed := l.lost, l.closed
		l.lost = 0
		l.mu.Unlock()
		_, err := l.file.Write(lines)
		if err != nil && !failed {
			l.warn("access log: %v", err)
		}
		failed = err != nil
		if lost > 0 {
			l.warn("access log: %d lines are lost, since %s takes them too slowly", lost, l.format.path)
		}
		if closed {
			return
		}
	}
}

func (l *accessLog) warn(format string, args ...any) {
	if l.log != nil {
		l.log(wasmhost.Warn, fmt.Sprintf(format, args...))
	}
}

// close writes what is waiting. It gives a reader that does not read a second.
func (l *accessLog) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wake()
	select {
	case <-l.written:
	case <-time.After(drainLimit):
		l.warn("access log: %s takes no lines; the last ones are lost", l.format.path)
	}
	_ = l.file.Close() // what could be written is written
}
