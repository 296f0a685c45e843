package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// approvals: an answer to a question for approval is used once, also by many at once, and it is remembered for as long as
// its question is stored.
func approvals(f *fixture) {
	var used atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := f.UseApprovals(f.ctx, alice, []string{"q_1"})
			var again *store.UsedError
			if err == nil {
				used.Add(1)
			} else if !errors.As(err, &again) || again.ID != "q_1" {
				f.t.Error(err)
			}
		})
	}
	all.Wait()
	if n := used.Load(); n != 1 {
		f.t.Errorf("an approval was used %d times", n)
	}
	f.must(f.UseApprovals(f.ctx, bob, []string{"q_1"}))
	f.wantUsed("q_2", "q_1") // all or none
	f.must(f.UseApprovals(f.ctx, alice, []string{"q_2"}))

	f.insert(alice, "1", "") // its items are q_1 and a_1
	f.now.Add((48 * time.Hour).Milliseconds())
	item, err := f.Item(f.ctx, alice, "q_1", nil)
	f.must(err)
	if item.ID == "" {
		f.t.Fatal("the question is gone before its time")
	}
	f.must(f.forget())
	f.must(f.UseApprovals(f.ctx, alice, []string{"q_2"})) // its question is gone
}

// wantUsed wants that approvals cannot be used, because the last one has been.
func (f *fixture) wantUsed(ids ...string) {
	f.t.Helper()
	var again *store.UsedError
	if err := f.UseApprovals(f.ctx, alice, ids); !errors.As(err, &again) || again.ID != ids[len(ids)-1] {
		f.t.Errorf("%v", err)
	}
}

func (f *fixture) forget() error {
	_, err := f.Expire(f.ctx, time.UnixMilli(f.now.Load()))
	return err
}
