package storetest

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// keys checks what a store does with keys that are new, old, wrong and missing.
func keys(f *fixture) {
	f.insert(alice, "1", "")
	readable := func(id string) {
		f.t.Helper()
		past, err := f.Chain(f.ctx, alice, id, store.AtMost(1<<20))
		f.must(err)
		if len(past.Items) == 0 || !strings.Contains(string(past.Items[0].Body), "question") {
			f.t.Errorf("%s: %+v", id, past.Items)
		}
	}
	f.must(f.reopen(KeyB + "," + KeyA)) // rotated
	readable("1")
	f.insert(alice, "2", "1")
	readable("2")
	f.refuses(KeyB, "the key a, which is not in HARMONY_STORE_KEYS")
	f.refuses("", "there is no key")
	f.refuses("a:"+strings.TrimPrefix(KeyB, "b:")+","+KeyB, "the key a of HARMONY_STORE_KEYS is not the one")
	f.must(f.reopen(KeyB + "," + KeyA))
	f.must(f.Delete(f.ctx, alice, "1"))
	f.must(f.reopen(KeyB)) // nothing is left of the old key
	if _, _, err := f.Get(f.ctx, alice, "2", nil); err != nil {
		f.t.Error(err)
	}
	f.must(f.reopen(KeyB))
}

func (f *fixture) refuses(keyText, want string) {
	f.t.Helper()
	err := f.reopen(keyText)
	var setup *store.SetupError
	if !errors.As(err, &setup) || !strings.Contains(err.Error(), want) {
		f.t.Errorf("keys %.3s…: %v, want %s", keyText, err, want)
	}
	if err == nil {
		return
	}
	for _, part := range strings.Split(KeyA+KeyB, ":") {
		if len(part) > 10 && strings.Contains(err.Error(), part[:10]) {
			f.t.Error("the error shows a key")
		}
	}
}

// DB is a database beside a store.
type DB = sql.DB

// OpenSQL opens the database of a store, for statements that no store would run.
func OpenSQL(t *testing.T, url string) *DB {
	t.Helper()
	driver := "pgx"
	if !strings.HasPrefix(url, "postgres") {
		driver = "sqlite"
		url += "?_pragma=busy_timeout(60000)" // the store may be writing
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// run runs statements that no store would.
func (f *fixture) run(statements ...string) {
	f.t.Helper()
	db := OpenSQL(f.t, f.options.URL)
	for _, s := range statements {
		_, err := db.ExecContext(f.ctx, s)
		f.must(err)
	}
}

// corrupt checks that a record that was changed, or put in another's place, is not read.
func corrupt(f *fixture) {
	f.insert(alice, "1", "")
	f.insert(bob, "1", "")
	f.insert(alice, "2", "")
	f.insert(alice, "3", "")
	f.run("UPDATE items SET body = (SELECT body FROM items WHERE id = 'a_2') "+
		"WHERE id = 'a_1' AND tenant = (SELECT tenant FROM responses WHERE id = '2')",
		"UPDATE responses SET object = (SELECT object FROM responses WHERE id = '3') WHERE id = '2'")
	var bad *store.CorruptError
	_, _, err := f.Get(f.ctx, alice, "1", nil)
	if !errors.As(err, &bad) || bad.Record != "item a_1" {
		f.t.Errorf("a changed item: %v", err)
	}
	_, err = f.Chain(f.ctx, alice, "1", store.AtMost(1<<20))
	if !errors.As(err, &bad) {
		f.t.Errorf("a chain with a changed item: %v", err)
	}
	_, _, err = f.Get(f.ctx, alice, "2", nil)
	if !errors.As(err, &bad) || bad.Record != "response 2" {
		f.t.Errorf("another response's object: %v", err)
	}
	if _, _, err = f.Get(f.ctx, alice, "3", nil); err != nil {
		f.t.Error(err)
	}
}

// migrations takes the store back and forth, and shows it a version that it does not know.
func migrations(f *fixture) {
	f.insert(alice, "1", "")
	f.Close()
	for _, to := range []int64{0, 1, 1} {
		if _, err := store.Migrate(f.ctx, f.options, to); err != nil {
			f.t.Fatalf("to %d: %v", to, err)
		}
	}
	if _, err := store.Migrate(f.ctx, f.options, 99); err == nil || !strings.Contains(err.Error(), "no version 99") {
		f.t.Error(err)
	}
	f.must(f.reopen(KeyA))
	_, _, err := f.Get(f.ctx, alice, "1", nil)
	f.wants(err, store.ErrNotFound)
	f.insert(alice, "1", "")
	f.run("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)")
	err = f.reopen(KeyA)
	var setup *store.SetupError
	if !errors.As(err, &setup) || !strings.Contains(err.Error(), "version 99") {
		f.t.Errorf("a newer store: %v", err)
	}
}

func deleteAndExport(f *fixture) {
	f.insert(alice, "1", "")
	f.insert(alice, "2", "1")
	f.insert(bob, "3", "")
	c := &store.Conversation{ID: "c", Metadata: []byte(`{"a":"b"}`), CreatedAt: time.UnixMilli(5)}
	f.must(f.CreateConversation(f.ctx, alice, c, []store.Item{item("i1", "message", "hi")}))
	exported := func(t store.Tenant) string {
		var b strings.Builder
		f.must(f.Export(f.ctx, t, func(turn *store.Turn) error {
			b.WriteString(shownTurn(turn))
			return nil
		}, func(c *store.Conversation, items []store.Item) error {
			b.WriteString(c.ID + string(c.Metadata) + ": " + ids(items) + "\n")
			return nil
		}))
		return b.String()
	}
	if got, want := exported(alice), "1: q_1 -> r_1 a_1\n2: q_2 -> r_2 a_2\nc{\"a\":\"b\"}: i1\n"; got != want {
		f.t.Errorf("%s, want %s", got, want)
	}
	n, err := f.DeleteTenant(f.ctx, alice)
	f.must(err)
	if n != (store.Counts{Responses: 2, Conversations: 1, Items: 7}) {
		f.t.Errorf("%+v", n)
	}
	if got := exported(alice); got != "" {
		f.t.Error(got)
	}
	if got, want := exported(bob), "3: q_3 -> r_3 a_3\n"; got != want {
		f.t.Error(got)
	}
}

// Usable fails the test unless a store can be opened, and keeps a chain.
func Usable(t *testing.T, o store.Options) {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &fixture{Store: s, t: t, ctx: t.Context()}
	f.insert(alice, "1", "")
	f.insert(alice, "2", "1")
	past, err := f.Chain(f.ctx, alice, "2", store.AtMost(1<<20))
	f.must(err)
	f.wantIDs(past.Items, "q_1 r_1 a_1 q_2 r_2 a_2")
}
