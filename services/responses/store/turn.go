package store

import (
	"context"
	"database/sql"
	"math"
)

// Turn is a response with its own input and output.
type Turn struct {
	Response
	Input, Output []Item
}

// Turn returns a response with its own input and output.
func (s *Store) Turn(ctx context.Context, t Tenant, id string) (*Turn, error) {
	r, err := s.find(ctx, s.db, t, id, nil)
	if err != nil {
		return nil, err
	}
	return s.turn(ctx, t, r)
}

func (s *Store) turn(ctx context.Context, t Tenant, r *Response) (*Turn, error) {
	input, err := s.items(ctx, s.db, t, nil, "response = ? AND NOT output ORDER BY key", r.key)
	if err != nil {
		return nil, err
	}
	output, err := s.items(ctx, s.db, t, nil, "response = ? AND output ORDER BY key", r.key)
	return &Turn{Response: *r, Input: input, Output: output}, err
}

// Turns calls visit for a response and for all that it continues, the oldest first. An expired response stays in the
// chain of one that has not expired. If the oldest is in a conversation, a turn without a response comes before it. Its
// input is what was in the conversation before.
func (s *Store) Turns(ctx context.Context, t Tenant, id string, visit func(*Turn) error) error {
	r, err := s.find(ctx, s.db, t, id, nil)
	if err != nil {
		return err
	}
	keys, err := s.chainKeys(ctx, r.key)
	if err != nil {
		return err
	}
	before, err := s.items(ctx, s.db, t, nil, "conversation = (SELECT conversation FROM responses WHERE key = ?) AND "+
		"key < COALESCE((SELECT MIN(key) FROM items WHERE response = ?), ?) ORDER BY key", keys[0], keys[0],
		int64(math.MaxInt64))
	if err == nil && len(before) > 0 {
		err = visit(&Turn{Input: before})
	}
	if err != nil {
		return err
	}
	for _, key := range keys {
		r, err := s.response(ctx, s.db, t, nil, "key = ?", key)
		if err != nil {
			return err
		}
		turn, err := s.turn(ctx, t, r)
		if err == nil {
			err = visit(turn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chainKeys returns the keys of a response and of all that it continues, the oldest first.
func (s *Store) chainKeys(ctx context.Context, key int64) (keys []int64, err error) {
	err = s.each(ctx, s.db, chainOf("key = ?")+"SELECT key FROM chain ORDER BY key", []any{key},
		func(rows *sql.Rows) error {
			err := rows.Scan(&key)
			keys = append(keys, key)
			return err
		})
	return keys, err
}
