package ledger

import (
	"cmp"
	"container/list"
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Bounds of a [Memory].
const (
	// MaxRequests is how many requests are remembered. Beyond it those that were settled first are forgotten; a ledger
	// whose requests are all open is full.
	MaxRequests = 1 << 20
	// MaxBuckets is how many limits may be in use at once; one of which nothing is used is not kept.
	MaxBuckets = 1 << 20
	// MaxBooks is how many pairs of a client and a model have a book of their own. The others share one without names.
	MaxBooks = 1 << 17
)

// Memory is the [Ledger] of one process.
type Memory struct {
	slot   time.Duration
	start  time.Time
	now    func() time.Time
	bounds bounds

	mu       sync.Mutex
	requests map[requestKey]*request
	// Requests in each list are ordered by the time at which they came into it.
	open, lost, settled list.List
	buckets             map[bucketKey]*bucket
	sweepAt             int     // the number of buckets at which empty ones are removed
	swept               float64 // when they were
	running             map[slotKey]int64
	books               map[bookKey]*Book
}

type (
	requestKey struct{ client, id string }
	slotKey    struct{ client, model string }
	bookKey    struct{ client, model string }
	bucketKey  struct {
		client, model string
		resource      Resource
		window        time.Duration
	}
)

// request is what is remembered of one.
type request struct {
	key    requestKey
	model  string
	tokens int64
	at     float64 // of the reservation, then of the settlement
	ends   []chargeEnd
	in     *list.List
	place  *list.Element
}

// chargeEnd is the end of the charge of one limit of tokens.
type chargeEnd struct {
	limit Limit
	end   float64
}

// bounds are MaxRequests, MaxBuckets and MaxBooks; tests have less.
type bounds struct{ requests, buckets, books int }

// NewMemory returns an empty ledger.
func NewMemory(o Options) *Memory {
	m := &Memory{
		slot: cmp.Or(o.SlotLifetime, DefaultSlotLifetime), now: o.Now,
		bounds:   bounds{MaxRequests, MaxBuckets, MaxBooks},
		requests: map[requestKey]*request{},
		buckets:  map[bucketKey]*bucket{}, sweepAt: 1024, running: map[slotKey]int64{}, books: map[bookKey]*Book{},
	}
	if m.now == nil {
		m.now = time.Now
	}
	m.start = m.now()
	return m
}

// clock returns the time in microseconds. A process's time does not go back.
func (m *Memory) clock() float64 { return micros(m.now().Sub(m.start)) }

// Reserve implements [Ledger].
func (m *Memory) Reserve(_ context.Context, r Reservation) (Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	m.expire(now)
	key := requestKey{r.Client, r.ID}
	if m.requests[key] != nil {
		return Answer{States: m.states(&r, now)}, nil
	}
	if !m.room(now, len(r.Limits)) {
		return Answer{}, ErrFull
	}
	book := m.book(r.Client, r.Model)
	if refusal := m.refusal(&r, now); refusal != nil {
		book.Refused++
		return Answer{Refusal: refusal, States: m.states(&r, now)}, nil
	}
	q := &request{key: key, model: r.Model, tokens: r.Tokens, at: now}
	m.requests[key] = q
	m.move(q, &m.open)
	m.occupy(q, 1)
	for _, l := range r.Limits {
		switch l.Resource {
		case Requests:
			m.bucket(r.Client, &l, now).charge(&l, 1, now)
		case Tokens:
			q.ends = append(q.ends, chargeEnd{l, m.bucket(r.Client, &l, now).charge(&l, r.Tokens, now)})
		}
	}
	book.open(r.Tokens)
	return Answer{States: m.states(&r, now)}, nil
}

// refusal returns why a reservation has no room, or nil.
func (m *Memory) refusal(r *Reservation, now float64) (worst *Refusal) {
	for _, l := range r.Limits {
		refusal := Refusal{Limit: l, Requested: 1}
		switch l.Resource {
		case Concurrency:
			refusal.Used = m.running[slotKey{r.Client, l.Model}]
			if refusal.Used < l.Max {
				continue
			}
		default:
			if l.Resource == Tokens {
				refusal.Requested = r.Tokens
			}
			b := m.bucket(r.Client, &l, now)
			if refusal.Requested == 0 {
				continue
			}
			if refusal.Never = refusal.Requested > l.Max; !refusal.Never {
				wait := b.excess(&l, refusal.Requested, now)
				if wait <= 0 {
					continue
				}
				refusal.Wait = duration(wait + slack)
			}
			refusal.Used = b.used(&l, now)
		}
		if worst == nil || !worst.Never && (refusal.Never || refusal.Wait > worst.Wait) {
			worst = &refusal
		}
	}
	return worst
}

// Settle implements [Ledger].
func (m *Memory) Settle(_ context.Context, s Settlement) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	m.expire(now)
	key := requestKey{s.Client, s.ID}
	q := m.requests[key]
	switch {
	case q == nil:
		if !m.room(now, len(s.Limits)) {
			return ErrFull
		}
		used := max(s.Tokens, 0)
		m.charge(s.Client, s.Limits, used, now)
		book := m.book(s.Client, s.Model)
		book.Unreserved += used
		book.Used += used
		q = &request{key: key, model: s.Model}
		m.requests[key] = q
	case q.in == &m.settled:
		return nil
	default:
		used := s.Tokens
		if used == Unknown {
			used = q.tokens
		}
		m.release(q, now, used)
		if used > q.tokens {
			m.charge(s.Client, s.Limits, used-q.tokens, now)
		}
		m.book(s.Client, q.model).settle(q.tokens, used)
	}
	q.at, q.ends = now, nil
	m.move(q, &m.settled)
	return nil
}

// Withdraw implements [Ledger].
func (m *Memory) Withdraw(_ context.Context, client, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	q := m.requests[requestKey{client, id}]
	if q == nil || q.in == &m.settled {
		return nil
	}
	m.release(q, now, 0)
	m.book(client, q.model).settle(q.tokens, 0)
	m.forget(q)
	return nil
}

// release ends a reservation's slot, and gives back what was not used.
func (m *Memory) release(q *request, now float64, used int64) {
	lost := q.in == &m.lost
	if !lost {
		m.occupy(q, -1)
	}
	m.book(q.key.client, q.model).close(q.tokens, lost)
	for _, c := range q.ends {
		if b := m.buckets[keyOf(q.key.client, &c.limit)]; b != nil && used < q.tokens {
			b.refund(&c.limit, q.tokens-used, q.at, c.end, now)
		}
	}
}

// charge takes tokens from the limits that count them, whether or not they have room.
func (m *Memory) charge(client string, limits []Limit, tokens int64, now float64) {
	for _, l := range limits {
		if l.Resource == Tokens {
			m.bucket(client, &l, now).charge(&l, tokens, now)
		}
	}
}

// Books implements [Ledger].
func (m *Memory) Books(context.Context) ([]Book, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire(m.clock())
	var books []Book
	for _, b := range m.books {
		books = append(books, *b)
	}
	SortBooks(books)
	return books, nil
}

// SortBooks puts books in order.
func SortBooks(books []Book) {
	slices.SortFunc(books, func(a, b Book) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Model, b.Model))
	})
}

// Ready implements [Ledger].
func (m *Memory) Ready(context.Context) error { return nil }

// move puts a request at the end of another list.
func (m *Memory) move(q *request, to *list.List) {
	if q.in != nil {
		q.in.Remove(q.place)
	}
	q.in, q.place = to, to.PushBack(q)
}

func (m *Memory) forget(q *request) {
	q.in.Remove(q.place)
	delete(m.requests, q.key)
}

// expire ends what has lasted too long.
func (m *Memory) expire(now float64) {
	for q := m.older(&m.open, now-micros(m.slot)); q != nil; q = m.older(&m.open, now-micros(m.slot)) {
		m.occupy(q, -1)
		m.book(q.key.client, q.model).lose(q.tokens)
		m.move(q, &m.lost)
	}
	for q := m.older(&m.lost, now-micros(OpenLifetime)); q != nil; q = m.older(&m.lost, now-micros(OpenLifetime)) {
		m.forget(q)
	}
	for q := m.older(&m.settled, now-micros(SettledLifetime)); q != nil; q = m.older(&m.settled,
		now-micros(SettledLifetime)) {
		m.forget(q)
	}
}

// older returns the first request of a list if it came into it before a time.
func (m *Memory) older(in *list.List, than float64) *request {
	if first := in.Front(); first != nil {
		if q := first.Value.(*request); q.at <= than {
			return q
		}
	}
	return nil
}

// room makes room for one request more and for some buckets, and reports whether there is any.
func (m *Memory) room(now float64, buckets int) bool {
	if len(m.requests) >= m.bounds.requests {
		oldest := cmp.Or(m.settled.Front(), m.lost.Front())
		if oldest == nil {
			return false
		}
		m.forget(oldest.Value.(*request))
	}
	if len(m.buckets)+buckets > m.sweepAt && (m.swept == 0 || now-m.swept > micros(time.Second)) {
		m.swept = now
		for key, b := range m.buckets {
			if b.full <= now {
				delete(m.buckets, key)
			}
		}
		m.sweepAt = min(max(1024, 2*len(m.buckets)+buckets), m.bounds.buckets)
	}
	return len(m.buckets)+buckets <= m.bounds.buckets
}

func keyOf(client string, l *Limit) bucketKey {
	return bucketKey{client, l.Model, l.Resource, l.Window}
}

func (m *Memory) bucket(client string, l *Limit, now float64) *bucket {
	key := keyOf(client, l)
	b := m.buckets[key]
	if b == nil {
		b = &bucket{full: now, born: now}
		m.buckets[key] = b
	}
	return b
}

// occupy adds to the slots that a request takes: one of its client's, and one of its client's for the model.
func (m *Memory) occupy(q *request, n int64) {
	for _, model := range []string{"", q.model} {
		key := slotKey{q.key.client, model}
		if m.running[key] += n; m.running[key] == 0 {
			delete(m.running, key)
		}
	}
}

func (m *Memory) book(client, model string) *Book {
	key := bookKey{client, model}
	b := m.books[key]
	if b == nil && len(m.books) >= m.bounds.books {
		key = bookKey{}
		b = m.books[key]
	}
	if b == nil {
		b = &Book{Client: key.client, Model: key.model}
		m.books[key] = b
	}
	return b
}

func (m *Memory) states(r *Reservation, now float64) []State {
	states := make([]State, len(r.Limits))
	for i := range r.Limits {
		l := &r.Limits[i]
		if l.Resource == Concurrency {
			states[i].Remaining = max(l.Max-m.running[slotKey{r.Client, l.Model}], 0)
			continue
		}
		b := m.buckets[keyOf(r.Client, l)]
		if b == nil {
			b = &bucket{full: math.Inf(-1)}
		}
		states[i] = b.state(l, now)
	}
	return states
}
