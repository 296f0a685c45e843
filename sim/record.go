package sim

import (
	"context"
	"net/http"
	"sync"
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

// prefixCache remembers prompts. From them it computes how much of a new prompt a real server would find in its cache.
type prefixCache struct {
	mu      sync.Mutex
	entries []cached
}

type cached struct {
	salt string
	ids  []uint32
}

const (
	cacheBlock   = 16 // the size of vLLM's blocks
	cacheEntries = 64
)

// lookUp returns how many tokens of a prompt are known, in whole blocks and never all of them. It remembers the prompt.
func (p *prefixCache) lookUp(salt string, ids []uint32, block int) int {
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
	return min(best, len(ids)-1) / block * block
}
