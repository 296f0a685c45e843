package toolserver

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// Pool keeps sessions with servers. It is safe for concurrent use.
type Pool struct {
	limits Limits
	log    *slog.Logger
	// terms may change. A session keeps the terms with which it was made.
	terms  atomic.Pointer[Terms]
	memory *budget // of messages that are being received
	// places are for sessions, processes for those with a process.
	places, processes *budget

	// closing counts the sessions that have not ended.
	closing sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	ending   int // sessions that are no longer in use and have not ended
	sessions map[key]*session
	listings map[key]*listing
	known    map[key]manners
}

// NewPool returns a pool. Without a guard, only addresses of the public internet are asked, and addresses of private
// servers.
func NewPool(limits Limits, guard *egress.Guard, log *slog.Logger) *Pool {
	limits = limits.OrDefaults()
	p := &Pool{limits: limits, log: log,
		memory:    newBudget("bytes of answers at once", limits.Memory),
		places:    newBudget("sessions with tool servers", int64(limits.Sessions)),
		processes: newBudget("processes of tool servers", int64(limits.Processes)),
		sessions:  map[key]*session{}, listings: map[key]*listing{}, known: map[key]manners{}}
	p.terms.Store((&Terms{Call: limits.Call, Result: limits.Result, Guard: guard}).orDefaults())
	return p
}

// Close ends all sessions and their processes, and waits for their end. Calls that run fail with [ErrClosed].
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.sessions {
		p.remove(s)
	}
	p.mu.Unlock()
	p.closing.Wait()
}

// acquire returns the session with a server, and whether it was there before. The caller releases it.
func (p *Pool) acquire(ctx context.Context, server *Server, tenant string) (s *session, reused bool, err error) {
	s, reused, err = p.enter(server, tenant)
	if err != nil {
		return nil, false, err
	}
	select {
	case <-s.ready:
		err = s.err
	case <-ctx.Done():
		err = s.explain(ctx, &exchange{session: s})
	}
	if err != nil {
		p.release(s)
		return nil, false, err
	}
	return s, reused, nil
}

// enter returns a session that may not be ready.
func (p *Pool) enter(server *Server, tenant string) (s *session, reused bool, err error) {
	k := server.session(tenant)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	s, reused = p.sessions[k]
	if !reused {
		if err := p.makeRoom(server, tenant); err != nil {
			return nil, false, err
		}
		s = newSession(p, server, tenant, k)
		p.sessions[k] = s
		p.closing.Add(1)
		go s.open()
	}
	s.users++
	if s.idle != nil {
		s.idle.Stop()
	}
	return s, reused, nil
}

// makeRoom takes what a session needs.
func (p *Pool) makeRoom(server *Server, tenant string) error {
	if p.ending >= p.limits.Sessions {
		return &LimitError{What: "sessions with tool servers that have not ended", Limit: int64(p.limits.Sessions)}
	}
	if err := p.takePlace(p.places, tenant, func(*session) bool { return true }); err != nil {
		return err
	}
	if !server.isProcess() {
		return nil
	}
	err := p.takePlace(p.processes, tenant, func(s *session) bool { return s.server.isProcess() })
	if err != nil {
		p.places.give(tenant, 1)
	}
	return err
}

// takePlace takes a place for a session. If there is none, the session that has not been used for the longest time, of
// those that have such a place, is ended: one of the tenant's own, if it is the tenant who has too many.
func (p *Pool) takePlace(places *budget, tenant string, has func(*session) bool) error {
	err := places.take(tenant, 1)
	if err == nil {
		return nil
	}
	own := places.isFull(tenant)
	var oldest *session
	for _, s := range p.sessions {
		if s.users == 0 && has(s) && (!own || s.tenant == tenant) && (oldest == nil || s.used.Before(oldest.used)) {
			oldest = s
		}
	}
	if oldest == nil {
		return err
	}
	p.remove(oldest)
	return places.take(tenant, 1)
}

// release says that a caller no longer uses a session.
func (p *Pool) release(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.users--
	s.used = time.Now()
	if s.users > 0 || p.sessions[s.key] != s {
		return
	}
	if s.used.Sub(s.since) > sessionLife || !p.terms.Load().keeps(s) {
		p.remove(s)
		return
	}
	s.idle = time.AfterFunc(p.limits.Idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.users == 0 {
			p.remove(s)
		}
	})
}

// drop ends a session that cannot be used any more. The next call makes a new one.
func (p *Pool) drop(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(s)
}

// remove ends a session, unless that has been done. The caller holds the lock.
func (p *Pool) remove(s *session) {
	if p.sessions[s.key] != s {
		return
	}
	delete(p.sessions, s.key)
	if s.idle != nil {
		s.idle.Stop()
	}
	p.places.give(s.tenant, 1)
	if s.server.isProcess() {
		p.processes.give(s.tenant, 1)
	}
	p.ending++
	why := error(&ConnectionError{connectionLost})
	if p.closed {
		why = ErrClosed
	}
	go func() {
		defer p.closing.Done()
		s.close(why)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ending--
	}()
}

// manners returns how a server wants to be talked to, if that is known.
func (p *Pool) manners(server *Server) manners {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.known[server.place()]
	if time.Now().After(m.until) {
		return manners{}
	}
	return m
}

func (p *Pool) learn(server *Server, m manners) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= p.limits.Sessions {
		clear(p.known) // it costs a request to find out again
	}
	p.known[server.place()] = m
}

func (p *Pool) forget(server *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, server.place())
}
