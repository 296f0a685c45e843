package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// testRandom holds a ledger to what must be true whatever happens: books balance, and what was let through within a
// window is at most twice the limit, whatever was reserved and given back.
func testRandom(t *testing.T, open Open) {
	r := newRoom(t, open)
	const limit = 1000
	r.limits = []ledger.Limit{tokens(limit, ledger.Minute)}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	type charge struct {
		at   time.Time
		used int64
	}
	var charges []charge // what was used in the end, at the time of the reservation
	type running struct {
		id       string
		reserved int64
		charge   int
	}
	var open_ []running
	var used, reserved int64
	for i := range 3000 {
		r.wait(time.Duration(random.IntN(3000)) * time.Millisecond)
		if len(open_) > 0 && random.IntN(2) == 0 {
			at := random.IntN(len(open_))
			o := open_[at]
			open_ = append(open_[:at], open_[at+1:]...)
			n := random.Int64N(o.reserved + 1)
			r.settle(o.id, n)
			charges[o.charge].used = n
			used += n
			continue
		}
		id, n := fmt.Sprint(i), 1+random.Int64N(600)
		if a := r.reserve(id, n); a.Refusal == nil {
			open_ = append(open_, running{id, n, len(charges)})
			charges = append(charges, charge{r.now, n})
			reserved += n
		} else if a.Refusal.Wait <= 0 || a.Refusal.Wait > ledger.Minute {
			t.Fatalf("seed %d: wait %s", seed, a.Refusal.Wait)
		}
	}
	for _, o := range open_ {
		r.settle(o.id, o.reserved)
		used += o.reserved
	}
	if b := r.book(); b.Used != used || b.Reserved != reserved || b.Refunded != reserved-used || b.Open+b.Lost != 0 {
		t.Errorf("seed %d: used %d of %d: %+v", seed, used, reserved, b)
	}
	for i := range charges {
		var within int64
		for j := i; j < len(charges) && charges[j].at.Sub(charges[i].at) < ledger.Minute; j++ {
			within += charges[j].used
		}
		if within > 2*limit {
			t.Fatalf("seed %d: %d tokens of requests of one minute", seed, within)
		}
	}
}

// testCrowd lets many goroutines reserve and settle at once, each of them twice.
func testCrowd(t *testing.T, open Open) {
	l := open(t, ledger.Options{})
	limits := []ledger.Limit{running(20), tokens(1<<40, ledger.Minute)}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 100 {
				id, name := fmt.Sprint(g, "-", i), fmt.Sprint("client-", i%3)
				for range 2 {
					if _, err := l.Reserve(t.Context(), ledger.Reservation{
						ID: id, Client: name, Model: model, Tokens: 100, Limits: limits}); err != nil {
						t.Error(err)
						return
					}
				}
				for range 2 {
					if err := l.Settle(t.Context(), ledger.Settlement{
						ID: id, Client: name, Model: model, Tokens: int64(i), Limits: limits}); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	books, err := l.Books(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all ledger.Book
	for i := range books {
		if err := books[i].Balance(); err != nil {
			t.Error(err)
		}
		all.Add(&books[i])
	}
	if want := (ledger.Book{Requests: 800, Reserved: 80000, Used: 8 * 99 * 50, Refunded: 80000 - 8*99*50}); len(books) != 3 ||
		all != want {
		t.Errorf("%d books:\n got %+v\nwant %+v", len(books), all, want)
	}
}
