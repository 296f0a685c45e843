package record

import (
	"context"
	"sync"
)

// EventKind is what an [Event] is about.
type EventKind uint8

// The kinds of events.
const (
	// Began and Ended have the record's summary.
	Began EventKind = iota + 1
	// Line has a line of the record.
	Line
	Ended
	// Missed has only [Event.Lost]. It comes if no other event follows those that were lost.
	Missed
)

// Event is news of a record.
type Event struct {
	Kind EventKind
	ID   string
	// Summary is set if Kind is [Began] or [Ended].
	Summary Summary
	// Line is set if Kind is [Line]. It has no line end, and must not be changed.
	Line []byte
	// Lost is how many events before this one the subscriber was too slow for.
	Lost int
}

// The most that waits for a subscriber beside what it is being given: events, and bytes of their lines.
const (
	maxWaiting      = 4096
	maxWaitingBytes = 8 << 20
)

// subscriber is the queue of one subscriber.
type subscriber struct {
	mu    sync.Mutex
	queue []Event
	bytes int
	lost  int
	// closed reports whether no event follows those in the queue.
	closed bool
	wake   chan struct{}
}

// Subscribe returns a channel with the news of all records from now on. It is closed when ctx ends or the recorder is
// closed. A subscriber that is too slow loses events; [Event.Lost] counts them.
func (r *Recorder) Subscribe(ctx context.Context) <-chan Event {
	s := &subscriber{wake: make(chan struct{}, 1)}
	out := make(chan Event)
	r.mu.Lock()
	s.closed = r.closed
	r.subscribers[s] = true
	r.mu.Unlock()
	go func() {
		defer close(out)
		s.pass(ctx, out)
		r.mu.Lock()
		delete(r.subscribers, s)
		r.mu.Unlock()
	}()
	return out
}

// publish gives an event to all subscribers.
func (r *Recorder) publish(e Event) {
	for s := range r.subscribers {
		s.add(e)
	}
}

func (s *subscriber) add(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) >= maxWaiting || s.bytes+len(e.Line) > maxWaitingBytes {
		s.lost++
		return
	}
	e.Lost, s.lost = s.lost, 0
	s.queue = append(s.queue, e)
	s.bytes += len(e.Line)
	s.awaken()
}

// close ends the channel after what waits.
func (s *subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.awaken()
}

func (s *subscriber) awaken() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pass sends the events on out until ctx ends or none can follow.
func (s *subscriber) pass(ctx context.Context, out chan<- Event) {
	for {
		s.mu.Lock()
		queue, closed := s.queue, s.closed
		s.queue, s.bytes = nil, 0
		if s.lost > 0 {
			queue = append(queue, Event{Kind: Missed, Lost: s.lost})
			s.lost = 0
		}
		s.mu.Unlock()
		for _, e := range queue {
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
		if closed {
			return
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}
