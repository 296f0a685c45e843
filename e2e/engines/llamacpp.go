package engines

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// LlamaCPPOptions select the server to start and its settings.
type LlamaCPPOptions struct {
	// Path is the program, llama-server.
	Path string
	// Model is the GGUF file.
	Model string
	// Slots is how many requests are answered at once. Others wait.
	Slots int
	// ContextLength is the longest prompt and answer of a slot, in tokens.
	ContextLength int
	// Arguments are further arguments of the program.
	Arguments []string
	// ReadyTimeout is how long it may take until it serves.
	ReadyTimeout time.Duration
}

// LlamaCPP is a running llama-server.
type LlamaCPP struct {
	// URL is where it serves HTTP, without a trailing slash.
	URL string

	cmd   *exec.Cmd
	ended chan struct{} // closed when the program has ended
	log   llamaLog
}

// StartLlamaCPP starts a server on a free port of 127.0.0.1 and returns when it is healthy. If it does not come to serve, the
// error contains its log, and no process is left. When ctx ends, StartLlamaCPP stops waiting. It does not end a server that
// serves: [LlamaCPP.Stop] does.
func StartLlamaCPP(ctx context.Context, o LlamaCPPOptions) (*LlamaCPP, error) {
	s := &LlamaCPP{ended: make(chan struct{}), log: llamaLog{listening: make(chan string, 1)}}
	s.cmd = exec.Command(o.Path, append([]string{
		"--model", o.Model, "--alias", "puppet", "--host", "127.0.0.1", "--port", "0",
		"--parallel", strconv.Itoa(o.Slots), "--ctx-size", strconv.Itoa(o.Slots * o.ContextLength),
		// One thread is faster than two that wait for each other: the model is small.
		"--threads", "1", "--threads-batch", "1", "--no-warmup", "--no-webui", "--metrics", "--slots",
	}, o.Arguments...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", o.Path, err)
	}
	go func() {
		_ = s.cmd.Wait() // its log has the cause
		close(s.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, o.ReadyTimeout)
	defer cancel()
	if err := s.awaitHealth(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%w; llama-server says:\n%s", err, s.Log())
	}
	return s, nil
}

// awaitHealth waits until the server has logged its address, which it does once the model is loaded, and then requests
// its health.
func (s *LlamaCPP) awaitHealth(ctx context.Context) error {
	select {
	case s.URL = <-s.log.listening:
	case <-s.ended:
		return fmt.Errorf("llama-server has ended")
	case <-ctx.Done():
		return fmt.Errorf("llama-server does not serve: %w", ctx.Err())
	}
	return health(ctx, s.URL)
}

// Stop kills the server, with all streams. A signal to end is not enough: with an open stream the server may never end.
func (s *LlamaCPP) Stop() {
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.ended
}

// Log returns the server's output so far.
func (s *LlamaCPP) Log() string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.text.String()
}

// llamaLog keeps the server's output, and finds the address in it.
type llamaLog struct {
	mu        sync.Mutex
	text      bytes.Buffer
	found     bool
	listening chan string
}

// A line of the server's log. With port 0 the server takes a free port, and only the log shows which.
var listening = regexp.MustCompile(`listening on (http://\S+)\n`)

// Write implements [io.Writer].
func (l *llamaLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if !l.found {
		if m := listening.FindSubmatch(l.text.Bytes()); m != nil {
			l.found = true
			l.listening <- string(m[1])
		}
	}
	return len(p), nil
}
