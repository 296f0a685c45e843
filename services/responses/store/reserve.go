package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
)

// reserveSize is the size of a reserve. Before SQLite moves its log to the file, it has about 4 MB and a
// transaction there, twice that on a disk that has just become full. Moving it is what makes room in the log again.
const reserveSize = 16 << 20

// reserve is the path of a file beside SQLite's, which keeps room on the disk: removing needs room in SQLite's log. It
// is given up when a removal finds the disk full, and taken again when there is room (RATIONALE.md#212). "" is for a
// store without one, which behaves as if it had it.
type reserve string

// held reports whether the reserve is there. The disk's own account counts: other processes use it too.
func (r reserve) held() bool {
	if r == "" {
		return true
	}
	info, err := os.Stat(string(r))
	return err == nil && info.Size() == reserveSize
}

// giveUp removes the reserve, and reports whether there was one.
func (r reserve) giveUp() bool { return r != "" && os.Remove(string(r)) == nil }

// take makes the reserve. It does not begin to if there is no room, so that other programs are not told that the disk
// is full.
func (r reserve) take() error {
	if r.held() {
		return nil
	}
	part := string(r) + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = fill(f); err == nil {
		return os.Rename(part, string(r))
	}
	return errors.Join(err, os.Remove(part))
}

// fill writes a reserve, and closes it. The bytes are random, because some file systems keep no room for zeros.
func fill(f *os.File) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &disk); err != nil {
		return err
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < reserveSize {
		return fmt.Errorf("the disk has %d bytes left, and the reserve has %d", free, reserveSize)
	}
	random, piece := rand.NewChaCha8([32]byte{}), make([]byte, 1<<20)
	for range reserveSize / len(piece) {
		_, _ = random.Read(piece) // it never fails
		if _, err := f.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// KeepReserve takes the reserve of a store that should have one, if it is not there. The caller calls it now and then.
func (s *Store) KeepReserve(ctx context.Context) error {
	leave, err := s.queue(ctx) // who writes meanwhile would find the disk fuller than it will be
	if err != nil {
		return err
	}
	defer leave()
	return s.reserve.take()
}

// lessen runs a transaction that removes. If the disk is full, it gives up the reserve.
func (s *Store) lessen(ctx context.Context, do func(tx *sql.Tx) error) error {
	err := s.transact(ctx, do)
	if errors.Is(err, ErrFull) && s.reserve.giveUp() {
		err = s.transact(ctx, do)
	}
	return err
}

// inRoom does what a transaction does. While the reserve is given up, the file of the database may not grow: what is
// new takes the room of what was removed, and the rest of the disk is left to removals.
func (s *Store) inRoom(ctx context.Context, tx *sql.Tx, do func(tx *sql.Tx) error) error {
	if s.reserve.held() {
		return do(tx)
	}
	before, after := int64(0), int64(0)
	const pages = "SELECT page_count FROM pragma_page_count()"
	if err := s.row(ctx, tx, pages, nil, &before); err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	if err := s.row(ctx, tx, pages, nil, &after); err != nil || after <= before {
		return err
	}
	if err := s.reserve.take(); err != nil {
		return fmt.Errorf("%w: there is no room for its reserve: %w", ErrFull, err)
	}
	return nil
}
