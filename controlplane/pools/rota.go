package pools

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// rota runs a task for each of its keys again and again: at most limit tasks at once, and one at a time for each key. A
// key's next turn is one interval after its last task ended, plus or minus a tenth, so that turns do not bunch up.
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

// set replaces the keys. A new key has its first turn at once.
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

// run runs the tasks. It returns when ctx has ended and the last task has returned.
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

// due removes the keys whose turn it is, as many as the limit allows, and returns them. next is how long to wait before
// the next look, if wake has no value before.
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

// turns is a heap, with the next turn first.
type turns[K comparable] []turn[K]

// Len implements [heap.Interface].
func (t turns[K]) Len() int { return len(t) }

// Less implements [heap.Interface].
func (t turns[K]) Less(i, j int) bool { return t[i].at.Before(t[j].at) }

// Swap implements [heap.Interface].
func (t turns[K]) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements [heap.Interface].
func (t *turns[K]) Push(x any) { *t = append(*t, x.(turn[K])) }

// Pop implements [heap.Interface].
func (t *turns[K]) Pop() any {
	old := *t
	last := old[len(old)-1]
	old[len(old)-1] = turn[K]{} // so that the key can be collected
	*t = old[:len(old)-1]
	return last
}

// tell sends a value to c unless c holds one already.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
