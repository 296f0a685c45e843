package sim

import (
	"context"
	"net/http"
	"sync"
)

// Request is what the server saw of a request, and how far it got with the answer.
type Request struct {
	Method string
	Path   string
	Proto  string // HTTP/1.1 or HTTP/2.0
	Header http.Header
	Body   []byte

	// Of a completion that was accepted:
	ID           string // of the answer
	Model        string
	Stream       bool
	PromptIDs    []uint32
	CachedTokens int

	Status     int    // 0 while none is sent
	TokensSent int    // ids of all choices that were written out
	Pieces     int    // of the stream, each flushed by itself
	Finish     string // finish reason of the first choice, "abort" when the client went away
	Aborted    bool   // the client went away before the end
	Done       bool   // the server is through with it
}

// recorder keeps the last requests and wakes who waits for a change.
type recorder struct {
	mu      sync.Mutex
	keep    int
	list    []*Request
	changed chan struct{} // closed at the next change; nil while nobody waits
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

// Requests are the last requests, oldest first, the running ones included.
func (s *Server) Requests() []Request {
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	return s.rec.snapshot()
}

// Await waits until the requests are as a test wants them, and returns them. It looks again at every change.
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

// prefixCache remembers prompts, to say how much of a new one a real server would find in its cache.
type prefixCache struct {
	mu      sync.Mutex
	entries []cached
}

type cached struct {
	salt string
	ids  []uint32
}

const (
	cacheBlock   = 16 // as vLLM's blocks
	cacheEntries = 64
)

// look returns how many tokens of a prompt are known, whole blocks and never all of it, and remembers the prompt.
func (p *prefixCache) look(salt string, ids []uint32) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := 0
	for _, e := range p.entries {
		if e.salt != salt {
			continue
		}
		n := 0
		for n < len(ids) && n < len(e.ids) && ids[n] == e.ids[n] {
			n++
		}
		best = max(best, n)
	}
	if len(p.entries) == cacheEntries {
		p.entries = append(p.entries[:0], p.entries[1:]...)
	}
	p.entries = append(p.entries, cached{salt, ids})
	return min(best, len(ids)-1) / cacheBlock * cacheBlock
}
