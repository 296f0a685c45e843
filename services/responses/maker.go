package responses

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/turn"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// flushInterval is how long events wait until they are stored together. Each time costs about as much as a stored turn.
const flushInterval = 200 * time.Millisecond

// maker makes one response in the background.
type maker struct {
	service *Service
	store   *store.Store
	job     *store.Job
	turn    *turn.Turn
	// share is the memory that it has.
	share *quota.Share

	// cancel ends the work. Its cause is [store.ErrLost] if another replica has the response, and errGiveBack if another is
	// to have it.
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// unbegun is the object with which the response begins, while the store does not know yet that it has begun.
	unbegun []byte
	// waiting are events that are not stored yet.
	waiting store.Events
	// next is the number of the next event.
	next int64
}

// run asks the model and stores what it says.
func (m *maker) run(ctx context.Context) {
	s := m.service
	ctx, span := m.backgroundSpan(ctx)
	defer span.End()
	past, input, err := m.store.JobItems(ctx, m.job, m.share.Take)
	if err == nil && m.turn.Request.Conversation != "" {
		var locked *store.Past
		locked, err = m.store.Lock(ctx, m.job.Tenant, m.turn.Request.Conversation, m.job.ID, lockLease,
			m.turn.Within())
		if errors.Is(err, store.ErrLocked) {
			m.ignoreLost(m.store.Release(ctx, m.job, busyWait))
			return
		}
		if err == nil {
			past = locked.Items
			defer s.holdLock(ctx, m.store, locked, m.job.ID)()
		}
	}
	if err != nil {
		var large *store.TooLargeError
		var corrupt *store.CorruptError
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrGap), errors.As(err, &large), errors.As(err,
			&corrupt):
			m.fail(ctx, s.failure(err, "previous_response_id", refusal.NotFound("Conversation",
				m.turn.Request.Conversation)).Message)
		default: // the store's fault: any replica tries again
			s.log.Warn("a response in the background could not be begun; trying again", "response", m.job.ID, "error", err)
			m.ignoreLost(m.store.Release(ctx, m.job, busyWait))
		}
		return
	}
	if failure := m.turn.Fits(past); failure != nil {
		m.fail(ctx, failure.Message)
		return
	}
	m.turn.CarryOn(past, input)
	m.share.Insists = true
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.cancel = cancel
	var renewing sync.WaitGroup
	renewing.Go(func() { m.keep(work) })
	var output []json.RawMessage // a turn that is stopped drops its own
	end, failure := m.turn.Run(work, func(e *upstream.Event) error {
		output = m.turn.Finished()
		return m.take(work, e)
	})
	cause := context.Cause(work)
	cancel(nil)
	renewing.Wait()
	switch {
	case errors.Is(cause, store.ErrLost):
		return // it was cancelled, or another replica has it
	case errors.Is(cause, errGiveBack), ctx.Err() != nil && m.unbegun != nil:
		m.ignoreLost(m.store.Release(context.WithoutCancel(ctx), m.job, 0))
	case failure != nil && ctx.Err() != nil:
		m.ignoreLost(m.store.Release(context.WithoutCancel(ctx), m.job, 0))
	case failure != nil:
		m.fail(ctx, failure.Message)
	case ctx.Err() != nil:
		m.turn.Restore(output)
		m.fail(ctx, "The responses service was stopped while it made this response. Create it again.")
	default:
		m.finish(ctx, end)
	}
}

// keep renews the lease and stores events, until work ends. It ends work if the response is lost.
func (m *maker) keep(work context.Context) {
	flush := time.NewTicker(flushInterval)
	defer flush.Stop()
	renewed := m.service.now()
	for {
		select {
		case <-work.Done():
			return
		case <-flush.C:
		}
		// A transaction that is cut while it commits may have happened. So it has a time of its own.
		ctx, done := context.WithTimeout(context.WithoutCancel(work), renewTimeout)
		stored := false
		err := m.storeBegin(ctx)
		if err == nil {
			stored, err = m.flush(ctx)
		}
		if err == nil && !stored && m.service.now().Sub(renewed) >= renewal {
			stored, err = true, m.store.Renew(ctx, m.job, lease)
		}
		done()
		switch {
		case errors.Is(err, store.ErrLost):
			m.cancel(err)
			return
		case err != nil && work.Err() == nil:
			m.service.log.Warn("a response in the background was not stored; trying again", "response", m.job.ID, "error",
				err)
		case stored:
			renewed = m.service.now()
		}
	}
}

// take keeps an event until it is stored. That the response has begun is stored at once.
func (m *maker) take(ctx context.Context, e *upstream.Event) error {
	if m.turn.Begins() {
		m.mu.Lock()
		m.unbegun = m.turn.Newest()
		m.mu.Unlock()
		if err := m.begin(ctx); err != nil {
			return err
		}
	}
	m.add(e)
	return nil
}

// errGiveBack means that the response is not to be made here: the service stops before the store knows that it has
// begun.
var errGiveBack = errors.New("another replica is to make the response")

// begin stores that the response has begun. While the store is away, the answer of the model is kept until it is back
// ([maker.keep] tries again). Tools must not run twice, so a response with tools waits.
func (m *maker) begin(ctx context.Context) error {
	for wait := firstRetry; ; wait = min(2*wait, renewal) {
		attempt, done := context.WithTimeout(ctx, renewTimeout)
		err := m.storeBegin(attempt)
		done()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrLost):
			m.cancel(err)
			return err
		case ctx.Err() != nil:
			return err
		}
		m.service.log.Warn("a response in the background cannot be begun in the store; trying again", "response", m.job.ID,
			"error", err)
		if !m.turn.RunsTools() {
			return nil
		}
		if !m.service.pause(ctx, wait) {
			m.cancel(errGiveBack)
			return errGiveBack
		}
	}
}

// storeBegin stores that the response has begun, unless that is stored already.
func (m *maker) storeBegin(ctx context.Context) error {
	m.mu.Lock()
	object := m.unbegun
	m.mu.Unlock()
	if object == nil {
		return nil
	}
	err := m.store.Begin(ctx, m.job, object)
	if err == nil {
		m.mu.Lock()
		m.unbegun = nil
		m.mu.Unlock()
	}
	return err
}

func (m *maker) add(e *upstream.Event) {
	if !m.turn.Request.Stream {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting.Body) == 0 {
		m.waiting.First = m.next
	}
	m.waiting.Last = m.next
	m.waiting.Body = append(m.waiting.Body, e.Frame()...)
	m.next++
}

// flush stores the events that wait, and reports whether there were any.
func (m *maker) flush(ctx context.Context) (bool, error) {
	m.mu.Lock()
	events := m.waiting
	m.mu.Unlock()
	if len(events.Body) == 0 {
		return false, nil
	}
	if err := m.store.AppendEvents(ctx, m.job, events, lease); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Others may have come in between.
	m.waiting = store.Events{First: events.Last + 1, Last: m.waiting.Last, Body: m.waiting.Body[len(events.Body):]}
	return true, nil
}

// finish stores how the turn has ended.
func (m *maker) finish(ctx context.Context, end *turn.Outcome) {
	ctx = context.WithoutCancel(ctx)
	for _, e := range m.turn.LastEvents(end) {
		m.add(e)
	}
	o := m.turn.StoredOutcome(end)
	o.Events = m.waiting
	for wait := firstRetry; ; wait = min(2*wait, renewal) { // soon, before another replica takes the response over
		attempt, cancel := context.WithTimeout(ctx, renewTimeout)
		err := m.store.Finish(attempt, m.job, o)
		cancel()
		if err == nil {
			m.service.metrics.Finished(end.Status)
		}
		if err == nil || errors.Is(err, store.ErrLost) {
			return
		}
		m.service.log.Warn("a response that has ended was not stored; trying again", "response", m.job.ID, "error", err)
		if !m.service.pause(ctx, wait) {
			return
		}
	}
}

// fail ends the response with an error. Its stream has the events that a client expects.
func (m *maker) fail(ctx context.Context, message string) {
	m.finish(ctx, m.turn.Failed(message, func(e *upstream.Event) error { m.add(e); return nil }))
}

// resume takes over what is stored of the response: the object, the finished items of the stream, and the number of
// the next event.
func (m *maker) resume(ctx context.Context) {
	m.share.Insists = true
	if r, err := m.store.Object(ctx, m.job.Tenant, m.job.ID, m.share.Take); err == nil {
		m.turn.TakeStored(r)
	}
	for ended := false; !ended; {
		batches, last, err := m.store.EventsAfter(ctx, m.job.Tenant, m.job.ID, m.next-1, m.share.Hold)
		if err != nil {
			m.service.log.Warn("the events of a response cannot be read", "response", m.job.ID, "error", err)
			break
		}
		size := int64(0)
		for i := range batches {
			size += int64(len(batches[i].Body))
			m.turn.TakeEvents(batches[i].Body)
			m.next = batches[i].Last + 1
		}
		m.share.Drop(size)
		ended = last || len(batches) == 0
	}
	if m.job.Begun {
		m.turn.Sent(max(m.next, 1)) // the client has had the first event
	}
}

// ignoreLost logs an error, unless it is that the response is another's.
func (m *maker) ignoreLost(err error) {
	if err != nil && !errors.Is(err, store.ErrLost) {
		m.service.log.Warn("a response in the background was not given back", "response", m.job.ID, "error", err)
	}
}
