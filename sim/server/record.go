package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// Request records what the server received, and how far it got with the answer.
type Request struct {
	Method string
	Path   string
	Proto  string // HTTP/1.1 or HTTP/2.0
	Header http.Header
	Body   []byte

	// For an accepted completion:
	ID           string // of the answer
	Model        string
	Stream       bool
	PromptIDs    []uint32
	CachedTokens int
	SampledIDs   []uint32 // of the whole answer, which is the same in each choice
	PromptFrom   string   // where the server has fetched what another one has read of the prompt, or empty

	Status     int    // 0 until one is sent
	TokensSent int    // ids of all choices that were written out
	Pieces     int    // of the stream, each flushed separately
	Finish     string // finish reason of the first choice, "abort" if the client disconnected
	Aborted    bool   // the client disconnected before the end
	Done       bool   // the server has finished with it
}

// recorder keeps the last requests, and wakes callers that wait for a change.
type recorder struct {
	mu      sync.Mutex
	keep    int
	list    []*Request
	changed chan struct{} // closed at the next change; nil if no caller waits
}

func (r *recorder) add(q *Request) {
	r.update(func() {
		if r.keep <= 0 {
			return
		}
		if len(r.list) == r.keep {
			r.list = append(r.list[:0:0], r.list[1:]...)
		}
		r.list = append(r.list, q)
	})
}

// forget removes a request from those that are kept.
func (r *recorder) forget(q *Request) {
	r.update(func() { r.list = slices.DeleteFunc(r.list, func(one *Request) bool { return one == q }) })
}

// update changes requests under the lock.
func (r *recorder) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *recorder) snapshot() []Request {
	out := make([]Request, len(r.list))
	for i, q := range r.list {
		out[i] = *q
	}
	return out
}

// Requests returns the last requests, oldest first, including running ones.
func (s *Server) Requests() []Request {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	return s.rec.snapshot()
}

// Await waits until ok accepts the requests, and returns them. It calls ok again after every change.
func (s *Server) Await(ctx context.Context, ok func([]Request) bool) ([]Request, error) {
	for {
		s.rec.mu.Lock()
		list := s.rec.snapshot()
		if s.rec.changed == nil {
			s.rec.changed = make(chan struct{})
		}
		changed := s.rec.changed
		s.rec.mu.Unlock()
		if ok(list) {
			return list, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return list, ctx.Err()
		}
	}
}

// prefixCache tells what a server has in its cache whose answers take no time, or a fixed time: see
// [Options.CacheBlocks] for one that computes batches.
type prefixCache struct {
	mu     sync.Mutex
	size   int // of a block
	blocks *batch.Blocks
}

// read returns how many tokens of a prompt are cached, and caches it.
func (p *prefixCache) read(salt string, ids []uint32) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blocks.Read(salt, p.size, ids)
}
