package pools

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// runLog records what a scheduler does.
type runLog struct {
	mu                     sync.Mutex
	runs                   map[int][]time.Time
	running                map[int]bool
	maxRunning, duplicates int
}

func (l *runLog) begin(k int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[k] {
		l.duplicates++
	}
	l.running[k] = true
	l.maxRunning = max(l.maxRunning, len(l.running))
	l.runs[k] = append(l.runs[k], time.Now())
}

func (l *runLog) end(k int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, k)
}

// startScheduler runs a scheduler with an interval of 10s, tasks of one second and four of them at once. It uses the
// clock of a synctest bubble.
func startScheduler(t *testing.T) (*scheduler[int], *runLog) {
	l := &runLog{runs: map[int][]time.Time{}, running: map[int]bool{}}
	r := newScheduler(always[int](10*time.Second), 4, func(ctx context.Context, k int) {
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

func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := startScheduler(t)
		begin := time.Now()
		r.set([]int{1, 2, 3, 4, 5, 6, 7, 8, 8})
		time.Sleep(60 * time.Second)
		synctest.Wait()
		if l.maxRunning != 4 || l.duplicates != 0 || len(l.runs) != 8 {
			t.Errorf("%d at once, %d doubly, %d keys", l.maxRunning, l.duplicates, len(l.runs))
		}
		for k, at := range l.runs {
			if at[0].Sub(begin) > time.Second {
				t.Errorf("%d waits %v for its first run", k, at[0].Sub(begin))
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

// TestSchedulerSet checks that a key that stays keeps its place, that a new key runs at once, and that a removed key
// has none, also while their tasks run.
func TestSchedulerSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, l := startScheduler(t)
		r.set([]int{1, 2})
		time.Sleep(500 * time.Millisecond)
		r.set([]int{2, 3}) // the tasks of 1 and 2 are running
		time.Sleep(4 * time.Second)
		r.set([]int{2, 3, 4})
		synctest.Wait()
		for k, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 1} {
			if got := len(l.runs[k]); got != want {
				t.Errorf("%d had %d turns at first, want %d", k, got, want)
			}
		}
		r.set([]int{2, 3})
		r.set([]int{2, 3, 4}) // the task of 4 is running: it is not started twice
		time.Sleep(30 * time.Second)
		r.set(nil)
		synctest.Wait()
		had := len(l.runs[2])
		if len(l.runs[1]) != 1 || had < 3 || len(l.runs[3]) < 3 || len(l.runs[4]) < 3 || l.duplicates != 0 {
			t.Errorf("turns %v, %d doubly", l.runs, l.duplicates)
		}
		time.Sleep(30 * time.Second)
		if len(l.runs[2]) != had {
			t.Error("keys that nobody wants have turns")
		}
	})
}

// TestSchedulerSpread checks that the first runs of many keys are spread over their intervals, and that each key has an
// interval of its own.
func TestSchedulerSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &runLog{runs: map[int][]time.Time{}, running: map[int]bool{}}
		interval := func(k int) time.Duration { return time.Duration(1+k%2*9) * time.Second } // 1s or 10s
		r := newScheduler(interval, 1000, func(_ context.Context, k int) { l.begin(k); l.end(k) })
		r.spread = true
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.run(ctx) }()
		var keys []int
		for k := range 200 {
			keys = append(keys, k)
		}
		begin := time.Now()
		r.set(keys)
		time.Sleep(20 * time.Second)
		cancel()
		<-done
		halves := [2]int{}
		for k, at := range l.runs {
			if first := at[0].Sub(begin); first > interval(k) {
				t.Errorf("%d waits %v for its first run", k, first)
			} else {
				halves[int(2*first/(interval(k)+1))]++
			}
			if n := len(at); k%2 == 0 && (n < 17 || n > 23) || k%2 == 1 && (n < 1 || n > 3) {
				t.Errorf("%d has %d turns", k, n)
			}
		}
		if halves[0] < 60 || halves[1] < 60 {
			t.Errorf("first runs in the halves of the intervals: %d", halves)
		}
	})
}
