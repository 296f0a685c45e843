package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFull: a database that may not grow says so, and what is in it can be deleted if the disk has room for that.
func TestFull(t *testing.T) {
	s, err := Open(t.Context(), Options{URL: filepath.Join(t.TempDir(), "responses.db"), MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.insertOne(t, "one", 200_000); err != nil {
		t.Fatal(err)
	}
	if _, err := s.exec(t.Context(), s.db, "PRAGMA max_page_count = 1"); err != nil { // it stays at what there is
		t.Fatal(err)
	}
	if err := s.insertOne(t, "two", 200_000); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want %v", err, ErrFull)
	}
	if err := s.Delete(t.Context(), Tenant{}, "one"); err != nil {
		t.Error(err)
	}
	if err := s.insertOne(t, "two", 200_000); err != nil { // in the room of what was deleted
		t.Error(err)
	}
}

// insertOne stores a response with an item of a size.
func (s *Store) insertOne(t *testing.T, id string, size int) error {
	return s.Insert(t.Context(), Tenant{}, &Record{Retention: time.Hour,
		Response: Response{ID: id, Status: "completed", Object: []byte("{}")},
		Output:   []Item{{ID: "item_" + id, Type: "message", Body: []byte(strings.Repeat("x", size))}}})
}

// fullDisk connects to SQLite on a disk that is full while full says so: no statement can change anything then.
type fullDisk struct {
	sqlite driver.Driver
	dsn    string
	full   func() bool
}

func (d *fullDisk) Driver() driver.Driver { return d.sqlite }

func (d *fullDisk) Connect(context.Context) (driver.Conn, error) {
	c, err := d.sqlite.Open(d.dsn)
	if err != nil {
		return nil, err
	}
	return &fullConn{c.(sqliteConn), d}, nil
}

type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type fullConn struct {
	sqliteConn
	disk *fullDisk
}

// noRoom is SQLite's error.
type noRoom struct{}

func (noRoom) Error() string { return "database or disk is full" }
func (noRoom) Code() int     { return sqliteFull }

func (c *fullConn) refuses(query string) bool {
	return c.disk.full() && !strings.HasPrefix(query, "SELECT")
}

func (c *fullConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.refuses(query) {
		return nil, noRoom{}
	}
	return c.sqliteConn.ExecContext(ctx, query, args)
}

func (c *fullConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.refuses(query) {
		return nil, noRoom{}
	}
	return c.sqliteConn.QueryContext(ctx, query, args)
}

// openBeforeFull opens a store with a reserve. fill fills its disk: all that is left is
// the reserve. free makes room.
func openBeforeFull(t *testing.T) (s *Store, fill, free func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "responses.db")
	s, err := Open(t.Context(), Options{URL: path, Reserve: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.KeepReserve(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, dsn, _, err := source(path)
	if err != nil {
		t.Fatal(err)
	}
	isFull := false
	disk := &fullDisk{sqlite: s.db.Driver(), dsn: dsn, full: func() bool { return isFull && s.reserve.held() }}
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	s.db = sql.OpenDB(disk)
	t.Cleanup(func() { s.Close() })
	part := string(s.reserve) + ".part" // a folder of this name stands for a disk without room for a reserve
	return s, func() {
			isFull = true
			if err := os.Mkdir(part, 0o700); err != nil {
				t.Fatal(err)
			}
		}, func() {
			isFull = false
			if err := os.Remove(part); err != nil {
				t.Fatal(err)
			}
		}
}

// TestRemovedFromFullDisk: everything that removes gives up the reserve, and works.
func TestRemovedFromFullDisk(t *testing.T) {
	for name, remove := range map[string]func(*Store) error{
		"response":     func(s *Store) error { return s.Delete(t.Context(), Tenant{}, "one") },
		"conversation": func(s *Store) error { return s.DeleteConversation(t.Context(), Tenant{}, "conv") },
		"item": func(s *Store) error {
			_, err := s.DeleteItem(t.Context(), Tenant{}, "conv", "said")
			return err
		},
		"tenant": func(s *Store) error {
			_, err := s.DeleteTenant(t.Context(), Tenant{})
			return err
		},
		"expired": func(s *Store) error {
			s.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
			n, err := s.Expire(t.Context(), time.Now())
			if err == nil && n != 1 {
				return errors.New("nothing has expired")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, fill, _ := openBeforeFull(t)
			if err := s.insertOne(t, "one", 1000); err != nil {
				t.Fatal(err)
			}
			if err := s.CreateConversation(t.Context(), Tenant{}, &Conversation{ID: "conv"},
				[]Item{{ID: "said", Type: "message", Body: []byte("{}")}}); err != nil {
				t.Fatal(err)
			}
			fill()
			if err := s.insertOne(t, "two", 1000); !errors.Is(err, ErrFull) || !s.reserve.held() {
				t.Fatalf("an insertion: %v, reserve %v", err, s.reserve.held())
			}
			if err := remove(s); err != nil || s.reserve.held() {
				t.Errorf("%v, reserve %v", err, s.reserve.held())
			}
		})
	}
}

// TestReserve: without its reserve a store takes only what finds room among what was removed. When there is room, it
// takes the reserve again.
func TestReserve(t *testing.T) {
	s, fill, free := openBeforeFull(t)
	wants := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	for _, id := range []string{"one", "two"} {
		wants(id, s.insertOne(t, id, 200_000), nil)
	}
	fill()
	wants("delete", s.Delete(t.Context(), Tenant{}, "one"), nil)
	wants("larger", s.insertOne(t, "three", 400_000), ErrFull)
	wants("smaller", s.insertOne(t, "three", 100_000), nil)
	metadata := []byte(strings.Repeat("x", 300_000))
	wants("conversation", s.CreateConversation(t.Context(), Tenant{}, &Conversation{ID: "conv"}, nil), nil)
	_, err := s.SetMetadata(t.Context(), Tenant{}, "conv", metadata)
	wants("metadata", err, ErrFull) // one statement, without a transaction of ours
	if err := s.KeepReserve(t.Context()); err == nil || s.reserve.held() {
		t.Errorf("%v, reserve %v", err, s.reserve.held())
	}
	wants("delete", s.Delete(t.Context(), Tenant{}, "two"), nil)
	wants("in its room", s.insertOne(t, "four", 150_000), nil)
	free()
	wants("with room", s.insertOne(t, "five", 400_000), nil)
	if !s.reserve.held() {
		t.Error("it has not taken its reserve")
	}
	if info, err := os.Stat(string(s.reserve)); err != nil || info.Size() != reserveSize || info.Mode() != 0o600 {
		t.Error(info, err)
	}
}
