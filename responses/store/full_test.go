package store

import (
	"errors"
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
	insert := func(id string) error {
		return s.Insert(t.Context(), Tenant{}, &Record{Retention: time.Hour,
			Response: Response{ID: id, Status: "completed", Object: []byte("{}")},
			Output:   []Item{{ID: "item_" + id, Type: "message", Body: []byte(strings.Repeat("x", 200_000))}}})
	}
	if err := insert("one"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.exec(t.Context(), s.db, "PRAGMA max_page_count = 1"); err != nil { // it stays at what there is
		t.Fatal(err)
	}
	if err := insert("two"); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want %v", err, ErrFull)
	}
	if err := s.Delete(t.Context(), Tenant{}, "one"); err != nil {
		t.Error(err)
	}
	if err := insert("two"); err != nil { // in the room of what was deleted
		t.Error(err)
	}
}
