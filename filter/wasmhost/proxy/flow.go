package proxy

import (
	"io"
	"sync"
)

// flow is a body on its way to a server. Pieces are put in without waiting and read as an [io.Reader]. The writer must
// check flow.full before it reads more from the client.
type flow struct {
	mu     sync.Mutex
	ready  sync.Cond
	pieces [][]byte
	size   int
	ended  bool
	err    error
	room   chan struct{}
}

func newFlow() *flow {
	f := &flow{room: make(chan struct{}, 1)}
	f.ready.L = &f.mu
	return f
}

func (f *flow) put(p []byte, end bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(p) > 0 {
		f.pieces = append(f.pieces, p)
		f.size += len(p)
	}
	f.ended = f.ended || end
	f.ready.Broadcast()
}

// close makes readers that wait for more fail.
func (f *flow) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended && f.err == nil {
		f.err = io.ErrUnexpectedEOF
	}
	f.ready.Broadcast()
}

// full reports whether there is no room. The channel room signals that there may be some again.
func (f *flow) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size > window
}

// Read implements [io.Reader].
func (f *flow) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.pieces) == 0 {
		switch {
		case f.err != nil:
			return 0, f.err
		case f.ended:
			return 0, io.EOF
		}
		f.ready.Wait()
	}
	n := copy(p, f.pieces[0])
	if f.pieces[0] = f.pieces[0][n:]; len(f.pieces[0]) == 0 {
		f.pieces = f.pieces[1:]
	}
	f.size -= n
	signal(f.room)
	return n, nil
}
