package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/store/storetest"
)

// TestMigrationCut opens what SQLite's files are if the machine stops while the tables are made: the log of changes is
// cut anywhere. The next start makes them whole.
func TestMigrationCut(t *testing.T) {
	made := filepath.Join(t.TempDir(), "responses.db")
	s, err := store.Open(t.Context(), store.Options{URL: made})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	file, log := read(made), read(made+"-wal")
	const cuts = 40
	if len(log) < cuts*1000 {
		t.Fatalf("the log has %d bytes", len(log))
	}
	for i := range cuts + 1 {
		path := filepath.Join(t.TempDir(), "responses.db")
		for name, data := range map[string][]byte{path: file, path + "-wal": log[:i*len(log)/cuts]} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		storetest.Usable(t, store.Options{URL: path})
	}
}
