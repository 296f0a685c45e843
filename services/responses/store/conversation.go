package store

import (
	"context"
	"database/sql"
	"time"
)

// Conversation is a conversation without its items.
type Conversation struct {
	ID        string
	CreatedAt time.Time
	// Metadata is a JSON object.
	Metadata []byte

	key int64
}

// CreateConversation stores a conversation and its first items.
func (s *Store) CreateConversation(ctx context.Context, t Tenant, c *Conversation, items []Item) error {
	metadata, err := s.seal(metadataRecord, t, c.ID, c.Metadata)
	if err != nil {
		return err
	}
	return s.change(ctx, func(tx *sql.Tx) error {
		err := s.row(ctx, tx, "INSERT INTO conversations (tenant, id, created_at, metadata) VALUES (?, ?, ?, ?) RETURNING key",
			[]any{t[:], c.ID, c.CreatedAt.UnixMilli(), metadata}, &c.key)
		if err != nil {
			return err
		}
		return s.add(ctx, tx, t, c.key, items)
	})
}

// GetConversation returns a conversation.
func (s *Store) GetConversation(ctx context.Context, t Tenant, id string) (*Conversation, error) {
	return s.findConversation(ctx, s.db, t, id)
}

func (s *Store) findConversation(ctx context.Context, q queries, t Tenant, id string) (*Conversation, error) {
	c := &Conversation{ID: id}
	var created int64
	err := s.row(ctx, q, "SELECT key, created_at, metadata FROM conversations WHERE tenant = ? AND id = ?",
		[]any{t[:], id}, &c.key, &created, &c.Metadata)
	if err != nil {
		return nil, err
	}
	c.CreatedAt = time.UnixMilli(created)
	c.Metadata, err = s.open(metadataRecord, t, id, c.Metadata)
	return c, err
}

// SetMetadata replaces the metadata of a conversation.
func (s *Store) SetMetadata(ctx context.Context, t Tenant, id string, metadata []byte) (*Conversation, error) {
	sealed, err := s.seal(metadataRecord, t, id, metadata)
	if err != nil {
		return nil, err
	}
	if _, err := s.exec(ctx, s.db, "UPDATE conversations SET metadata = ? WHERE tenant = ? AND id = ?", sealed, t[:],
		id); err != nil {
		return nil, err
	}
	return s.GetConversation(ctx, t, id)
}

// DeleteConversation removes a conversation and the items that were added to it. Items of responses stay theirs.
func (s *Store) DeleteConversation(ctx context.Context, t Tenant, id string) error {
	return s.lessen(ctx, func(tx *sql.Tx) error {
		c, err := s.findConversation(ctx, tx, t, id)
		if err != nil {
			return err
		}
		return s.removeConversation(ctx, tx, c.key)
	})
}

func (s *Store) removeConversation(ctx context.Context, tx *sql.Tx, key int64) error {
	for _, statement := range []string{
		"DELETE FROM items WHERE response IS NULL AND conversation = ?",
		"UPDATE items SET conversation = NULL WHERE conversation = ?",
		"UPDATE responses SET conversation = NULL WHERE conversation = ?",
		"DELETE FROM conversations WHERE key = ?",
	} {
		if _, err := s.exec(ctx, tx, statement, key); err != nil {
			return err
		}
	}
	return nil
}

// AddItems adds items to a conversation. The error is [ErrLocked] while a response is made for it.
func (s *Store) AddItems(ctx context.Context, t Tenant, id string, items []Item) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		c, err := s.findConversation(ctx, tx, t, id)
		if err != nil {
			return err
		}
		// The response that has the lock would follow them, and not know them.
		locked := false
		if err := s.row(ctx, tx, "SELECT lock_until > ? FROM conversations WHERE key = ?", []any{s.millis(), c.key},
			&locked); err != nil {
			return err
		}
		if locked {
			return ErrLocked
		}
		return s.add(ctx, tx, t, c.key, items)
	})
}

func (s *Store) add(ctx context.Context, tx *sql.Tx, t Tenant, conversation int64, items []Item) error {
	owner := sql.NullInt64{Int64: conversation, Valid: true}
	if err := s.insertItems(ctx, tx, t, sql.NullInt64{}, owner, items, false); err != nil {
		return err
	}
	return s.grow(ctx, tx, owner, size(items))
}

// grow stores by how much a conversation has grown, so that its size is known before the items are read.
func (s *Store) grow(ctx context.Context, tx *sql.Tx, conversation sql.NullInt64, bytes int64) error {
	if !conversation.Valid || bytes == 0 {
		return nil
	}
	_, err := s.exec(ctx, tx, "UPDATE conversations SET bytes = bytes + ? WHERE key = ?", bytes, conversation)
	return err
}

// restart makes the output of a response the beginning of what a conversation's next response needs.
func (s *Store) restart(ctx context.Context, tx *sql.Tx, conversation sql.NullInt64, response int64) error {
	if !conversation.Valid {
		return nil
	}
	_, err := s.exec(ctx, tx, "UPDATE conversations SET start_item = "+
		"COALESCE((SELECT MIN(key) FROM items WHERE response = ? AND output), start_item) WHERE key = ?", response, conversation)
	if err != nil {
		return err
	}
	return s.recount(ctx, tx, conversation)
}

// recount stores the size of a conversation from which items were removed.
func (s *Store) recount(ctx context.Context, tx *sql.Tx, conversation sql.NullInt64) error {
	if !conversation.Valid {
		return nil
	}
	_, err := s.exec(ctx, tx, "UPDATE conversations SET bytes = (SELECT COALESCE(SUM(i.bytes), 0) FROM items i "+
		"WHERE i.conversation = conversations.key AND i.key >= conversations.start_item) WHERE key = ?", conversation)
	return err
}

// ConversationItems returns items of a conversation.
func (s *Store) ConversationItems(ctx context.Context, t Tenant, id string, page Page) (*List, error) {
	c, err := s.GetConversation(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return s.list(ctx, t, "", nil, "conversation = ?", []any{c.key}, page)
}

// ConversationItem returns an item of a conversation.
func (s *Store) ConversationItem(ctx context.Context, t Tenant, id, item string, limit Limit) (Item, error) {
	c, err := s.GetConversation(ctx, t, id)
	if err != nil {
		return Item{}, err
	}
	items, err := s.items(ctx, s.db, t, limit, "conversation = ? AND id = ? ORDER BY key DESC LIMIT 1", c.key, item)
	if err == nil && len(items) == 0 {
		err = ErrNotFound
	}
	return first(items), err
}

// DeleteItem removes an item from a conversation, and from the response that it came with. It returns the conversation.
func (s *Store) DeleteItem(ctx context.Context, t Tenant, id, item string) (c *Conversation, err error) {
	err = s.lessen(ctx, func(tx *sql.Tx) error {
		if c, err = s.findConversation(ctx, tx, t, id); err != nil {
			return err
		}
		n, err := s.removeItems(ctx, tx, "DELETE FROM items WHERE conversation = ? AND id = ?", c.key, item)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return s.recount(ctx, tx, sql.NullInt64{Int64: c.key, Valid: true})
	})
	return c, err
}

// Lock takes a conversation for a response that is being made, and returns its items from the last compaction on. The
// caller renews the lock with [Store.RenewLock] before it ends, and gives it back with [Store.Unlock]. The errors are
// [ErrNotFound], [ErrLocked] and the limit's.
func (s *Store) Lock(ctx context.Context, t Tenant, id, owner string, length time.Duration, limit Limit) (*Past, error) {
	p, start := &Past{}, int64(0)
	now := s.now()
	n, err := s.exec(ctx, s.db, "UPDATE conversations SET lock_owner = ?, lock_until = ? WHERE tenant = ? AND id = ? "+
		"AND (lock_until < ? OR lock_owner = ?)", owner, now.Add(length).UnixMilli(), t[:], id, now.UnixMilli(), owner)
	if err != nil {
		return nil, err
	}
	if err := s.row(ctx, s.db, "SELECT key, bytes, start_item FROM conversations WHERE tenant = ? AND id = ?",
		[]any{t[:], id}, &p.conversation, &p.bytes, &start); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, ErrLocked
	}
	if err := limit(p.bytes); err != nil {
		return nil, s.unlockAfter(ctx, p, owner, err)
	}
	if p.Items, err = s.items(ctx, s.db, t, nil, "conversation = ? AND key >= ? ORDER BY key", p.conversation,
		start); err != nil {
		return nil, s.unlockAfter(ctx, p, owner, err)
	}
	return p, nil
}

func (s *Store) unlockAfter(ctx context.Context, p *Past, owner string, err error) error {
	if unlock := s.Unlock(ctx, p, owner); unlock != nil {
		return unlock
	}
	return err
}

// RenewLock lengthens a lock. The error is [ErrLost] if another has it.
func (s *Store) RenewLock(ctx context.Context, p *Past, owner string, length time.Duration) error {
	n, err := s.exec(ctx, s.db, "UPDATE conversations SET lock_until = ? WHERE key = ? AND lock_owner = ?",
		s.now().Add(length).UnixMilli(), p.conversation, owner)
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}

// Unlock gives a conversation back.
func (s *Store) Unlock(ctx context.Context, p *Past, owner string) error {
	if p.unlocked {
		return nil
	}
	_, err := s.unlock(ctx, s.db, p.conversation, owner)
	return err
}

// unlock gives a conversation back, and reports whether owner had it. No conversation is one that everybody has.
func (s *Store) unlock(ctx context.Context, q queries, conversation sql.NullInt64, owner string) (held bool, err error) {
	if !conversation.Valid {
		return true, nil
	}
	n, err := s.exec(ctx, q, "UPDATE conversations SET lock_owner = '', lock_until = 0 WHERE key = ? AND lock_owner = ?",
		conversation, owner)
	return n == 1, err
}

// Peek returns the past of a response that will continue a conversation later: it has no items.
func (s *Store) Peek(ctx context.Context, t Tenant, id string) (*Past, error) {
	p := &Past{}
	err := s.row(ctx, s.db, "SELECT key FROM conversations WHERE tenant = ? AND id = ?", []any{t[:], id}, &p.conversation)
	return p, err
}

// InConversation reports whether the past is a conversation's.
func (p *Past) InConversation() bool { return p.conversation.Valid }
