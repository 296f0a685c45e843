package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// Open returns an empty ledger.
type Open func(t *testing.T, o ledger.Options) ledger.Ledger

// Run runs all tests on the ledgers that open returns.
func Run(t *testing.T, open Open) {
	t.Run("steps", func(t *testing.T) { testSteps(t, open) })
	t.Run("random", func(t *testing.T) { testRandom(t, open) })
	t.Run("crowd", func(t *testing.T) { testCrowd(t, open) })
}

// Room is a ledger under test, and its clock.
type room struct {
	t      *testing.T
	ledger ledger.Ledger
	now    time.Time
	limits []ledger.Limit
}

func newRoom(t *testing.T, open Open) *room {
	r := &room{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.ledger = open(t, ledger.Options{SlotLifetime: 10 * time.Minute, Now: func() time.Time { return r.now }})
	return r
}

const (
	client = "acme"
	model  = "gpt-oss-120b"
)

func (r *room) reserve(id string, tokens int64) ledger.Answer {
	r.t.Helper()
	a, err := r.ledger.Reserve(r.t.Context(), ledger.Reservation{
		ID: id, Client: client, Model: model, Tokens: tokens, Limits: r.limits})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(a.States) != len(r.limits) {
		r.t.Fatalf("%d states of %d limits", len(a.States), len(r.limits))
	}
	return a
}

// granted reserves, and returns what is left of each limit.
func (r *room) granted(id string, tokens int64) (remaining []int64) {
	r.t.Helper()
	a := r.reserve(id, tokens)
	if a.Refusal != nil {
		r.t.Fatalf("%s was refused: %+v", id, *a.Refusal)
	}
	for _, s := range a.States {
		remaining = append(remaining, s.Remaining)
	}
	return remaining
}

func (r *room) refused(id string, tokens int64) ledger.Refusal {
	r.t.Helper()
	a := r.reserve(id, tokens)
	if a.Refusal == nil {
		r.t.Fatalf("%s was not refused", id)
	}
	return *a.Refusal
}

func (r *room) settle(id string, tokens int64) {
	r.t.Helper()
	if err := r.ledger.Settle(r.t.Context(), ledger.Settlement{
		ID: id, Client: client, Model: model, Tokens: tokens, Limits: r.limits}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) withdraw(id string) {
	r.t.Helper()
	if err := r.ledger.Withdraw(r.t.Context(), client, id); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) wait(d time.Duration) { r.now = r.now.Add(d) }

// book returns the only book, which balances.
func (r *room) book() ledger.Book {
	r.t.Helper()
	books, err := r.ledger.Books(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	if len(books) != 1 || books[0].Client != client || books[0].Model != model {
		r.t.Fatalf("books: %+v", books)
	}
	if err := books[0].Balance(); err != nil {
		r.t.Error(err)
	}
	return books[0]
}

func (r *room) wantBook(want ledger.Book) {
	r.t.Helper()
	want.Client, want.Model = client, model
	if got := r.book(); got != want {
		r.t.Errorf("book:\n got %+v\nwant %+v", got, want)
	}
}

func (r *room) want(what string, got, want any) {
	r.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		r.t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func tokens(most int64, window time.Duration) ledger.Limit {
	return ledger.Limit{Resource: ledger.Tokens, Max: most, Window: window}
}

func requests(most int64, window time.Duration) ledger.Limit {
	return ledger.Limit{Resource: ledger.Requests, Max: most, Window: window}
}

func running(most int64) ledger.Limit { return ledger.Limit{Resource: ledger.Concurrency, Max: most} }

func ofModel(l ledger.Limit) ledger.Limit {
	l.Model = model
	return l
}
