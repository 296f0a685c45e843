package toolserver

import (
	"io"
	"sync"
)

// stream reads what belongs to a session and not to one request: the events of SSE, the stdout of a process. A single
// message has the size of [Limits.Message] at most, and messages that nobody has taken yet have as much as one more
// than the calls that may run.
type stream struct {
	io.ReadCloser
	session *session
	// newlines is how many end a message: one in stdout, two in SSE.
	newlines int

	size, run int64 // of the message that is being read: its bytes, and the newlines at its end

	mu      sync.Mutex
	waiting int64
	closed  bool
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if n > 0 {
		if over := s.receive(p[:n]); over != nil {
			return 0, s.session.setFault(over)
		}
	}
	return n, err
}

func (s *stream) receive(p []byte) error {
	limits := &s.session.pool.limits
	for _, b := range p {
		switch s.size++; b {
		case '\n':
			if s.run++; s.run >= int64(s.newlines) {
				s.size = 0
			}
		case '\r':
		default:
			s.run = 0
		}
		if s.size > limits.Message {
			return &LimitError{What: bytesOfMessage, Limit: limits.Message}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(len(p))
	if s.waiting+n > limits.Message*int64(limits.SessionCalls+1) {
		return &LimitError{What: "bytes of messages that were not asked for", Limit: limits.Message}
	}
	if s.closed {
		return io.ErrClosedPipe
	}
	if err := s.session.pool.memory.take(s.session.tenant, n); err != nil {
		return err
	}
	s.waiting += n
	return nil
}

// taken says that a message of this size has been taken. A form has some bytes more than what it carries.
func (s *stream) taken(size int) {
	const form = 256
	s.give(int64(size) + form)
}

// rest says that nothing is expected, so what is still counted was the form of messages.
func (s *stream) rest() { s.give(1 << 62) }

func (s *stream) give(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = min(n, s.waiting); n > 0 {
		s.waiting -= n
		s.session.pool.memory.give(s.session.tenant, n)
	}
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	err := s.ReadCloser.Close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.rest()
	return err
}
