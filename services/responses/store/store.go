package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/seal"
)

// Tenant is the owner of a record. It is the hash of what names the tenant in requests, because that may be a secret.
type Tenant [16]byte

// TenantOf returns the tenant that a header's value names. "" is a tenant too, for requests without the header.
func TenantOf(value string) Tenant {
	sum := sha256.Sum256([]byte(value))
	return Tenant(sum[:16])
}

// The errors that callers distinguish. Every other error is of the database.
var (
	// ErrNotFound means that there is no such record, that it has expired, or that another tenant has it.
	ErrNotFound = errors.New("not found")
	// ErrGap means that a response, or one before it in its chain, continues a response that has been deleted.
	ErrGap = errors.New("an earlier response of the chain has been deleted")
	// ErrRunning means that the response has not ended.
	ErrRunning = errors.New("the response has not ended")
	// ErrEnded means that the response has ended.
	ErrEnded = errors.New("the response has ended")
	// ErrLocked means that another response is being made for the conversation.
	ErrLocked = errors.New("another response is being made for the conversation")
	// ErrQueueFull means that a tenant has too many responses that have not been made.
	ErrQueueFull = errors.New("too many responses of the tenant wait")
	// ErrFull means that the database has no room for a change. Removing something is a change as well: it needs the
	// reserve.
	ErrFull = errors.New("the database is full")
	// ErrLost means that the caller's lease has ended, and another replica may have taken the record over.
	ErrLost = errors.New("the lease has ended")
)

// TooLargeError means that a chain or a conversation is larger than the caller can use.
type TooLargeError struct {
	// Bytes is the size of all its items, and Limit the largest that the caller can use.
	Bytes, Limit int64
}

// Error implements error.
func (e *TooLargeError) Error() string { return fmt.Sprintf("%d bytes of items", e.Bytes) }

// Limit is called with the size of texts before they are read. If it returns an error, they are not. Nil: everything is
// read.
type Limit func(bytes int64) error

// allow calls the limit for texts of a size.
func (l Limit) allow(bytes int64) error {
	if l == nil || bytes == 0 {
		return nil
	}
	return l(bytes)
}

// AtMost returns a limit of a size. Its error is a [TooLargeError].
func AtMost(bytes int64) Limit {
	return func(size int64) error {
		if size > bytes {
			return &TooLargeError{Bytes: size, Limit: bytes}
		}
		return nil
	}
}

// CorruptError means that a record cannot be read.
type CorruptError struct {
	// Record names the record: its kind and its id.
	Record string
	Err    error
}

// Error implements error.
func (e *CorruptError) Error() string { return e.Record + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// Store is a database of responses and conversations. Its methods may be called by any goroutine.
type Store struct {
	db      *sql.DB
	dialect *dialect
	keys    *seal.Keys
	now     func() time.Time
	observe Observer
	// line holds the caller that writes to SQLite. The others wait in the order in which they came; SQLite itself lets
	// them try again after pauses, and some would wait a hundred times as long as others. Nil for PostgreSQL.
	line chan struct{}
	// reserve is what removals need on a full disk.
	reserve reserve
	// approvalsLooked is when used approvals were last looked at, in milliseconds since 1970.
	approvalsLooked atomic.Int64
}

// queue waits until the caller may write, and returns what it then calls.
func (s *Store) queue(ctx context.Context) (leave func(), err error) {
	if s.line == nil {
		return func() {}, nil
	}
	select {
	case s.line <- struct{}{}:
		return func() { <-s.line }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Encrypted reports whether the store has keys.
func (s *Store) Encrypted() bool { return s.keys != nil }

// Ping returns an error if the database does not answer.
func (s *Store) Ping(ctx context.Context) error { return s.db.PingContext(ctx) }

// queries is a database or a transaction.
type queries interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// sql writes a statement in the dialect's form. Statements have ? for arguments.
func (s *Store) sql(query string) string {
	if !s.dialect.numbered {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

// exec runs a statement and returns how many rows it changed.
func (s *Store) exec(ctx context.Context, q queries, query string, args ...any) (changed int64, err error) {
	if q == s.db && !s.reserve.held() {
		err = s.change(ctx, func(tx *sql.Tx) (err error) {
			changed, err = s.exec(ctx, tx, query, args...)
			return err
		})
		return changed, err
	}
	if q == s.db { // a transaction has its turn
		leave, err := s.queue(ctx)
		if err != nil {
			return 0, err
		}
		defer leave()
	}
	began := time.Now()
	result, err := q.ExecContext(ctx, s.sql(query), args...)
	s.timed(query, began, err)
	if err != nil {
		return 0, known(err)
	}
	return result.RowsAffected()
}

// row runs a query and scans its only row. No row is ErrNotFound.
func (s *Store) row(ctx context.Context, q queries, query string, args []any, into ...any) error {
	began := time.Now()
	err := q.QueryRowContext(ctx, s.sql(query), args...).Scan(into...)
	s.timed(query, began, err)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return known(err)
}

// invalidText is PostgreSQL's error for an argument that is no text: it has a byte 0, or is not UTF-8.
const invalidText = "22021"

// diskFull is PostgreSQL's error for a disk that is full. SQLite has three: one for a disk that says so, one for a file
// that may not grow, and one for a file of its own that it cannot make when it opens the database.
const (
	diskFull         = "53100"
	sqliteFull       = 13
	sqliteIOFull     = 778
	sqliteSharedFull = 4874
)

// known returns [ErrNotFound] for an argument that is no text, because nothing is stored by such an id, and an
// [ErrFull] for a full disk.
func known(err error) error {
	var refused interface{ SQLState() string }
	if errors.As(err, &refused) {
		switch refused.SQLState() {
		case invalidText:
			return ErrNotFound
		case diskFull:
			return fmt.Errorf("%w: %w", ErrFull, err)
		}
	}
	var failed interface{ Code() int }
	if !errors.As(err, &failed) {
		return err
	}
	if code := failed.Code(); code&0xff == sqliteFull || code == sqliteIOFull || code == sqliteSharedFull {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// each runs a query and calls scan for each row.
func (s *Store) each(ctx context.Context, q queries, query string, args []any, scan func(*sql.Rows) error) error {
	began := time.Now()
	rows, err := q.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		s.timed(query, began, err)
		return known(err)
	}
	defer func() { s.timed(query, began, rows.Err()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return known(errors.Join(rows.Err(), rows.Close()))
}

// change runs a transaction that may add something.
func (s *Store) change(ctx context.Context, do func(tx *sql.Tx) error) error {
	return s.transact(ctx, func(tx *sql.Tx) error { return s.inRoom(ctx, tx, do) })
}

// transact runs a transaction.
func (s *Store) transact(ctx context.Context, do func(tx *sql.Tx) error) error {
	began := time.Now()
	leave, err := s.queue(ctx)
	if err != nil {
		return err
	}
	defer leave()
	tx, err := s.db.BeginTx(ctx, nil)
	s.timed("begin", began, err)
	if err != nil {
		return known(err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	began = time.Now()
	err = tx.Commit()
	s.timed("commit", began, err)
	return known(err)
}

// ignoreDone ignores that a transaction has already ended, which it does when its context ends.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (s *Store) millis() int64 { return s.now().UnixMilli() }
