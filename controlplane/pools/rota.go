package pools

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// rota runs a task for each of its keys, again and again: no more than limit tasks at once, and no two of one key. A key
// has its next turn an interval after the end of the last, more or less a tenth, so that turns spread by themselves.
type rota[K comparable] struct {
	interval time.Duration
	limit    int
	task     func(context.Context, K)
	wake     chan struct{}

	mu      sync.Mutex
	wanted  map[K]bool
	running map[K]bool
	turns   turns[K] // of the keys that are wanted and not running
}

func newRota[K comparable](interval time.Duration, limit int, task func(context.Context, K)) *rota[K] {
	return &rota[K]{interval: interval, limit: limit, task: task, wake: make(chan struct{}, 1), running: map[K]bool{}}
}

// set replaces the keys. Those that are new have their turn at once.
func (r *rota[K]) set(keys []K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.wanted
	r.wanted = make(map[K]bool, len(keys))
	now := time.Now()
	for _, k := range keys {
		if !r.wanted[k] && !before[k] && !r.running[k] {
			r.turns = append(r.turns, turn[K]{at: now, key: k})
		}
		r.wanted[k] = true
	}
	kept := r.turns[:0]
	for _, t := range r.turns {
		if r.wanted[t.key] {
			kept = append(kept, t)
		}
	}
	clear(r.turns[len(kept):])
	r.turns = kept
	heap.Init(&r.turns)
	tell(r.wake)
}

// run returns when ctx has ended and no task runs any more.
func (r *rota[K]) run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		due, next := r.due(time.Now())
		for _, k := range due {
			tasks.Go(func() {
				r.task(ctx, k)
				r.finish(k)
			})
		}
		timer.Reset(next)
	}
}

// due takes the keys whose turn it is, as many as there is room for, and says when to look again unless woken before.
func (r *rota[K]) due(now time.Time) (due []K, next time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.running) < r.limit && len(r.turns) > 0 {
		if wait := r.turns[0].at.Sub(now); wait > 0 {
			return due, wait
		}
		k := heap.Pop(&r.turns).(turn[K]).key
		r.running[k] = true
		due = append(due, k)
	}
	return due, time.Hour
}

func (r *rota[K]) finish(k K) {
	r.mu.Lock()
	delete(r.running, k)
	if r.wanted[k] {
		wait := time.Duration(float64(r.interval) * (0.9 + 0.2*rand.Float64()))
		heap.Push(&r.turns, turn[K]{at: time.Now().Add(wait), key: k})
	}
	r.mu.Unlock()
	tell(r.wake)
}

type turn[K comparable] struct {
	at  time.Time
	key K
}

// turns is a heap, the next one first.
type turns[K comparable] []turn[K]

func (t turns[K]) Len() int           { return len(t) }
func (t turns[K]) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t turns[K]) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *turns[K]) Push(x any)        { *t = append(*t, x.(turn[K])) }
func (t *turns[K]) Pop() any {
	old := *t
	last := old[len(old)-1]
	old[len(old)-1] = turn[K]{} // lets its key go
	*t = old[:len(old)-1]
	return last
}

// tell leaves a token. One that lies there already tells of this too.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
