package store

import (
	"context"
	"database/sql"
	"errors"
)

// chainOf begins a statement about the responses of a chain. condition chooses the newest response; the chain is that
// one and all that it continues. The database follows the chain, so a chain costs one query, whatever its length.
func chainOf(condition string) string { return chainUntil(condition, "") }

// chainUntil is like [chainOf]. With until, the chain ends with the first response of which that is true.
func chainUntil(condition, until string) string {
	if until != "" {
		until = " AND NOT c." + until
	}
	return `WITH RECURSIVE chain (key, previous, compacted) AS (
		SELECT key, previous, compacted FROM responses WHERE ` + condition + `
		UNION ALL SELECT r.key, r.previous, r.compacted FROM responses r JOIN chain c ON r.key = c.previous` + until + `) `
}

// Chain returns the items of a response and of all that it continues, back to the last compacted one, of which it has
// the output. An expired response stays in the chain of one
// that has not expired. The errors are [ErrNotFound], [ErrGap], [ErrRunning] and
// the limit's.
func (s *Store) Chain(ctx context.Context, t Tenant, id string, limit Limit) (*Past, error) {
	p := &Past{}
	status := ""
	err := s.row(ctx, s.db, "SELECT key, status, chain_bytes, chain_turns FROM responses WHERE "+live,
		[]any{t[:], id, s.millis()}, &p.previous, &status, &p.bytes, &p.Turns)
	switch {
	case err != nil:
		return nil, err
	case Running(status):
		return nil, ErrRunning
	}
	if err := limit(p.bytes); err != nil {
		return nil, err
	}
	p.Items, err = s.chainItems(ctx, t, p.previous)
	return p, err
}

// chainItems returns the items of [Store.Chain].
func (s *Store) chainItems(ctx context.Context, t Tenant, key sql.NullInt64) (items []Item, err error) {
	whole, began := false, false
	err = s.each(ctx, s.db, chainUntil("key = ?", "compacted")+`SELECT c.previous, c.compacted, i.id, i.type, i.body
		FROM chain c LEFT JOIN items i ON i.response = c.key AND (i.output OR NOT c.compacted) ORDER BY c.key, i.key`,
		[]any{key}, func(rows *sql.Rows) error {
			var previous sql.NullInt64
			var id, kind sql.NullString
			var body []byte
			compacted := false
			if err := rows.Scan(&previous, &compacted, &id, &kind, &body); err != nil {
				return err
			}
			if !began {
				whole, began = compacted || !previous.Valid, true
			}
			if !id.Valid {
				return nil // a response without items
			}
			body, err := s.open(itemRecord, t, id.String, body)
			items = append(items, Item{ID: id.String, Type: kind.String, Body: body})
			return err
		})
	if err == nil && !whole {
		err = ErrGap
	}
	return items, err
}

// Page chooses a part of a list of items.
type Page struct {
	// After is the id of the item before the first. Empty: from the beginning.
	After string
	Limit int
	// MaxBytes is the size that the items have together, unless the first is larger. 0: there is no such limit.
	MaxBytes int64
	// Allow is called with the size of the items before they are read.
	Allow Limit
	// Ascending reports whether the oldest item comes first.
	Ascending bool
}

// List is a part of a list of items.
type List struct {
	Items []Item
	// More reports whether other items follow.
	More bool
}

// InputItems returns the items that a response was made from: the items of the chain before it, and its input.
func (s *Store) InputItems(ctx context.Context, t Tenant, id string, page Page) (*List, error) {
	r, err := s.Head(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return s.list(ctx, t, chainOf("key = ?"), []any{r.key},
		"response IN (SELECT key FROM chain) AND (response <> ? OR NOT output)", []any{r.key}, page)
}

// list returns a page of the items that meet a condition. before begins the statement.
func (s *Store) list(ctx context.Context, t Tenant, before string, beforeArgs []any, condition string, args []any,
	page Page) (*List, error) {
	query := before + "SELECT key, bytes FROM items WHERE " + condition
	args = append(beforeArgs, args...)
	if page.After != "" {
		var after int64
		err := s.row(ctx, s.db, before+"SELECT key FROM items WHERE "+condition+" AND id = ? ORDER BY key DESC LIMIT 1",
			append(args[:len(args):len(args)], page.After), &after)
		if err != nil {
			return nil, afterError(err)
		}
		query += " AND key " + map[bool]string{true: ">", false: "<"}[page.Ascending] + " ?"
		args = append(args, after)
	}
	order := " ORDER BY key " + map[bool]string{true: "ASC", false: "DESC"}[page.Ascending]
	list, total, keys := &List{}, int64(0), []any{}
	err := s.each(ctx, s.db, query+order+" LIMIT ?", append(args, page.Limit+1), func(rows *sql.Rows) error {
		var key, size int64
		if err := rows.Scan(&key, &size); err != nil {
			return err
		}
		if len(keys) == page.Limit || page.MaxBytes > 0 && len(keys) > 0 && total+size > page.MaxBytes {
			list.More = true
			return errEnough
		}
		total += size
		keys = append(keys, key)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) || len(keys) == 0 {
		return list, err
	}
	if err := page.Allow.allow(total); err != nil {
		return nil, err
	}
	list.Items, err = s.items(ctx, s.db, t, nil, "key IN ("+marks(len(keys))+")"+order, keys...)
	return list, err
}

// errEnough ends the reading of a page.
var errEnough = errors.New("the page is full")

// ErrNoAfter means that the list has no item with the id [Page.After].
var ErrNoAfter = errors.New("the list has no such item")

func afterError(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrNoAfter
	}
	return err
}
