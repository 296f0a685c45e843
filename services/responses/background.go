package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/seal"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/refusal"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
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

// job is what is stored of a request that is answered in the background.
type job struct {
	Fields                 map[string]json.RawMessage `json:"fields"`
	Model                  string                     `json:"model"`
	Previous, Conversation string
	Stream                 bool
	Includes               []string
	Headers                http.Header
	Created                int64
	Bound                  seal.Bound
	Sealing, Triggered     bool
	Approvals              []approval
	// Queued is the object before the model was asked.
	Queued upstream.Object
}

// enqueue stores a response that is to be made.
func (s *Service) enqueue(ctx context.Context, c *caller, t *turn, past *store.Past) *openai.Error {
	st, failure := s.stored()
	if failure != nil {
		return failure
	}
	if failure := t.readQueued(); failure != nil {
		return failure
	}
	r := t.request
	request := items.JSON(job{Fields: r.fields, Model: r.model, Previous: r.previous, Conversation: r.conversation,
		Stream: r.stream, Includes: r.includes, Headers: t.storedHeaders(), Created: t.created.Unix(),
		Bound: *t.bound, Sealing: t.sealing, Triggered: t.triggered, Approvals: t.approvals, Queued: t.last})
	err := st.Enqueue(ctx, c.tenant, &store.Record{
		Response: store.Response{ID: t.id, Status: store.Queued, Background: true, Streamed: r.stream, CreatedAt: t.created,
			Object: items.JSON(t.last)},
		Input: t.input, Retention: t.settings.Retention, Past: past}, request, s.options.Queue)
	if err != nil {
		return s.failure(err, "", refusal.StoreAway())
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
	return nil
}

// readQueued checks the request as the gateway will, and makes the object of a response that is queued.
func (t *turn) readQueued() *openai.Error {
	queued, failure := t.describe()
	if failure != nil {
		return failure
	}
	queued.Status = store.Queued
	t.last = t.object(queued)
	delete(t.last, "output")
	return nil
}

// describe checks the request as the gateway will, and returns the response without a status.
func (t *turn) describe() (*openai.Response, *openai.Error) {
	text, free := t.body(), 0
	if t.settings.Model(t.request.model).Answers.TokenIDs {
		free = len(text) / 2 // the history may hold nothing but ids, which take no memory of their own
	}
	values, _ := rawjson.Count(text, rawjson.MaxDepth, openai.MaxValues) // Open reports what is wrong
	memory := items.MemoryPerDecoded * int64(values)
	if t.share.Hold(memory) != nil {
		return nil, refusal.Overloaded("no memory for another request now")
	}
	defer t.share.Drop(memory)
	body, failure := openai.OpenWithin(text, openai.MaxValues+free)
	if failure != nil {
		return nil, failure
	}
	decoded, failure := openai.DecodeResponsesRequest(body)
	if failure != nil {
		return nil, failure
	}
	return &openai.Response{ID: t.id, Model: t.request.model, CreatedAt: t.created.Unix(), Effort: decoded.Effort,
		Echo: decoded.Echo}, nil
}

// object returns a response of the service's own making as the client gets it.
func (t *turn) object(r *openai.Response) upstream.Object {
	var o upstream.Object
	if err := json.Unmarshal(r.AppendJSON(nil), &o); err != nil {
		panic("responses: " + err.Error())
	}
	t.own(o)
	return o
}

// storedHeaders returns the headers that are stored until the model has been asked. Without encryption they are only
// those that are known to be no credentials.
func (t *turn) storedHeaders() http.Header {
	kept, now := http.Header{}, t.settings
	encrypted := t.service.options.Store.Keys != nil
	for name, values := range t.headers {
		if upstream.PassedOn(name) && (encrypted || harmless(name) || name == http.CanonicalHeaderKey(now.TenantHeader) ||
			name == http.CanonicalHeaderKey(now.ClientHeader)) {
			kept[name] = values
		}
	}
	return kept
}

func harmless(name string) bool {
	switch name {
	case "Traceparent", "Tracestate", "User-Agent", "Accept-Language", "Openai-Organization", "Openai-Project":
		return true
	}
	return strings.HasPrefix(name, "X-Harmony-")
}

// answerQueued answers with the queued response, or with its stream.
func (s *Service) answerQueued(w http.ResponseWriter, r *http.Request, c *caller, t *turn) *openai.Error {
	if !t.request.stream {
		return writeJSON(w, whole(&store.Response{Object: items.JSON(t.last)}, nil, c, nil))
	}
	st, failure := s.stored()
	if failure != nil {
		return failure
	}
	return s.follow(w, r, &followed{store: st, id: t.id, after: -1, share: c.share, tenant: c.tenant, begun: true})
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
	m := &maker{service: s, store: st, job: j}
	var request job
	if unreadable == nil {
		unreadable = json.Unmarshal(j.Request, &request)
	}
	m.turn = request.turn(s, j.ID)
	m.turn.owner, m.turn.share = j.Tenant, &quota.Share{Of: s.memory, Tenant: j.Tenant}
	defer m.turn.share.Release()
	m.turn.share.HoldAnyway(quota.Copies * int64(len(j.Request)))
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

// turn returns the turn of a stored request.
func (j *job) turn(s *Service, id string) *turn {
	t := &turn{service: s, settings: s.settings(), headers: j.Headers, bound: &j.Bound, id: id,
		created: time.Unix(j.Created, 0), last: j.Queued,
		sealing: j.Sealing, triggered: j.Triggered, loop: loop{approvals: j.Approvals},
		request: &request{fields: j.Fields, model: j.Model, previous: j.Previous, conversation: j.Conversation,
			stream: j.Stream, background: true, store: true, includes: j.Includes}}
	// The tools were read when the response was accepted. Without those that a new configuration has no more, the model
	// answers as it can.
	if !t.triggered {
		t.hosted, _ = t.settings.Operator.Take(t.request.fields, true)
	}
	return t
}
