package envoy

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxTail is how many bytes of a program's output are kept at least. That is enough for the last lines of an Envoy that
// fails.
const maxTail = 64 << 10

// logBuffer keeps the end of what is written to it. It also copies what is written after copyTo has set a writer.
type logBuffer struct {
	mu     sync.Mutex
	tail   []byte
	writer io.Writer
}

// Write implements [io.Writer]. It never fails, because a child must not end when its log cannot be shown.
func (l *logBuffer) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, data...)
	if extra := len(l.tail) - maxTail; extra > maxTail { // cut now and then, not at every line
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
	if l.writer != nil {
		_, _ = l.writer.Write(data)
	}
	return len(data), nil
}

func (l *logBuffer) copyTo(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writer = w
}

func (l *logBuffer) last(lines int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(string(bytes.TrimSpace(l.tail)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Log returns the last lines of the program's output.
func (p *Process) Log(lines int) string { return p.log.last(lines) }

// PassLog copies the program's output to w from now on. With nil it stops that.
func (p *Process) PassLog(w io.Writer) { p.log.copyTo(w) }
