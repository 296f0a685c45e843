package pools

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// scheduler runs a task for each of its keys again and again: at most limit tasks at once, and one at a time for each
// key. A key's next run is one interval after its last task ended, plus or minus a tenth, so that runs do not bunch up.
type scheduler[K comparable] struct {
	interval func(K) time.Duration
	// spread reports whether new keys run at any time of their first interval. Otherwise they run at once.
	spread bool
	limit  int
	task   func(context.Context, K)
	wake   chan struct{}

	mu       sync.Mutex
	keys     map[K]bool
	running  map[K]bool
	schedule schedule[K] // of the keys that are not running
}

func newScheduler[K comparable](interval func(K) time.Duration, limit int, task func(context.Context, K),
) *scheduler[K] {
	return &scheduler[K]{interval: interval, limit: limit, task: task, wake: make(chan struct{}, 1), running: map[K]bool{}}
}

// always returns the interval of a scheduler whose keys have the same.
func always[K comparable](d time.Duration) func(K) time.Duration {
	return func(K) time.Duration { return d }
}

// set replaces the keys.
func (s *scheduler[K]) set(keys []K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.keys
	s.keys = make(map[K]bool, len(keys))
	now := time.Now()
	for _, k := range keys {
		if !s.keys[k] && !before[k] && !s.running[k] {
			at := now
			if s.spread {
				at = at.Add(time.Duration(rand.Float64() * float64(s.interval(k))))
			}
			s.schedule = append(s.schedule, scheduled[K]{at: at, key: k})
		}
		s.keys[k] = true
	}
	remaining := s.schedule[:0]
	for _, t := range s.schedule {
		if s.keys[t.key] {
			remaining = append(remaining, t)
		}
	}
	clear(s.schedule[len(remaining):])
	s.schedule = remaining
	heap.Init(&s.schedule)
	notify(s.wake)
}

// run runs the tasks. It returns when ctx has ended and the last task has returned.
func (s *scheduler[K]) run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		due, wait := s.due(time.Now())
		for _, k := range due {
			tasks.Go(func() {
				s.task(ctx, k)
				s.finish(k)
			})
		}
		timer.Reset(wait)
	}
}

// due removes the keys that are due, as many as the limit allows, and returns them. wait is how long it takes until the
// next key is due.
func (s *scheduler[K]) due(now time.Time) (due []K, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.running) < s.limit && len(s.schedule) > 0 {
		if left := s.schedule[0].at.Sub(now); left > 0 {
			return due, left
		}
		k := heap.Pop(&s.schedule).(scheduled[K]).key
		s.running[k] = true
		due = append(due, k)
	}
	return due, time.Hour
}

func (s *scheduler[K]) finish(k K) {
	s.mu.Lock()
	delete(s.running, k)
	if s.keys[k] {
		wait := time.Duration(float64(s.interval(k)) * (0.9 + 0.2*rand.Float64()))
		heap.Push(&s.schedule, scheduled[K]{at: time.Now().Add(wait), key: k})
	}
	s.mu.Unlock()
	notify(s.wake)
}

type scheduled[K comparable] struct {
	at  time.Time
	key K
}

// schedule is a heap with the next key first.
type schedule[K comparable] []scheduled[K]

// Len implements [heap.Interface].
func (t schedule[K]) Len() int { return len(t) }

// Less implements [heap.Interface].
func (t schedule[K]) Less(i, j int) bool { return t[i].at.Before(t[j].at) }

// Swap implements [heap.Interface].
func (t schedule[K]) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push implements [heap.Interface].
func (t *schedule[K]) Push(x any) { *t = append(*t, x.(scheduled[K])) }

// Pop implements [heap.Interface].
func (t *schedule[K]) Pop() any {
	old := *t
	last := old[len(old)-1]
	old[len(old)-1] = scheduled[K]{} // so that the key can be collected
	*t = old[:len(old)-1]
	return last
}

// notify sends a value to c unless c holds one already.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
