package server

import (
	"context"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// batching runs the steps of an engine that computes the requests of a server in batches: see [Options.CacheBlocks].
type batching struct {
	s       *Server
	mu      sync.Mutex
	engine  *batch.Scheduler
	places  map[*batch.Request]*place
	running bool // steps are being taken
}

// place is a request's place in an engine: a request to it for each choice.
type place struct {
	requests []*batch.Request
	changed  chan struct{} // has an element if there may be new tokens
	taken    int           // tokens of each choice that the job has waited for
}

// newBatching returns the engine that the options describe, or nil if they describe none.
func newBatching(s *Server) *batching {
	o := &s.Options
	if o.CacheBlocks == 0 {
		return nil
	}
	return &batching{s: s, places: map[*batch.Request]*place{}, engine: batch.New(batch.Options{
		Blocks: o.CacheBlocks, BlockSize: o.BlockSize, MaxRunning: o.MaxRunning, StepTime: o.StepTime,
		PrefillRate: o.PrefillRate, DecodeRate: o.DecodeRate,
	})}
}

// fits reports whether the cache can hold a request with its whole answer. One that does not fit would never end.
func (b *batching) fits(j *Job) bool { return b.engine.Fits(len(j.Asked.IDs) + len(j.Answer.IDs)) }

// enter gives the engine the requests of a job.
func (b *batching) enter(j *Job) *place {
	p := &place{changed: make(chan struct{}, 1)}
	hashes := batch.Hashes(j.salt(), j.Server.Options.BlockSize, j.Asked.IDs, j.Answer.IDs)
	for range j.Asked.Choices() {
		p.requests = append(p.requests, batch.NewHashed(hashes, len(j.Asked.IDs), len(j.Answer.IDs)))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range p.requests {
		b.places[r] = p
		b.engine.Add(r)
	}
	if !b.running {
		b.running = true
		go b.run()
	}
	return p
}

// leave takes a job's requests out of the engine, if they are still there.
func (b *batching) leave(p *place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range p.requests {
		b.engine.Remove(r)
		delete(b.places, r)
	}
}

// maxBehind is how far behind its time an engine may be and still make up for it. A machine that is busy with other
// things thus does not make the engine slower.
const maxBehind = 250 * time.Millisecond

// run takes steps until there is nothing to compute.
func (b *batching) run() {
	due := time.Now()
	for {
		b.mu.Lock()
		took, ok := b.engine.Begin()
		b.running = ok
		b.mu.Unlock()
		if !ok {
			return
		}
		if late := time.Now().Add(-maxBehind); due.Before(late) {
			due = late
		}
		due = due.Add(took)
		if wait := time.Until(due); wait > 0 {
			timer := time.NewTimer(wait)
			_ = b.s.hold(context.Background(), timer.C) // a server that is closed ends its jobs itself
			timer.Stop()
		}
		b.mu.Lock()
		for _, r := range b.engine.End() {
			p := b.places[r]
			select {
			case p.changed <- struct{}{}:
			default:
			}
		}
		b.mu.Unlock()
	}
}

// await waits until the engine has generated n more tokens of each choice, or the whole answer. It returns how many
// tokens of the prompt were cached.
func (b *batching) await(ctx context.Context, p *place, n int) (cached int, err error) {
	p.taken += n
	for {
		b.mu.Lock()
		ready := true
		for _, r := range p.requests {
			ready = ready && (r.Done() || r.Generated >= max(p.taken, 1))
		}
		cached = p.requests[0].Cached
		b.mu.Unlock()
		if ready {
			return cached, nil
		}
		select {
		case <-p.changed:
		case <-ctx.Done():
			return cached, errClientGone
		case <-b.s.closed:
			return cached, errClosed
		}
	}
}

// Load returns the load that /metrics reports.
func (s *Server) Load() (l Load) {
	s.Metrics.with(func(m *Metrics) { l = m.load(s.Options.KVCacheTokens) })
	return l
}

// Counts returns what the engine of a server with [Options.CacheBlocks] has counted.
func (s *Server) Counts() batch.Counts { return s.batching.state().counts }

// engineState is what an engine tells in its metrics.
type engineState struct {
	load   Load
	counts batch.Counts
}

func (b *batching) state() engineState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return engineState{Load{Running: b.engine.Running(), Waiting: b.engine.Waiting(), KVCacheUsage: b.engine.Usage()},
		b.engine.Counts()}
}
