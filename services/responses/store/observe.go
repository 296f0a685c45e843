package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Observer is told of each operation of a database: select, insert, update, delete, chain (a statement that follows a
// chain), begin (of a transaction, with the wait for a connection) or commit. err is the database's error, if it has
// failed.
type Observer func(operation string, took time.Duration, err error)

// timed tells the observer of a statement, or of another operation. A caller that has left is no failure, and neither
// is an id that is no text.
func (s *Store) timed(statement string, began time.Time, err error) {
	if s.observe == nil {
		return
	}
	if errors.Is(err, sql.ErrNoRows) || errors.Is(known(err), ErrNotFound) || errors.Is(err, context.Canceled) {
		err = nil
	}
	operation, _, _ := strings.Cut(statement, " ")
	if operation = strings.ToLower(operation); operation == "with" {
		operation = "chain"
	}
	s.observe(operation, time.Since(began), err)
}

// Connections returns how many connections there are to the database, and how many of them are in use.
func (s *Store) Connections() (open, inUse int) {
	stats := s.db.Stats()
	return stats.OpenConnections, stats.InUse
}

// Backlog returns how many responses wait to be made in the background, and how many are being made, by all replicas.
func (s *Store) Backlog(ctx context.Context) (waiting, running int64, err error) {
	err = s.row(ctx, s.db, `SELECT COALESCE(SUM(CASE WHEN lease_until < ? THEN 1 ELSE 0 END), 0),
		COALESCE(SUM(CASE WHEN lease_until < ? THEN 0 ELSE 1 END), 0) FROM responses WHERE request IS NOT NULL`,
		[]any{s.millis(), s.millis()}, &waiting, &running)
	return waiting, running, err
}
