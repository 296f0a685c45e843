package responses

import (
	"context"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/turn"
)

const (
	// lease is how long a replica has a response without renewing it.
	lease = 15 * time.Second
	// lockLease is how long it has a conversation. If a replica dies, clients wait so long for its conversations; OpenAI's
	// Agents SDK tries again for 7 s.
	lockLease = 5 * time.Second
	// renewal is how often it renews them. A response that was cancelled ends then.
	renewal = time.Second
	// renewTimeout limits how long a renewal waits for the store: less than a lease, so that another can follow.
	renewTimeout = 5 * time.Second
	// claimInterval is how often a replica looks for responses that another one has accepted or left behind.
	claimInterval = time.Second
	// busyWait is how long a response waits for a conversation that another one has.
	busyWait = time.Second
)

// enqueue stores a response that is to be made.
func (s *Service) enqueue(ctx context.Context, c *input.Caller, t *turn.Turn, past *store.Past) *openai.Error {
	st, failure := s.stored()
	if failure != nil {
		return failure
	}
	r, request, failure := t.Queue(past)
	if failure != nil {
		return failure
	}
	if err := st.Enqueue(ctx, c.Tenant, r, request, s.options.Queue); err != nil {
		return s.failure(err, "", refusal.StoreAway())
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
	return nil
}

// answerQueued answers with the queued response, or with its stream.
func (s *Service) answerQueued(w http.ResponseWriter, r *http.Request, c *input.Caller, t *turn.Turn) *openai.Error {
	if !t.Request.Stream {
		return writeJSON(w, whole(&store.Response{Object: t.Newest()}, nil, c, nil))
	}
	st, failure := s.stored()
	if failure != nil {
		return failure
	}
	return s.follow(w, r, &followed{store: st, id: t.ID, after: -1, share: c.Share, tenant: c.Tenant, begun: true})
}

// makeInBackground makes responses until the service is stopped. It returns when those that it has begun have ended.
func (s *Service) makeInBackground(ctx context.Context, st *store.Store) {
	for s.takeSlot(ctx) {
		// Each claim has a name of its own, so that a replica that claims what it has itself makes it once only.
		j, err := st.Claim(ctx, items.NewID("maker"), lease)
		if j != nil {
			s.work.Go(func() {
				defer s.slots.give()
				defer func() {
					// As in net/http, a fault costs its own response only. Another replica ends it when the lease has.
					if fault := recover(); fault != nil {
						s.log.Error("a response in the background was not made", "response", j.ID, "reason", fault, "stack",
							string(debug.Stack()))
					}
				}()
				s.perform(ctx, st, j, err)
			})
			continue
		}
		s.slots.give()
		if err != nil && ctx.Err() == nil {
			s.log.Warn("no response can be claimed", "error", err)
			s.awaitStore(ctx, st)
		}
		select {
		case <-s.draining:
			return
		case <-ctx.Done():
			return
		case <-s.kick:
		case <-time.After(claimInterval):
		}
	}
}

// takeSlot waits for a slot, and takes it. It returns false when no response is begun any more.
func (s *Service) takeSlot(ctx context.Context) bool {
	for {
		select {
		case <-s.draining:
			return false
		case <-ctx.Done():
			return false
		default:
		}
		if s.slots.take(s.settings().Background) {
			return true
		}
		select {
		case <-s.draining:
		case <-ctx.Done():
		case <-s.slots.freed:
		}
	}
}

// slots are the places of what runs at once. One goroutine takes them.
type slots struct {
	taken *atomic.Int64
	// freed gets something when there may be a place.
	freed chan struct{}
}

func newSlots() slots { return slots{new(atomic.Int64), make(chan struct{}, 1)} }

// take takes one of so many places, unless all are taken.
func (s *slots) take(places int) bool {
	if s.taken.Load() >= int64(places) {
		return false
	}
	s.taken.Add(1)
	return true
}

func (s *slots) give() {
	s.taken.Add(-1)
	s.changed()
}

// changed wakes the one that waits for a place.
func (s *slots) changed() {
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// settle is how long after an outage of the store nothing is claimed, so that those who make responses renew them
// first.
const settle = 3 * renewal

// awaitStore waits until the store answers again, and until its responses have been renewed.
func (s *Service) awaitStore(ctx context.Context, st *store.Store) {
	for s.pause(ctx, claimInterval) {
		if st.Ping(ctx) == nil {
			s.pause(ctx, settle)
			return
		}
	}
}

// perform makes the response of a job. unreadable is why its request cannot be read, or nil.
func (s *Service) perform(ctx context.Context, st *store.Store, j *store.Job, unreadable error) {
	share := &quota.Share{Of: s.memory, Tenant: j.Tenant}
	defer share.Release()
	share.HoldAnyway(quota.Copies * int64(len(j.Request)))
	m := &maker{service: s, store: st, job: j, share: share}
	var wrong error
	m.turn, wrong = s.env.Resume(j, &input.Caller{Settings: s.settings(), Tenant: j.Tenant, Share: share},
		unreadable == nil)
	if unreadable == nil {
		unreadable = wrong
	}
	switch {
	case unreadable != nil:
		s.log.Error("a response in the background cannot be read", "response", j.ID, "reason", unreadable)
		m.resume(ctx)
		m.fail(ctx, "What is stored of the request cannot be read.")
	case j.Begun:
		m.resume(ctx)
		m.fail(ctx, "The responses service was restarted while it made this response. Create it again.")
	default:
		m.run(ctx)
	}
}
