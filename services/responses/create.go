package responses

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/input"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/turn"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// saveTimeout limits how long a response that is ready waits for the store.
const saveTimeout = 15 * time.Second

func (s *Service) createResponse(w http.ResponseWriter, r *http.Request, c *input.Caller) *openai.Error {
	t, past, unlock, failure := s.begin(w, r, c)
	if failure != nil {
		return failure
	}
	defer unlock()
	request := t.Request
	if request.Background {
		if failure := s.enqueue(r.Context(), c, t, past); failure != nil {
			return failure
		}
		unlock() // its maker locks the conversation itself
		return s.answerQueued(w, r, c, t)
	}
	save := func(end *turn.Outcome) *openai.Error { return nil }
	if request.Store {
		st, failure := s.stored()
		if failure != nil {
			return failure
		}
		save = func(end *turn.Outcome) *openai.Error { return s.store(r.Context(), st, c, t.Record(end, past)) }
	}
	if request.Stream {
		return stream(r.Context(), w, t, save)
	}
	return writeWhole(r.Context(), w, t, save)
}

// begin reads a request and what it continues. unlock gives its conversation back, and may be called again.
func (s *Service) begin(w http.ResponseWriter, r *http.Request, c *input.Caller) (t *turn.Turn, past *store.Past,
	unlock func(),
	failure *openai.Error) {
	body, failure := s.body(w, r, c)
	if failure != nil {
		return nil, nil, nil, failure
	}
	request, failure := input.Parse(body)
	if failure != nil {
		return nil, nil, nil, failure
	}
	if t, failure = s.env.New(request, c); failure != nil {
		return nil, nil, nil, failure
	}
	past, unlock, failure = s.past(r.Context(), c, t)
	if failure != nil {
		return nil, nil, nil, failure
	}
	unlock = sync.OnceFunc(unlock)
	if failure = t.ReadInput(r.Context(), c, past); failure != nil {
		unlock()
	}
	return t, past, unlock, failure
}

// store stores a turn, also if its client has left.
func (s *Service) store(ctx context.Context, st *store.Store, c *input.Caller, r *store.Record) *openai.Error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	return s.failure(st.Insert(ctx, c.Tenant, r), "", refusal.StoreAway())
}

// past returns what a turn continues. unlock gives its conversation back.
func (s *Service) past(ctx context.Context, c *input.Caller, t *turn.Turn) (past *store.Past, unlock func(),
	failure *openai.Error) {
	r := t.Request
	none := func() {}
	if r.Previous == "" && r.Conversation == "" {
		return &store.Past{}, none, nil
	}
	st, failure := s.stored()
	if failure != nil {
		return nil, none, failure
	}
	if r.Previous != "" {
		past, err := st.Chain(ctx, c.Tenant, r.Previous, c.Within())
		return past, none, s.failure(err, "previous_response_id", refusal.PreviousNotFound(r.Previous))
	}
	if r.Background { // its maker waits for the conversation
		past, err := st.Peek(ctx, c.Tenant, r.Conversation)
		return past, none, s.failure(err, "conversation", refusal.NotFound("Conversation", r.Conversation))
	}
	past, err := st.Lock(ctx, c.Tenant, r.Conversation, t.ID, lockLease, c.Within())
	if err != nil {
		return nil, none, s.failure(err, "conversation", refusal.NotFound("Conversation", r.Conversation))
	}
	return past, s.holdLock(ctx, st, past, t.ID), nil
}

// holdLock renews the lock of a conversation until the function that it returns is called, which gives it back.
func (s *Service) holdLock(ctx context.Context, st *store.Store, past *store.Past, owner string) func() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(renewal)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := st.RenewLock(ctx, past, owner, lockLease); err != nil && ctx.Err() == nil {
					s.log.Warn("the lock of a conversation was not renewed", "error", err)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		if err := st.Unlock(ctx, past, owner); err != nil {
			s.log.Warn("a conversation was not unlocked", "error", err)
		}
	}
}

// stream answers with a stream of events.
func stream(ctx context.Context, w http.ResponseWriter, t *turn.Turn,
	save func(*turn.Outcome) *openai.Error) *openai.Error {
	flush, begun := http.NewResponseController(w), false
	return t.Deliver(ctx, func(e *upstream.Event) error {
		if !begun {
			w.Header().Set("content-type", "text/event-stream")
			w.Header().Set("cache-control", "no-cache")
			begun = true
		}
		if _, err := w.Write(e.Frame()); err != nil {
			return err
		}
		return flush.Flush()
	}, save)
}

// writeWhole answers with the whole response.
func writeWhole(ctx context.Context, w http.ResponseWriter, t *turn.Turn,
	save func(*turn.Outcome) *openai.Error) *openai.Error {
	body, failure := t.Whole(ctx, save)
	if failure != nil {
		return failure
	}
	return writeJSON(w, body)
}

// countInput counts the tokens of a request that continues a stored one.
func (s *Service) countInput(w http.ResponseWriter, r *http.Request, c *input.Caller) *openai.Error {
	t, _, unlock, failure := s.begin(w, r, c)
	if failure != nil {
		return failure
	}
	defer unlock()
	answer, failure := t.Count(r.Context())
	if failure != nil {
		return failure
	}
	defer answer.Body.Close()
	w.Header().Set("content-type", "application/json")
	if _, err := io.Copy(w, answer.Body); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Debug("an answer was not passed on whole", "error", err)
	}
	return nil
}

// createCompaction answers with the user's messages and an item that stands for everything else.
func (s *Service) createCompaction(w http.ResponseWriter, r *http.Request, c *input.Caller) *openai.Error {
	t, _, unlock, failure := s.begin(w, r, c)
	if failure != nil {
		return failure
	}
	defer unlock()
	body, failure := t.CompactAll(r.Context())
	if failure != nil {
		return failure
	}
	return writeJSON(w, body)
}
