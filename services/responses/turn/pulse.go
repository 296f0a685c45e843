package turn

import (
	"strconv"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

// pulse sends a client the events of a turn, and the event response.in_progress again whenever there has been none for
// a while. It numbers the turn's events, which know nothing of its own.
type pulse struct {
	every time.Duration
	send  func(*upstream.Event) error
	// kept is called for each event of its own.
	kept func()
	// due gets something when a stream is quiet that has not begun. Only the turn can begin it.
	due chan struct{}

	mu    sync.Mutex
	timer *time.Timer
	// newest is the data of the last event response.in_progress.
	newest []byte
	// next is the number of the client's next event, and added how many the client has of the pulse's own.
	next, added int64
	// err is why the client gets nothing more.
	err error
}

func newPulse(every time.Duration, send func(*upstream.Event) error, kept func()) *pulse {
	p := &pulse{every: every, send: send, kept: kept, due: make(chan struct{}, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(every, p.beat)
	return p
}

// emit sends an event of the turn's.
func (p *pulse) emit(e *upstream.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.added > 0 {
		e = &upstream.Event{Kind: e.Kind, Data: withNumber(e.Data, p.next)}
	}
	if e.Kind == "response.in_progress" {
		p.newest = e.Data
	}
	p.next++
	p.err = p.send(e)
	p.again()
	return p.err
}

// beat sends an event of the pulse's own.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil || p.timer == nil {
		return
	}
	if p.newest == nil {
		select {
		case p.due <- struct{}{}:
		default:
		}
	} else {
		p.err = p.send(&upstream.Event{Kind: "response.in_progress", Data: withNumber(p.newest, p.next)})
		p.next++
		p.added++
		p.kept()
	}
	p.again()
}

// again waits for the next time. The caller holds the lock.
func (p *pulse) again() {
	if p.timer != nil && p.err == nil {
		p.timer.Reset(p.every)
	}
}

// stop ends the pulse. An event that is being sent is waited for.
func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.timer = nil
}

// withNumber returns the data of an event with another number.
func withNumber(data []byte, number int64) []byte {
	for it := rawjson.Members(data); it.Next(); {
		if rawjson.View(it.Key) == "sequence_number" && it.Kind != rawjson.String {
			b := append(make([]byte, 0, len(data)+20), data[:it.End-len(it.Value)]...)
			return append(strconv.AppendInt(b, number, 10), data[it.End:]...)
		}
	}
	return data
}

// awaited returns what wait returns. Meanwhile it begins a stream that has been quiet for too long. wait must not use
// what a turn changes.
func awaited[T any](t *Turn, wait func() T) T {
	if t.pulse == nil {
		return wait()
	}
	done := make(chan T, 1)
	go func() { done <- wait() }()
	for {
		select {
		case result := <-done:
			return result
		case <-t.pulse.due:
			t.beginQuiet()
		}
	}
}

// beginQuiet begins the client's stream before the gateway has answered. From then on a failure is an event.
func (t *Turn) beginQuiet() {
	if t.sequence > 0 {
		return
	}
	response, failure := t.describe()
	if failure != nil { // the gateway will say the same
		return
	}
	response.Status = store.InProgress
	t.last, t.opened = t.object(response), true
	t.pulse.kept()
	err := t.open(t.last, t.pulse.emit)
	if err == nil && t.prepared {
		err = t.showOwn(t.pulse.emit)
	}
	if err != nil {
		t.env.Log.Debug("the client did not take the beginning of its stream", "response", t.ID, "error", err)
	}
	t.markNow()
}

// mark is how far a client's stream has come.
type mark struct {
	sequence int64
	index    int
	finished int
}

// markNow notes how far the stream has come: an answer that is lost is asked for again from there.
func (t *Turn) markNow() { t.marked = mark{t.sequence, t.index, len(t.output)} }
