package store

import (
	"context"
	"database/sql"
	"fmt"
)

// UsedError means that an approval has been used already.
type UsedError struct{ ID string }

// Error implements error.
func (e *UsedError) Error() string { return fmt.Sprintf("the approval of %s has been used", e.ID) }

// UseApprovals notes that the answers to questions for approval have been used: all of them, or none. Each can be used
// once. It returns a [*UsedError] for the first that has been.
func (s *Store) UseApprovals(ctx context.Context, t Tenant, ids []string) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			n, err := s.exec(ctx, tx, `INSERT INTO approvals (tenant, id, used_at) VALUES (?, ?, ?)
				ON CONFLICT (tenant, id) DO NOTHING`, t[:], id, s.millis())
			if err != nil {
				return err
			}
			if n == 0 {
				return &UsedError{id}
			}
		}
		return nil
	})
}

// approvalGrace is how long a used approval is remembered at least, in milliseconds: its question may not be stored yet.
const approvalGrace = 24 * 60 * 60 * 1000

// approvalInterval is how often used approvals are looked at, each of them, in milliseconds.
const approvalInterval = 60 * 60 * 1000

// expireApprovals forgets used approvals whose questions are gone, if it has not done so lately.
func (s *Store) expireApprovals(ctx context.Context) error {
	now, last := s.millis(), s.approvalsLooked.Load()
	if last != 0 && now-last < approvalInterval || !s.approvalsLooked.CompareAndSwap(last, now) {
		return nil
	}
	return s.lessen(ctx, func(tx *sql.Tx) error {
		_, err := s.exec(ctx, tx, `DELETE FROM approvals WHERE used_at < ? AND NOT EXISTS
			(SELECT 1 FROM items WHERE items.tenant = approvals.tenant AND items.id = approvals.id)`, now-approvalGrace)
		return err
	})
}
