package ledger

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// A ledger of one process is bounded, whatever names and ids come.
func TestMemoryIsBounded(t *testing.T) {
	now := time.Now()
	m := NewMemory(Options{Now: func() time.Time { return now }})
	m.bounds = bounds{requests: 1000, buckets: 2000, books: 100}
	limits := []Limit{{Resource: Tokens, Max: 1000, Window: Minute}, {Resource: Requests, Max: 1000, Window: Minute},
		{Resource: Concurrency, Max: 5}}
	reserve := func(client, id string) error {
		_, err := m.Reserve(t.Context(), Reservation{ID: id, Client: client, Model: "m", Tokens: 10, Limits: limits})
		return err
	}
	settle := func(client, id string) error {
		return m.Settle(t.Context(), Settlement{ID: id, Client: client, Model: "m", Tokens: 5, Limits: limits})
	}
	sizes := func() string {
		return fmt.Sprint(len(m.requests), m.open.Len()+m.lost.Len()+m.settled.Len(), len(m.running))
	}
	for i := range 20_000 { // each is another client, and each comes back
		now = now.Add(10 * time.Millisecond)
		client, id := fmt.Sprint("c", i), fmt.Sprint(i)
		if err := errors.Join(reserve(client, id), settle(client, id)); err != nil {
			t.Fatal(i, err)
		}
	}
	if got := sizes(); got != "1000 1000 0" || len(m.buckets) > 2000 || len(m.books) != 101 {
		t.Errorf("%s, %d buckets, %d books", got, len(m.buckets), len(m.books))
	}

	for i := range 1000 { // nobody settles
		if err := reserve("hostile", fmt.Sprint("open", i)); err != nil {
			t.Fatal(i, err)
		}
		if i == 4 {
			break
		}
	}
	full := 0
	for i := range 5000 {
		if errors.Is(reserve(fmt.Sprint("h", i), "open"), ErrFull) {
			full++
		}
	}
	if full == 0 || len(m.requests) > 1000 || len(m.buckets) > 2000 {
		t.Errorf("%d of 5000 were refused; %s, %d buckets", full, sizes(), len(m.buckets))
	}

	now = now.Add(2 * OpenLifetime) // all is forgotten but the sums
	if err := reserve("c", "x"); err != nil {
		t.Fatal(err)
	}
	if got := sizes(); got != "1 1 2" {
		t.Errorf("%s", got)
	}
	var sum Book
	books, _ := m.Books(t.Context())
	for i := range books {
		if err := books[i].Balance(); err != nil {
			t.Error(err)
		}
		sum.Add(&books[i])
	}
	if want := 20_005 + 5000 - full + 1; sum.Requests != int64(want) || sum.Used != 5*20_000 || sum.OpenRequests != 1 {
		t.Errorf("got %+v, want %d requests", sum, want)
	}
}

// benchLimits are the most that count one request.
func benchLimits() (limits []Limit) {
	for _, model := range []string{"", "m"} {
		for _, window := range []time.Duration{Minute, Day} {
			limits = append(limits, Limit{Resource: Requests, Max: 1 << 40, Window: window, Model: model},
				Limit{Resource: Tokens, Max: 1 << 40, Window: window, Model: model})
		}
		limits = append(limits, Limit{Resource: Concurrency, Max: 1 << 40, Model: model})
	}
	return limits
}

// BenchmarkMemory is a reservation under ten limits and its settlement, as 10,000 clients in turn.
func BenchmarkMemory(b *testing.B) {
	m, limits := NewMemory(Options{}), benchLimits()
	for i := 0; b.Loop(); i++ {
		client, id := fmt.Sprint("client-", i%10_000), fmt.Sprintf("%032x", i)
		_, _ = m.Reserve(b.Context(), Reservation{ID: id, Client: client, Model: "m", Tokens: 1000, Limits: limits})
		_ = m.Settle(b.Context(), Settlement{ID: id, Client: client, Model: "m", Tokens: 700, Limits: limits})
	}
}
