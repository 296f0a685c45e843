package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/upstream"
)

const (
	// readSize is how much of an answer is read at once. There may be thousands of streams, and each has such a buffer.
	readSize = 4 << 10
	// maxPending is how much of an event that has not ended is kept back, so that a cut within it does not reach the
	// client. A larger one is passed on as it comes.
	maxPending = 64 << 10
	// maxHeld is how much is kept back of the events with which a stream opens.
	maxHeld = 64 << 10
)

// eventEnd ends an event, as the gateway writes it.
var eventEnd = []byte("\n\n")

// passing is a stream that is being passed on.
type passing struct {
	api    *API
	client *client
	// holds reports whether the events with which the stream opens wait for one that shows something, and held has them.
	holds bool
	held  []byte
	// mayHold reports whether they wait so if the stream has no marks.
	mayHold bool
	// shown reports whether the client has something of the model's answer.
	shown bool
	// pending is the beginning of an event. partial reports whether the client has some of it already.
	pending []byte
	partial bool
	end     ending
	// handover is what is kept of the stream so that another server can finish it, or nil. waiting are the events for
	// which there is no mark yet, and handed reports whether another server has been asked for the rest.
	handover *upstream.Handover
	waiting  []byte
	handed   bool
	// move has another server go on, and returns its answer or nil. moved is the answer that goes on.
	move  func(why string) *http.Response
	moved *http.Response
}

// begin begins a stream, or the rest of one. holds reports whether its first events are held.
func (p *passing) begin(holds bool) {
	p.handover.Begin()
	p.holds, p.end, p.partial = holds && p.handover == nil, running, false
	p.pending, p.waiting, p.held = p.pending[:0], p.waiting[:0], nil
	p.mayHold = holds
}

// errLeft means that the client takes nothing more.
var errLeft = errors.New("the client has left")

// errMoved means that another server goes on with the stream.
var errMoved = errors.New("the stream is moved")

// pass passes a stream on until its end. It returns errLeft, errMoved, or why the stream was cut.
func (p *passing) pass(ctx context.Context, from io.Reader) error {
	chunk := make([]byte, readSize)
	for {
		n, err := from.Read(chunk)
		switch failure := p.take(chunk[:n]); {
		case ctx.Err() != nil, failure != nil && !errors.Is(failure, errMoved):
			return errLeft
		case failure != nil:
			return errMoved
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && p.end != running:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

// take takes a piece of the stream, and passes the events on that are whole.
func (p *passing) take(chunk []byte) error {
	if len(chunk) == 0 {
		return nil
	}
	searched := max(len(p.pending)-1, 0) // an end may be cut in two
	p.pending = append(p.pending, chunk...)
	last := bytes.LastIndex(p.pending[searched:], eventEnd)
	if last < 0 {
		return p.overflow()
	}
	ready := p.pending[:searched+last+len(eventEnd)]
	if err := p.deliver(ready); err != nil {
		return err
	}
	rest := len(p.pending) - len(ready)
	if cap(p.pending) > maxKept { // a large event must not be paid for to the stream's end
		p.pending = append([]byte(nil), p.pending[len(ready):]...)
	} else {
		p.pending = p.pending[:copy(p.pending, p.pending[len(ready):])]
	}
	if p.partial = false; rest > maxPending {
		return p.overflow()
	}
	return nil
}

// maxKept is the largest buffer that is kept from event to event.
const maxKept = 16 << 10

// overflow passes on what is there of an event that is too large to be kept back.
func (p *passing) overflow() error {
	if len(p.pending) <= maxPending || p.handover.Marked() && len(p.pending)+len(p.waiting) <= upstream.MaxWaiting {
		return nil
	}
	if p.handover.Marked() {
		p.handover.TooLarge()
		if err := p.showWaiting(); err != nil {
			return err
		}
	}
	part := p.pending[:len(p.pending)-1] // the last byte may begin an end
	err := p.show(part)
	p.pending = append([]byte(nil), p.pending[len(part):]...)
	p.partial = true
	return err
}

// deliver passes whole events on.
func (p *passing) deliver(events []byte) error {
	if p.handover != nil {
		free, err := p.deliverMarked(events)
		if err != nil || len(free) == 0 {
			return err
		}
		events = free
	}
	first := p.partial // what is left of an event of which the client has some
	for rest := events; len(rest) > 0; {
		size := bytes.Index(rest, eventEnd) + len(eventEnd)
		event := rest[:size]
		rest = rest[size:]
		if first {
			first = false
			continue
		}
		if end := p.api.end(event); end != running {
			p.end = end
		}
		// A failure is held too: the client sees it if nothing is asked again.
		if p.holds && p.end != failed && !p.api.opens(event) {
			p.holds = false
		}
	}
	if p.holds {
		p.held = append(p.held, events...)
		p.holds = len(p.held) <= maxHeld
		if p.holds {
			return nil
		}
		events = nil
	}
	return p.show(events)
}

// show gives the client a part of the stream, after what was held of it.
func (p *passing) show(part []byte) error {
	p.holds, p.shown = false, true
	if len(p.held) > 0 {
		part = append(p.held, part...)
		p.held = nil
	}
	return p.client.write(part)
}

// deliverMarked passes the events on for which there is a mark, and keeps the others. It returns those that need none,
// of a stream that cannot be handed over.
func (p *passing) deliverMarked(events []byte) (free []byte, err error) {
	for rest := events; len(rest) > 0; {
		size := bytes.Index(rest, eventEnd) + len(eventEnd)
		event := rest[:size]
		rest = rest[size:]
		mark := p.handover.Take(event)
		if mark || !p.handover.Marked() {
			if err := p.showWaiting(); err != nil {
				return nil, err
			}
		}
		if why := p.handover.Moves(time.Now()); why != "" {
			if p.moved = p.move(why); p.moved != nil { //nolint:bodyclose // passStream closes it
				return nil, errMoved
			}
		}
		switch {
		case mark:
		case p.handover.Marked():
			if err := p.wait(event); err != nil {
				return nil, err
			}
		default:
			free = append(free, event...)
		}
	}
	if len(free) > 0 {
		p.holds = p.mayHold && !p.shown
	}
	return free, nil
}

// wait keeps an event until the next mark. The last one of a whole answer has none.
func (p *passing) wait(event []byte) error {
	p.waiting = append(p.waiting, event...)
	if end := p.api.end(event); end != running {
		p.end = end
	}
	if len(p.waiting) > upstream.MaxWaiting {
		p.handover.TooLarge()
	}
	if p.end == whole || !p.handover.Marked() {
		return p.showWaiting()
	}
	return nil
}

// showWaiting gives the client the events that have waited for a mark.
func (p *passing) showWaiting() error {
	if len(p.waiting) == 0 {
		return nil
	}
	err := p.show(p.waiting)
	if p.waiting = p.waiting[:0]; cap(p.waiting) > maxKept {
		p.waiting = nil
	}
	return err
}
