package responses

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/settings"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// saveTimeout limits how long a response that is ready waits for the store.
const saveTimeout = 15 * time.Second

func (s *Service) createResponse(w http.ResponseWriter, r *http.Request, c *caller) *openai.Error {
	t, past, unlock, failure := s.begin(w, r, c)
	if failure != nil {
		return failure
	}
	defer unlock()
	request := t.request
	if request.background {
		if failure := s.enqueue(r.Context(), c, t, past); failure != nil {
			return failure
		}
		unlock() // its maker locks the conversation itself
		return s.answerQueued(w, r, c, t)
	}
	save := func(end *outcome) *openai.Error { return nil }
	if request.store {
		st, failure := s.stored()
		if failure != nil {
			return failure
		}
		save = func(end *outcome) *openai.Error { return t.store(r.Context(), st, c, t.record(end, past)) }
	}
	if request.stream {
		return t.stream(r.Context(), w, save)
	}
	return t.whole(r.Context(), w, save)
}

// begin reads a request and what it continues. unlock gives its conversation back, and may be called again.
func (s *Service) begin(w http.ResponseWriter, r *http.Request, c *caller) (t *turn, past *store.Past, unlock func(),
	failure *openai.Error) {
	body, failure := s.body(w, r, c)
	if failure != nil {
		return nil, nil, nil, failure
	}
	request, failure := parseRequest(body)
	if failure != nil {
		return nil, nil, nil, failure
	}
	if t, failure = s.newTurn(request, c); failure != nil {
		return nil, nil, nil, failure
	}
	past, unlock, failure = s.past(r.Context(), c, t)
	if failure != nil {
		return nil, nil, nil, failure
	}
	unlock = sync.OnceFunc(unlock)
	if failure = t.readInput(r.Context(), c, past); failure != nil {
		unlock()
	}
	return t, past, unlock, failure
}

// store stores the turn, also if its client has left.
func (t *turn) store(ctx context.Context, st *store.Store, c *caller, r *store.Record) *openai.Error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	return t.service.failure(st.Insert(ctx, c.tenant, r), "", refusal.StoreAway())
}

// newTurn returns a turn whose past and input are not read yet.
func (s *Service) newTurn(request *request, c *caller) (*turn, *openai.Error) {
	c.model = request.model
	tools, failure := c.settings.Operator.Take(request.fields, request.background)
	return &turn{
		service: s, settings: c.settings, request: request, headers: c.headers, owner: c.tenant,
		bound: c.bound(request.model), share: c.share,
		id: items.NewID("resp"), created: s.now(), loop: loop{hosted: tools},
		// The next response needs the reasoning, and so does the next round.
		sealing: (request.store || tools != nil) && request.seals(c.settings),
	}, failure
}

// seals reports whether the reasoning is hidden from the client, so that only the gateway's sealed text of it is left.
func (r *request) seals(s *settings.Snapshot) bool {
	return s.Sealer.Keys != nil && s.Model(r.model).Answers.HideReasoning && !r.includesValue(items.IncludeSealed)
}

// past returns what a turn continues. unlock gives its conversation back.
func (s *Service) past(ctx context.Context, c *caller, t *turn) (past *store.Past, unlock func(),
	failure *openai.Error) {
	r := t.request
	none := func() {}
	if r.previous == "" && r.conversation == "" {
		return &store.Past{}, none, nil
	}
	st, failure := s.stored()
	if failure != nil {
		return nil, none, failure
	}
	if r.previous != "" {
		past, err := st.Chain(ctx, c.tenant, r.previous, c.within())
		return past, none, s.failure(err, "previous_response_id", refusal.PreviousNotFound(r.previous))
	}
	if r.background { // its maker waits for the conversation
		past, err := st.Peek(ctx, c.tenant, r.conversation)
		return past, none, s.failure(err, "conversation", refusal.NotFound("Conversation", r.conversation))
	}
	past, err := st.Lock(ctx, c.tenant, r.conversation, t.id, lockLease, c.within())
	if err != nil {
		return nil, none, s.failure(err, "conversation", refusal.NotFound("Conversation", r.conversation))
	}
	return past, s.holdLock(ctx, st, past, t.id), nil
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

// readInput reads the items of the request.
func (t *turn) readInput(ctx context.Context, c *caller, past *store.Past) (failure *openai.Error) {
	t.past = past.Items
	t.service.metrics.continued(past)
	reader := t.service.newItemReader(c, t.bound, past.Items)
	t.input, failure = reader.read(ctx, "input", t.takeTrigger())
	t.request.input = nil // it would be kept beside what was read of it
	t.approvals = reader.approvals
	if t.triggered {
		t.hosted = nil // a summary needs no tools
	}
	if failure == nil && len(t.approvals) > 0 && (t.triggered || t.request.prewarm) {
		at := t.approvals[0].At
		failure = refusal.Bad(contract.CodeInvalidValue, at,
			"Invalid '"+at+"': a request without an answer of the model cannot "+
				"approve a call.")
	}
	return failure
}

// record returns what is stored of a turn.
func (t *turn) record(end *outcome, past *store.Past) *store.Record {
	input := t.input
	if t.carried {
		input = slices.Concat(t.past, t.input)
	}
	r := &store.Record{
		Response: store.Response{ID: t.id, Status: end.status, CreatedAt: t.created, Object: end.stored},
		Input:    t.kept(input, nil, end), Output: t.kept(end.output, end.preambles, end), Retention: t.settings.Retention,
		Past:          past,
		DropReasoning: t.dropsReasoning(end), Compacted: t.compacted(end),
	}
	if past.InConversation() && end.status != items.Completed {
		// Input and output join the conversation after the response has completed, and not otherwise.
		alone := store.Past{}
		r.Past = &alone
	}
	return r
}

// dropsReasoning reports whether the reasoning before an answer is removed from the store.
func (t *turn) dropsReasoning(end *outcome) bool {
	return t.settings.Reasoning == settings.KeepUntilFinal && end.answered
}

// kept returns the items that the service is to store. preambles reports of the first ones whether they are known to be
// preambles, whatever they say themselves.
func (t *turn) kept(list []store.Item, preambles []bool, end *outcome) (kept []store.Item) {
	s := t.settings
	for i := range list {
		switch {
		case list[i].Type == items.TypeReasoning && (s.Reasoning == settings.KeepNone || t.dropsReasoning(end)):
		case s.DropCommentary && (i < len(preambles) && preambles[i] || items.IsCommentary(&list[i])):
		default:
			kept = append(kept, list[i])
		}
	}
	return kept
}

// stream answers with a stream of events.
func (t *turn) stream(ctx context.Context, w http.ResponseWriter, save func(*outcome) *openai.Error) *openai.Error {
	flush := http.NewResponseController(w)
	send := func(e *upstream.Event) error {
		if t.sequence <= 1 {
			w.Header().Set("content-type", "text/event-stream")
			w.Header().Set("cache-control", "no-cache")
		}
		if _, err := w.Write(e.Frame()); err != nil {
			return err
		}
		return flush.Flush()
	}
	return t.deliver(ctx, send, save)
}

// leftError means that the client takes no more of its stream.
type leftError struct{ err error }

// Error implements error.
func (e *leftError) Error() string { return "the client has left: " + e.err.Error() }

// deliver runs the turn and sends its events. The last ones are sent when the end has been saved.
func (t *turn) deliver(ctx context.Context, send func(*upstream.Event) error,
	save func(*outcome) *openai.Error) *openai.Error {
	end, failure := t.run(ctx, func(e *upstream.Event) error {
		if err := send(e); err != nil {
			return &leftError{err}
		}
		return nil
	})
	if failure != nil {
		return failure
	}
	t.finish(ctx, end, send, save)
	return nil
}

// finish saves how the turn has ended, and sends its last events.
func (t *turn) finish(ctx context.Context, end *outcome, send func(*upstream.Event) error,
	save func(*outcome) *openai.Error) {
	if failure := save(end); failure != nil {
		end = t.synthesize(items.Failed, &openai.Error{Code: contract.CodeServerError, Message: failure.Message})
	}
	t.service.metrics.finished(end.status)
	for _, e := range t.lastEvents(end) {
		if err := send(e); err != nil {
			if ctx.Err() == nil {
				t.service.log.Debug("the client did not take the end of its stream", "response", t.id, "error", err)
			}
			return
		}
	}
}

// whole answers with the whole response.
func (t *turn) whole(ctx context.Context, w http.ResponseWriter, save func(*outcome) *openai.Error) *openai.Error {
	end, failure := t.run(ctx, func(*upstream.Event) error { return nil })
	if failure != nil {
		return failure
	}
	if end.status == items.Failed {
		failure = end.refusal
		if failure == nil {
			failure = upstream.FailedError(end.object)
		}
	}
	// Clients repeat a request that has failed for a while, and its tools would run twice. So a response whose tools have
	// run is answered as it is, and can be continued.
	kept := t.calls > 0 && (failure == nil || clientsRepeat(failure.Status))
	if failure == nil || kept {
		if unsaved := save(end); unsaved != nil && kept {
			end = t.synthesize(items.Failed, &openai.Error{Code: contract.CodeServerError, Message: unsaved.Message})
		} else if unsaved != nil {
			failure = unsaved
		}
	}
	if failure != nil && !kept {
		t.service.metrics.finished(items.Failed)
		return failure
	}
	t.service.metrics.finished(end.status)
	return writeJSON(w, end.object)
}

// clientsRepeat reports whether clients repeat a request that is answered with a status, as OpenAI's do.
func clientsRepeat(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusRequestTimeout ||
		status == http.StatusConflict || status == http.StatusTooManyRequests
}

// countInput counts the tokens of a request that continues a stored one.
func (s *Service) countInput(w http.ResponseWriter, r *http.Request, c *caller) *openai.Error {
	t, _, unlock, failure := s.begin(w, r, c)
	if failure != nil {
		return failure
	}
	defer unlock()
	if failure := t.list(r.Context()); failure != nil {
		return failure
	}
	t.sealing = false
	answer, failure := t.post(r.Context(), contract.InputTokensPath, t.body())
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
