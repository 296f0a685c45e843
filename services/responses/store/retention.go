package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// batch is how many responses one transaction of [Store.Expire] removes, so that it holds no lock for long.
const batch = 500

// Expire removes responses whose retention has ended, and the events of responses that were created before events. A
// response stays while one that continues it stays. It returns how many responses it has removed.
func (s *Store) Expire(ctx context.Context, events time.Time) (removed int64, err error) {
	if err := s.lessen(ctx, func(tx *sql.Tx) error {
		_, err := s.exec(ctx, tx, `DELETE FROM events WHERE response IN
			(SELECT key FROM responses WHERE streamed AND created_at < ? AND request IS NULL)`, events.UnixMilli())
		return err
	}); err != nil {
		return 0, err
	}
	if err := s.expireApprovals(ctx); err != nil {
		return 0, err
	}
	for {
		n := int64(0)
		err := s.lessen(ctx, func(tx *sql.Tx) error {
			var keys []any
			err := s.each(ctx, tx, `SELECT key FROM responses r WHERE expires_at <= ? AND request IS NULL
				AND NOT EXISTS (SELECT 1 FROM responses c WHERE c.previous = r.key) ORDER BY key LIMIT ?`,
				[]any{s.millis(), batch}, func(rows *sql.Rows) error {
					key := int64(0)
					err := rows.Scan(&key)
					keys = append(keys, key)
					return err
				})
			if err != nil || len(keys) == 0 {
				return err
			}
			n = int64(len(keys))
			return s.remove(ctx, tx, "key IN ("+marks(len(keys))+")", keys...)
		})
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

// marks returns n arguments of a statement.
func marks(n int) string {
	b := make([]byte, 0, 3*n)
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '?')
	}
	return string(b)
}

// Counts is how much a tenant has stored.
type Counts struct{ Responses, Conversations, Items int64 }

// DeleteTenant removes everything that a tenant has stored.
func (s *Store) DeleteTenant(ctx context.Context, t Tenant) (c Counts, err error) {
	err = s.lessen(ctx, func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, "DELETE FROM events WHERE response IN (SELECT key FROM responses WHERE tenant = ?)",
			t[:]); err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, "DELETE FROM approvals WHERE tenant = ?", t[:]); err != nil {
			return err
		}
		for table, count := range map[string]*int64{"items": &c.Items, "responses": &c.Responses,
			"conversations": &c.Conversations} {
			if *count, err = s.exec(ctx, tx, "DELETE FROM "+table+" WHERE tenant = ?", t[:]); err != nil {
				return err
			}
		}
		return nil
	})
	return c, err
}

// Export calls each for everything that a tenant has stored: responses with their input and output, then conversations
// with their items.
func (s *Store) Export(ctx context.Context, t Tenant, response func(*Turn) error,
	conversation func(c *Conversation, items []Item) error) error {
	ids := func(table string) (list []string, err error) {
		err = s.each(ctx, s.db, "SELECT id FROM "+table+" WHERE tenant = ? ORDER BY key", []any{t[:]},
			func(rows *sql.Rows) error {
				id := ""
				err := rows.Scan(&id)
				list = append(list, id)
				return err
			})
		return list, err
	}
	responses, err := ids("responses")
	if err != nil {
		return err
	}
	for _, id := range responses {
		turn, err := s.Turn(ctx, t, id)
		if errors.Is(err, ErrNotFound) {
			continue // it has expired
		}
		if err != nil {
			return err
		}
		if err := response(turn); err != nil {
			return err
		}
	}
	conversations, err := ids("conversations")
	if err != nil {
		return err
	}
	for _, id := range conversations {
		c, err := s.GetConversation(ctx, t, id)
		if err != nil {
			return err
		}
		items, err := s.items(ctx, s.db, t, nil, "conversation = ? ORDER BY key", c.key)
		if err != nil {
			return err
		}
		if err := conversation(c, items); err != nil {
			return err
		}
	}
	return nil
}
