package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"
)

// The statuses of a response that has not ended.
const (
	Queued     = "queued"
	InProgress = "in_progress"
)

// Running reports whether a response of a status has not ended.
func Running(status string) bool { return status == Queued || status == InProgress }

// place is the place of a tenant's next response among those that wait: behind the tenant's own, and level with the
// first of all others. So tenants take turns, however many responses one of them has waiting.
const place = `SELECT t.waiting, CASE WHEN t.last >= w.first THEN t.last + 1 ELSE w.first END
	FROM (SELECT COUNT(*) AS waiting, COALESCE(MAX(place), 0) AS last FROM responses WHERE request IS NOT NULL AND tenant = ?) t,
	(SELECT COALESCE(MIN(place), 0) AS first FROM responses WHERE request IS NOT NULL) w`

// Enqueue stores a response that is to be made in the background. request is what its maker needs. The error is
// [ErrQueueFull] if the tenant has as many that have not ended as most says.
func (s *Store) Enqueue(ctx context.Context, t Tenant, r *Record, request []byte, most int) error {
	request, err := s.seal(requestRecord, t, r.ID, request)
	if err != nil {
		return err
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		waiting, next := 0, int64(0)
		if err := s.row(ctx, tx, place, []any{t[:]}, &waiting, &next); err != nil {
			return err
		}
		if waiting >= most {
			return ErrQueueFull
		}
		past := r.past()
		key, err := s.insertResponse(ctx, tx, t, r, past, request)
		if err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, "UPDATE responses SET place = ? WHERE key = ?", next, key); err != nil {
			return err
		}
		// The items join their conversation when the response has ended.
		past.conversation = sql.NullInt64{}
		return s.insertTurn(ctx, tx, t, key, past, r.Input, nil, false)
	})
}

// Job is a response that the caller makes in the background. The caller has it until its lease ends.
type Job struct {
	Tenant  Tenant
	ID      string
	Request []byte
	// Begun reports whether it was begun before, by a replica that has not finished it.
	Begun bool

	key                    int64
	owner                  string
	previous, conversation sql.NullInt64
}

// Claim returns a response that waits to be made, the tenants in turn, or one whose maker has let its lease end. It
// returns nil if there is none.
func (s *Store) Claim(ctx context.Context, owner string, lease time.Duration) (*Job, error) {
	j := &Job{owner: owner}
	leave, err := s.queue(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	now := s.now()
	var tenant []byte
	err = s.row(ctx, s.db, `UPDATE responses SET owner = ?, lease_until = ? WHERE key = (SELECT key FROM responses
		WHERE request IS NOT NULL AND lease_until < ? ORDER BY place, key LIMIT 1`+s.dialect.skipLocked+`)
		RETURNING key, tenant, id, begun, previous, conversation, request`,
		[]any{owner, now.Add(lease).UnixMilli(), now.UnixMilli()},
		&j.key, &tenant, &j.ID, &j.Begun, &j.previous, &j.conversation, &j.Request)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	copy(j.Tenant[:], tenant)
	// A request that cannot be opened is returned with its job, so that the caller can end the response.
	j.Request, err = s.open(requestRecord, j.Tenant, j.ID, j.Request)
	return j, err
}

// Renew lengthens the lease of a job. The error is [ErrLost] if the response was cancelled or deleted, or if another
// replica has taken it over.
func (s *Store) Renew(ctx context.Context, j *Job, lease time.Duration) error {
	return s.owned(ctx, s.db, j, "lease_until = ?", s.now().Add(lease).UnixMilli())
}

// owned changes the response of a job that the caller still has.
func (s *Store) owned(ctx context.Context, q queries, j *Job, set string, args ...any) error {
	n, err := s.exec(ctx, q, "UPDATE responses SET "+set+" WHERE key = ? AND owner = ? AND request IS NOT NULL",
		append(args, j.key, j.owner)...)
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}

// Begin stores that a job has begun: the model is asked, and may not be asked again for it.
func (s *Store) Begin(ctx context.Context, j *Job, object []byte) error {
	object, err := s.seal(objectRecord, j.Tenant, j.ID, object)
	if err != nil {
		return err
	}
	return s.owned(ctx, s.db, j, "begun = TRUE, status = ?, object = ?", InProgress, object)
}

// Release lets any replica claim a job again after a time.
func (s *Store) Release(ctx context.Context, j *Job, after time.Duration) error {
	return s.owned(ctx, s.db, j, "lease_until = ?", s.now().Add(after).UnixMilli())
}

// JobItems returns the items before the input of a job, unless it continues a conversation, and its input.
func (s *Store) JobItems(ctx context.Context, j *Job, limit Limit) (past, input []Item, err error) {
	size := int64(0)
	err = s.row(ctx, s.db, "SELECT chain_bytes FROM responses WHERE key = ?", []any{j.key}, &size)
	if err == nil {
		err = limit.allow(size)
	}
	if err == nil && j.previous.Valid {
		past, err = s.chainItems(ctx, j.Tenant, j.previous)
	}
	if err != nil {
		return nil, nil, err
	}
	input, err = s.items(ctx, s.db, j.Tenant, nil, "response = ? AND NOT output ORDER BY key", j.key)
	return past, input, err
}

// Events are some events of a response, which follow each other.
type Events struct {
	// First and Last are their sequence numbers.
	First, Last int64
	// Body holds them as a stream has them.
	Body []byte
}

// AppendEvents stores events of a job. The error is [ErrLost] as for [Store.Renew].
func (s *Store) AppendEvents(ctx context.Context, j *Job, e Events, lease time.Duration) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		if err := s.owned(ctx, tx, j, "lease_until = ?", s.now().Add(lease).UnixMilli()); err != nil {
			return err
		}
		return s.insertEvents(ctx, tx, j.Tenant, j.ID, j.key, e)
	})
}

// insertEvents stores events of a response in batches.
func (s *Store) insertEvents(ctx context.Context, tx *sql.Tx, t Tenant, id string, key int64, e Events) error {
	for len(e.Body) > 0 {
		now := e.cut()
		body, err := s.seal(eventRecord, t, id, now.Body)
		if err != nil {
			return err
		}
		_, err = s.exec(ctx, tx, "INSERT INTO events (response, first, last, body) VALUES (?, ?, ?, ?) "+
			// They may be there: a commit whose answer was lost is tried again, perhaps with more events.
			"ON CONFLICT (response, first) DO UPDATE SET last = excluded.last, body = excluded.body", key, now.First, now.Last,
			body)
		if err != nil {
			return err
		}
	}
	return nil
}

// cut removes the first batch of the events and returns it. The batches are the same if more events follow.
func (e *Events) cut() Events {
	now := Events{First: e.First, Last: e.First - 1}
	size := 0
	for size < len(e.Body) {
		end := bytes.Index(e.Body[size:], []byte("\n\n"))
		if end += 2; end < 2 {
			end = len(e.Body) - size
		}
		if size > 0 && size+end > maxBatch {
			break
		}
		size += end
		now.Last++
	}
	if size == len(e.Body) {
		now.Last = e.Last
	}
	now.Body, e.Body, e.First = e.Body[:size], e.Body[size:], now.Last+1
	return now
}

// Outcome is how a response has ended.
type Outcome struct {
	Status string
	Object []byte
	Output []Item
	// Events are the last ones. They are not stored if there is no Body.
	Events Events
	// DropReasoning removes the reasoning of the chain, because an answer has followed it.
	DropReasoning bool
	// Compacted reports whether the output stands for everything before it too.
	Compacted bool
	// JoinConversation adds the items of the response to its conversation.
	JoinConversation bool
}

// Finish stores how a job has ended, and gives its conversation back. The error is [ErrLost] as for [Store.Renew].
func (s *Store) Finish(ctx context.Context, j *Job, o *Outcome) error {
	object, err := s.seal(objectRecord, j.Tenant, j.ID, o.Object)
	if err != nil {
		return err
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		past := Past{previous: j.previous}
		held, err := s.unlock(ctx, tx, j.conversation, j.ID)
		if err != nil {
			return err
		}
		if o.JoinConversation && held { // else it was deleted, or another response has it
			past.conversation = j.conversation
		}
		if err := s.dropReasoning(ctx, tx, &Record{DropReasoning: o.DropReasoning}, &past); err != nil {
			return err
		}
		sum, bytes := "chain_bytes + ?", past.bytes+size(o.Output) // past.bytes is minus the size of what was dropped
		if o.Compacted {
			sum, bytes = "?", size(o.Output)
		}
		err = s.owned(ctx, tx, j, "status = ?, object = ?, request = NULL, owner = '', compacted = ?, chain_bytes = "+sum,
			o.Status, object, o.Compacted, bytes)
		if err != nil {
			return err
		}
		if past.conversation.Valid {
			if err := s.joinConversation(ctx, tx, j.key, past.conversation); err != nil {
				return err
			}
		}
		if err := s.insertTurn(ctx, tx, j.Tenant, j.key, past, nil, o.Output, o.Compacted); err != nil {
			return err
		}
		return s.insertEvents(ctx, tx, j.Tenant, j.ID, j.key, o.Events)
	})
}

// joinConversation adds the input of a response to its conversation, behind what has been added since it was stored.
func (s *Store) joinConversation(ctx context.Context, tx *sql.Tx, response int64, conversation sql.NullInt64) error {
	total := int64(0)
	err := s.each(ctx, tx, `INSERT INTO items (tenant, id, type, response, conversation, output, bytes, body)
		SELECT tenant, id, type, response, ?, output, bytes, body FROM items WHERE response = ? ORDER BY key RETURNING bytes`,
		[]any{conversation, response}, func(rows *sql.Rows) error {
			n := int64(0)
			err := rows.Scan(&n)
			total += n
			return err
		})
	if err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, "DELETE FROM items WHERE response = ? AND conversation IS NULL", response); err != nil {
		return err
	}
	return s.grow(ctx, tx, conversation, total)
}

// Cancel ends a response that is made in the background. end returns the cancelled object, and the last event for a
// response whose events are kept; sequence is that event's number. The error is [ErrEnded] if the response has ended;
// the response is returned then too.
func (s *Store) Cancel(ctx context.Context, t Tenant, id string, limit Limit,
	end func(r *Response, sequence int64) (object, event []byte, err error)) (r *Response, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		if r, err = s.find(ctx, tx, t, id, limit); err != nil {
			return err
		}
		if !Running(r.Status) || !r.Background {
			return ErrEnded
		}
		// The change of the owner makes every later change of its maker fail.
		n, err := s.exec(ctx, tx, "UPDATE responses SET status = 'cancelled', request = NULL, owner = '', cancelled = TRUE "+
			"WHERE key = ? AND request IS NOT NULL", r.key)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrEnded
		}
		sequence := int64(0)
		if err := s.row(ctx, tx, "SELECT COALESCE(MAX(last) + 1, 0) FROM events WHERE response = ?", []any{r.key},
			&sequence); err != nil {
			return err
		}
		object, event, err := end(r, sequence)
		if err != nil {
			return err
		}
		r.Status, r.Object = "cancelled", object
		sealed, err := s.seal(objectRecord, t, id, object)
		if err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, "UPDATE responses SET object = ? WHERE key = ?", sealed, r.key); err != nil {
			return err
		}
		if !r.Streamed {
			return nil
		}
		return s.insertEvents(ctx, tx, t, id, r.key, Events{First: sequence, Last: sequence, Body: event})
	})
	return r, err
}

const (
	// maxBatches is how many batches of events are read at once.
	maxBatches = 16
	// maxBatch is the size of a batch, unless one event is larger, and of those that are read at once.
	maxBatch = 1 << 20
)

// EventsAfter returns events of a response whose numbers are larger than sequence, or none if there are none yet. A
// batch may begin before. limit is called with their size before they are read: 1 MiB at most, unless one batch is
// larger. ended reports whether no event follows them.
func (s *Store) EventsAfter(ctx context.Context, t Tenant, id string, sequence int64,
	limit Limit) (events []Events, ended bool, err error) {
	// The status is read first: events that are stored in between are there in the next call.
	r, err := s.Head(ctx, t, id)
	if err != nil {
		return nil, false, err
	}
	n, first, last, total, more := 0, int64(0), int64(0), int64(0), false
	err = s.each(ctx, s.db, "SELECT first, last, LENGTH(body) FROM events WHERE response = ? AND last > ? ORDER BY first "+
		"LIMIT ?", []any{r.key, sequence, maxBatches + 1}, func(rows *sql.Rows) error {
		var begins, ends, size int64
		if err := rows.Scan(&begins, &ends, &size); err != nil {
			return err
		}
		if n++; n > maxBatches || n > 1 && total+size > maxBatch {
			more = true
			return errEnough
		}
		if n == 1 {
			first = begins
		}
		last, total = begins, total+size
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) || total == 0 {
		return nil, !Running(r.Status), err
	}
	if err := limit.allow(total); err != nil {
		return nil, false, err
	}
	events, err = s.batches(ctx, t, r, first, last)
	return events, !Running(r.Status) && !more, err
}

// batches returns the batches of events that begin from first to last.
func (s *Store) batches(ctx context.Context, t Tenant, r *Response, first, last int64) (events []Events, err error) {
	err = s.each(ctx, s.db, "SELECT first, last, body FROM events WHERE response = ? AND first BETWEEN ? AND ? "+
		"ORDER BY first", []any{r.key, first, last}, func(rows *sql.Rows) error {
		var e Events
		if err := rows.Scan(&e.First, &e.Last, &e.Body); err != nil {
			return err
		}
		body, err := s.open(eventRecord, t, r.ID, e.Body)
		e.Body = body
		events = append(events, e)
		return err
	})
	return events, err
}
