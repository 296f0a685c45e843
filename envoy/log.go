package envoy

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxTail is how much of what a program says is kept: enough for the last words of an Envoy that gives up.
const maxTail = 64 << 10

// logBuffer keeps the end of what is written to it and passes it on from the moment that it is told where to.
type logBuffer struct {
	mu   sync.Mutex
	tail []byte
	next io.Writer
}

// Write implements io.Writer. It never fails: a child must not die because its log cannot be shown.
func (l *logBuffer) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, data...)
	if extra := len(l.tail) - maxTail; extra > maxTail { // cut now and then, not at every line
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
	if l.next != nil {
		_, _ = l.next.Write(data)
	}
	return len(data), nil
}

func (l *logBuffer) pass(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = w
}

func (l *logBuffer) last(lines int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(string(bytes.TrimSpace(l.tail)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Log is the last lines of what the program has said.
func (p *Process) Log(lines int) string { return p.log.last(lines) }

// PassLog writes to w what the program says from now on; nil ends that.
func (p *Process) PassLog(w io.Writer) { p.log.pass(w) }
