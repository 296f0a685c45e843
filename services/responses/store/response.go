package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Item is an item of a response's input or output, or of a conversation.
type Item struct {
	ID   string
	Type string
	// Body is the item as JSON, with its id.
	Body []byte
}

// Response is a response without its items.
type Response struct {
	ID     string
	Status string
	// Background reports whether it was made in the background, and Streamed whether its events are kept.
	Background, Streamed bool
	CreatedAt            time.Time
	// Object is the object as JSON.
	Object []byte

	key int64
}

// Past is what a new response continues. The zero value is the beginning of a chain.
type Past struct {
	// Items are the items of the past, the oldest first.
	Items []Item
	// Turns is the number of responses in the chain.
	Turns int64

	previous, conversation sql.NullInt64
	bytes                  int64
	// unlocked reports whether the conversation has been given back.
	unlocked bool
}

// Record is a response as it is stored.
type Record struct {
	Response
	Input, Output []Item
	// Retention is how long it is kept.
	Retention time.Duration
	// Past is what it continues.
	Past *Past
	// DropReasoning removes the reasoning of the chain, because an answer has followed it.
	DropReasoning bool
	// Compacted reports whether the output stands for everything before it too.
	Compacted bool
}

func lostUnless(held bool) error {
	if held {
		return nil
	}
	return ErrLost
}

// Insert stores a response that has ended, with its items, and adds the items to its conversation. The error is
// [ErrLost] if the response no longer has the lock of its conversation, or if that was deleted. It gives the
// conversation back if the response has its lock, so that a client with the answer can ask on.
func (s *Store) Insert(ctx context.Context, t Tenant, r *Record) error {
	err := s.change(ctx, func(tx *sql.Tx) error {
		past := r.past()
		// First, so that nobody else can change or delete the conversation until the turn is in it.
		if held, err := s.unlock(ctx, tx, past.conversation, r.ID); err != nil || !held {
			return errors.Join(err, lostUnless(held))
		}
		if err := s.dropReasoning(ctx, tx, r, &past); err != nil {
			return err
		}
		key, err := s.insertResponse(ctx, tx, t, r, past, nil)
		if err != nil {
			return err
		}
		return s.insertTurn(ctx, tx, t, key, past, r.Input, r.Output, r.Compacted)
	})
	if err == nil && r.Past != nil {
		r.Past.unlocked = true
	}
	return err
}

// insertResponse stores a response without its items. request is kept for one that runs in the background.
func (s *Store) insertResponse(ctx context.Context, tx *sql.Tx, t Tenant, r *Record, past Past, request []byte) (key int64,
	err error) {
	object, err := s.seal(objectRecord, t, r.ID, r.Object)
	if err != nil {
		return 0, err
	}
	bytes := size(r.Output)
	if !r.Compacted {
		bytes += past.bytes + size(r.Input)
	}
	err = s.row(ctx, tx, `INSERT INTO responses (tenant, id, previous, conversation, created_at, expires_at, status,
		background, streamed, chain_bytes, chain_turns, compacted, object, request)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key`,
		[]any{t[:], r.ID, past.previous, past.conversation, r.CreatedAt.UnixMilli(), s.now().Add(r.Retention).UnixMilli(),
			r.Status, r.Background, r.Streamed, bytes, past.Turns + 1, r.Compacted, object, request}, &key)
	return key, err
}

func (r *Record) past() Past {
	if r.Past == nil {
		return Past{}
	}
	return *r.Past
}

// insertTurn stores the items of a response.
func (s *Store) insertTurn(ctx context.Context, tx *sql.Tx, t Tenant, key int64, past Past, input, output []Item,
	compacted bool) error {
	owner := sql.NullInt64{Int64: key, Valid: true}
	if err := s.insertItems(ctx, tx, t, owner, past.conversation, input, false); err != nil {
		return err
	}
	if err := s.insertItems(ctx, tx, t, owner, past.conversation, output, true); err != nil {
		return err
	}
	if compacted {
		return s.restart(ctx, tx, past.conversation, key)
	}
	return s.grow(ctx, tx, past.conversation, size(input)+size(output))
}

// dropReasoning removes the reasoning of the past, if the record says so, and subtracts its size.
func (s *Store) dropReasoning(ctx context.Context, tx *sql.Tx, r *Record, past *Past) error {
	if !r.DropReasoning || !past.previous.Valid && !past.conversation.Valid {
		return nil
	}
	statement, of := chainUntil("key = ?", "compacted")+"DELETE FROM items WHERE type = 'reasoning' AND (response IN "+
		"(SELECT key FROM chain WHERE NOT compacted) OR output AND response IN (SELECT key FROM chain))", past.previous
	if past.conversation.Valid {
		statement, of = "DELETE FROM items WHERE type = 'reasoning' AND conversation = ?", past.conversation
	}
	dropped, err := s.removeItems(ctx, tx, statement, of)
	if err != nil {
		return err
	}
	past.bytes -= dropped
	return s.recount(ctx, tx, past.conversation)
}

// removeItems runs a statement that deletes items, and returns their size.
func (s *Store) removeItems(ctx context.Context, tx *sql.Tx, statement string, args ...any) (total int64, err error) {
	err = s.each(ctx, tx, statement+" RETURNING bytes", args, func(rows *sql.Rows) error {
		n := int64(0)
		err := rows.Scan(&n)
		total += n
		return err
	})
	return total, err
}

func size(items []Item) (bytes int64) {
	for i := range items {
		bytes += int64(len(items[i].Body))
	}
	return bytes
}

// maxRows is how many items one statement inserts. SQLite allows 32,766 arguments.
const maxRows = 500

func (s *Store) insertItems(ctx context.Context, tx *sql.Tx, t Tenant, response, conversation sql.NullInt64, items []Item,
	output bool) error {
	for len(items) > 0 {
		now := items[:min(len(items), maxRows)]
		items = items[len(now):]
		args := make([]any, 0, 8*len(now))
		for i := range now {
			body, err := s.seal(itemRecord, t, now[i].ID, now[i].Body)
			if err != nil {
				return err
			}
			args = append(args, t[:], now[i].ID, now[i].Type, response, conversation, output, len(now[i].Body), body)
		}
		_, err := s.exec(ctx, tx, "INSERT INTO items (tenant, id, type, response, conversation, output, bytes, body) VALUES "+
			strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?), ", len(now)-1)+"(?, ?, ?, ?, ?, ?, ?, ?)", args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// live is the condition of a response that its tenant can read.
const live = "tenant = ? AND id = ? AND expires_at > ?"

// Head returns a response without its object.
func (s *Store) Head(ctx context.Context, t Tenant, id string) (*Response, error) {
	r, _, err := s.head(ctx, s.db, live, t[:], id, s.millis())
	return r, err
}

// Object returns a response with its object.
func (s *Store) Object(ctx context.Context, t Tenant, id string, limit Limit) (*Response, error) {
	return s.find(ctx, s.db, t, id, limit)
}

// Get returns a response and its output.
func (s *Store) Get(ctx context.Context, t Tenant, id string, limit Limit) (*Response, []Item, error) {
	r, err := s.find(ctx, s.db, t, id, limit)
	if err != nil {
		return nil, nil, err
	}
	output, err := s.items(ctx, s.db, t, limit, "response = ? AND output ORDER BY key", r.key)
	return r, output, err
}

func (s *Store) find(ctx context.Context, q queries, t Tenant, id string, limit Limit) (*Response, error) {
	return s.response(ctx, q, t, limit, live, t[:], id, s.millis())
}

// head returns the response that meets a condition, without its object, and the object's size.
func (s *Store) head(ctx context.Context, q queries, condition string, args ...any) (r *Response, size int64, err error) {
	r = &Response{}
	var created int64
	err = s.row(ctx, q, "SELECT key, id, status, background, streamed, created_at, LENGTH(object) FROM responses WHERE "+
		condition, args, &r.key, &r.ID, &r.Status, &r.Background, &r.Streamed, &created, &size)
	r.CreatedAt = time.UnixMilli(created)
	return r, size, err
}

// response returns the response that meets a condition.
func (s *Store) response(ctx context.Context, q queries, t Tenant, limit Limit, condition string,
	args ...any) (*Response, error) {
	r, size, err := s.head(ctx, q, condition, args...)
	if err == nil {
		err = limit.allow(size)
	}
	var object []byte
	if err == nil { // the status goes with the object
		err = s.row(ctx, q, "SELECT status, object FROM responses WHERE key = ?", []any{r.key}, &r.Status, &object)
	}
	if err != nil {
		return nil, err
	}
	r.Object, err = s.open(objectRecord, t, r.ID, object)
	return r, err
}

// items returns items in the order of a condition.
func (s *Store) items(ctx context.Context, q queries, t Tenant, limit Limit, condition string,
	args ...any) (items []Item, err error) {
	allowed, read := int64(0), int64(0)
	if limit != nil {
		err := s.row(ctx, q, "SELECT COALESCE(SUM(bytes), 0) FROM (SELECT bytes FROM items WHERE "+condition+") AS sized",
			args, &allowed)
		if err == nil {
			err = limit.allow(allowed)
		}
		if err != nil {
			return nil, err
		}
	}
	err = s.each(ctx, q, "SELECT id, type, body FROM items WHERE "+condition, args, func(rows *sql.Rows) error {
		var item Item
		if err := rows.Scan(&item.ID, &item.Type, &item.Body); err != nil {
			return err
		}
		item.Body, err = s.open(itemRecord, t, item.ID, item.Body)
		items = append(items, item)
		if read += int64(len(item.Body)); err == nil && read > allowed { // it has been stored since
			allowed, err = read, limit.allow(read-allowed)
		}
		return err
	})
	return items, err
}

// Item returns the newest item with an id.
func (s *Store) Item(ctx context.Context, t Tenant, id string, limit Limit) (Item, error) {
	items, err := s.items(ctx, s.db, t, limit, "tenant = ? AND id = ? ORDER BY key DESC LIMIT 1", t[:], id)
	if err != nil || len(items) > 0 {
		return first(items), err
	}
	return Item{}, ErrNotFound
}

func first(items []Item) Item {
	if len(items) == 0 {
		return Item{}
	}
	return items[0]
}

// Delete removes a response that has ended. Its items stay in the conversation that they were added to.
func (s *Store) Delete(ctx context.Context, t Tenant, id string) error {
	return s.lessen(ctx, func(tx *sql.Tx) error {
		r, _, err := s.head(ctx, tx, live, t[:], id, s.millis())
		if err != nil {
			return err
		}
		if Running(r.Status) {
			return ErrRunning
		}
		return s.remove(ctx, tx, "key = ?", r.key)
	})
}

// remove removes the responses that meet a condition.
func (s *Store) remove(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	which := " IN (SELECT key FROM responses WHERE " + condition + ")"
	for _, statement := range []string{
		"DELETE FROM items WHERE conversation IS NULL AND response" + which,
		"UPDATE items SET response = NULL WHERE response" + which,
		"DELETE FROM events WHERE response" + which,
		"DELETE FROM responses WHERE key" + which,
	} {
		if _, err := s.exec(ctx, tx, statement, args...); err != nil {
			return err
		}
	}
	return nil
}
