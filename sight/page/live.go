package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/sight/record"
)

const (
	// maxViewers is how many streams of events there may be at once.
	maxViewers = 1000
	// maxQueue is how many events wait for a viewer that reads slowly. Older ones are dropped.
	maxQueue = 64
	// writeTimeout is how long a viewer may take to read what was written. Then its stream ends.
	writeTimeout = 30 * time.Second
	// heartbeat is the longest time without a byte, so that a viewer that is gone is noticed.
	heartbeat = 15 * time.Second
	// statusPace is the shortest time between two looks at the status. The time that a look takes is at most one part in
	// statusShare, and all viewers together get at most statusRate bytes of it in a second.
	statusPace  = time.Second
	statusShare = 10
	statusRate  = 32 << 20
	// maxRunning is how many running requests viewers are told of, the newest ones.
	maxRunning = 100
)

// live sends events to viewers. It looks at the status and at the history only while there is a viewer, once for all of
// them.
type live struct {
	source Source
	pace   time.Duration

	mu      sync.Mutex
	viewers map[*viewer]struct{}
	stop    context.CancelFunc // ends the looking; nil while there is no viewer
	status  []byte             // the last status, as an event
	running []byte             // the last state of the running requests, as an event
	sampled int64              // the time of the last sample
}

// viewer is a stream of events to a browser. The mutex of [live] guards its fields.
type viewer struct {
	status  []byte        // the newest status, if it is not yet sent
	running []byte        // the newest state of the running requests, if it is not yet sent
	queue   [][]byte      // the other events
	wake    chan struct{} // holds a value while something is to be sent
}

func newLive(s Source, pace time.Duration) *live {
	return &live{source: s, pace: pace, viewers: map[*viewer]struct{}{}}
}

// event returns an event of a stream of events. data is one line.
func event(name string, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}

func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := l.join(context.WithoutCancel(r.Context()))
	if v == nil {
		refuse(w, http.StatusServiceUnavailable, "too_many_viewers", fmt.Sprintf(
			"%d browsers look at this page already, which is the most that it serves", maxViewers))
		return
	}
	defer l.leave(v)
	out := newStream(w)
	for {
		if out.send(l.take(v)) != nil {
			return
		}
		if _, ok := next(r.Context(), out, v.wake); !ok {
			return
		}
	}
}

// join adds a viewer, or returns nil if there are too many.
func (l *live) join(ctx context.Context) *viewer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.viewers) >= maxViewers {
		return nil
	}
	v := &viewer{status: l.status, wake: make(chan struct{}, 1)}
	l.viewers[v] = struct{}{}
	if l.stop == nil {
		ctx, l.stop = context.WithCancel(ctx)
		go l.look(ctx)
	}
	return v
}

func (l *live) leave(v *viewer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.viewers, v)
	if len(l.viewers) == 0 {
		l.stop()
		l.stop, l.status, l.running = nil, nil, nil // the next first viewer must not see an old one
	}
}

// take returns what is to be sent to a viewer.
func (l *live) take(v *viewer) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := v.queue
	if v.status != nil {
		all = slices.Insert(all, 0, v.status)
	}
	if v.running != nil { // before an end in the queue, which it must not undo
		all = slices.Insert(all, 0, v.running)
	}
	v.status, v.running, v.queue = nil, nil, nil
	return all
}

// look looks at everything until ctx ends.
func (l *live) look(ctx context.Context) {
	var requests <-chan record.Event // nil: none will come
	if l.source.Records != nil {
		requests = l.source.Records.Subscribe(ctx)
	}
	for {
		began := time.Now()
		l.lookAtStatus(ctx)
		took := time.Since(began)
		l.lookAtHistory(ctx)
		l.lookAtRequests(ctx)
		pause := time.After(max(l.pace, statusShare*took, l.sending()))
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-requests:
				if !ok {
					requests = nil // the recorder is closed
				} else if request := summaryEvent(e); request != nil {
					l.tell(ctx, func(v *viewer) { v.push(request) }, always)
				}
			case <-pause:
				waiting = false
			}
		}
	}
}

func always() bool { return true }

// sending returns the time that a status may take to be sent to all viewers.
func (l *live) sending() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(float64(len(l.viewers)) * float64(len(l.status)) / statusRate * float64(time.Second))
}

func (l *live) lookAtStatus(ctx context.Context) {
	text, err := json.Marshal(l.source.Status())
	if err != nil {
		return // GET /api/status says why
	}
	status := event("status", text)
	l.tell(ctx, func(v *viewer) { v.status = status }, func() bool {
		changed := !bytes.Equal(status, l.status)
		l.status = status
		return changed
	})
}

func (l *live) lookAtHistory(ctx context.Context) {
	if l.source.History == nil {
		return
	}
	latest, ok := l.source.History.Latest()
	if !ok {
		return
	}
	text, err := json.Marshal(latest)
	if err != nil {
		return // cannot happen: it is names and numbers
	}
	sample := event("sample", text)
	l.tell(ctx, func(v *viewer) { v.push(sample) }, func() bool {
		is := latest.Time != l.sampled
		l.sampled = latest.Time
		return is
	})
}

// lookAtRequests tells how far the running requests are.
func (l *live) lookAtRequests(ctx context.Context) {
	if l.source.Records == nil {
		return
	}
	text, err := json.Marshal(l.source.Records.Running(maxRunning))
	if err != nil {
		return // cannot happen: it is texts and numbers
	}
	running := event("running", text)
	l.tell(ctx, func(v *viewer) { v.running = running }, func() bool {
		changed := !bytes.Equal(running, l.running)
		l.running = running
		return changed
	})
}

// tell hands an event to every viewer, if is reports true. Nothing is told after ctx has ended, because others may look
// by then.
func (l *live) tell(ctx context.Context, hand func(*viewer), is func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil || !is() {
		return
	}
	for v := range l.viewers {
		hand(v)
		select {
		case v.wake <- struct{}{}:
		default:
		}
	}
}

// push adds an event, and drops the oldest one if there are too many.
func (v *viewer) push(e []byte) {
	if len(v.queue) >= maxQueue {
		v.queue = slices.Delete(v.queue, 0, 1)
	}
	v.queue = append(v.queue, e)
}
