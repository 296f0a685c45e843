package pools

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ledger records what a rota does.
type ledger struct {
	mu           sync.Mutex
	turns        map[int][]time.Time
	running      map[int]bool
	most, doubly int
}

func (l *ledger) begin(k int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[k] {
		l.doubly++
	}
	l.running[k] = true
	l.most = max(l.most, len(l.running))
	l.turns[k] = append(l.turns[k], time.Now())
}

func (l *ledger) end(k int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, k)
}

// started runs a rota with an interval of 10s, tasks of one second and four of them at once. It uses the clock of a
// synctest bubble.
func started(t *testing.T) (*rota[int], *ledger) {
	l := &ledger{turns: map[int][]time.Time{}, running: map[int]bool{}}
	r := newRota(10*time.Second, 4, func(ctx context.Context, k int) {
		l.begin(k)
		defer l.end(k)
		time.Sleep(time.Second)
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return r, l
}

func TestRota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := started(t)
		begin := time.Now()
		r.set([]int{1, 2, 3, 4, 5, 6, 7, 8, 8})
		time.Sleep(60 * time.Second)
		synctest.Wait()
		if l.most != 4 || l.doubly != 0 || len(l.turns) != 8 {
			t.Errorf("%d at once, %d doubly, %d keys", l.most, l.doubly, len(l.turns))
		}
		for k, at := range l.turns {
			if at[0].Sub(begin) > time.Second {
				t.Errorf("%d waits %v for its first turn", k, at[0].Sub(begin))
			}
			for i := 1; i < len(at); i++ {
				// A gap is the second of the task, the interval, and the wait for one of the four places.
				if gap := at[i].Sub(at[i-1]); gap < 10*time.Second || gap > 14*time.Second {
					t.Errorf("%d waits %v between two turns", k, gap)
				}
			}
			if len(at) < 5 {
				t.Errorf("%d has %d turns", k, len(at))
			}
		}
	})
}

// TestRotaSet checks that a key that stays keeps its turn, that a new key has its turn at once, and that a removed key
// has none, also while their tasks run.
func TestRotaSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := started(t)
		r.set([]int{1, 2})
		time.Sleep(500 * time.Millisecond)
		r.set([]int{2, 3}) // the tasks of 1 and 2 are running
		time.Sleep(4 * time.Second)
		r.set([]int{2, 3, 4})
		synctest.Wait()
		for k, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 1} {
			if got := len(l.turns[k]); got != want {
				t.Errorf("%d had %d turns at first, want %d", k, got, want)
			}
		}
		r.set([]int{2, 3})
		r.set([]int{2, 3, 4}) // the task of 4 is running: it is not started twice
		time.Sleep(30 * time.Second)
		r.set(nil)
		synctest.Wait()
		had := len(l.turns[2])
		if len(l.turns[1]) != 1 || had < 3 || len(l.turns[3]) < 3 || len(l.turns[4]) < 3 || l.doubly != 0 {
			t.Errorf("turns %v, %d doubly", l.turns, l.doubly)
		}
		time.Sleep(30 * time.Second)
		if len(l.turns[2]) != had {
			t.Error("keys that nobody wants have turns")
		}
	})
}
