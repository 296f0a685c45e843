package toolsearch

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite" // its full-text index ranks by BM25
)

// Text is what something is found by. Words of its name count more.
type Text struct{ Name, About string }

// Index ranks texts. It lies in memory, and is for one goroutine after the other.
type Index struct{ db *sql.DB }

// New returns an index of texts.
func New(ctx context.Context, texts []Text) (*Index, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // another connection would have another memory
	x := &Index{db}
	if err := x.fill(ctx, texts); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close forgets the texts.
func (x *Index) Close() { x.db.Close() }

func (x *Index) fill(ctx context.Context, texts []Text) error {
	// The texts themselves are not kept. The stems of words are compared: order is in orders.
	const table = `CREATE VIRTUAL TABLE texts USING fts5(name, about, content='', tokenize='porter unicode61')`
	if _, err := x.db.ExecContext(ctx, table); err != nil {
		return err
	}
	filling, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer filling.Rollback() //nolint:errcheck // it is over after a commit
	insert, err := filling.PrepareContext(ctx, `INSERT INTO texts(rowid, name, about) VALUES (?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close() //nolint:errcheck // what it has done is in the transaction
	for i := range texts {
		if _, err := insert.ExecContext(ctx, i, words(texts[i].Name), words(texts[i].About)); err != nil {
			return err
		}
	}
	return filling.Commit()
}

// Find returns the indices of the texts that have a word of the question, the best first, and so many at most.
func (x *Index) Find(ctx context.Context, text string, most int) (found []int, err error) {
	asked := question(text)
	if asked == "" {
		return nil, nil
	}
	// SQLite's rank is smaller for a better text. A word of the name counts as four.
	const ranked = `SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 4.0, 1.0), rowid LIMIT ?`
	rows, err := x.db.QueryContext(ctx, ranked, asked, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // reading has no other errors than those of Err
	for rows.Next() {
		i := 0
		if err := rows.Scan(&i); err != nil {
			return nil, err
		}
		found = append(found, i)
	}
	return found, rows.Err()
}

// Size is about how much memory a text and its index take, in bytes.
func (t *Text) Size() int64 { return 4 * int64(len(t.Name)+len(t.About)+64) }
