package filtertest

import "time"

// Advance moves the clock forward by d. Events that fall due on the way happen in order, each at its own time: the
// filter's ticks, and the timeouts of callouts, routes and idle streams. Nothing else moves the clock.
func (h *Host) Advance(d time.Duration) {
	h.t.Helper()
	if d < 0 {
		h.t.Fatalf("filtertest: Advance: the clock goes forward only, not by %s", d)
	}
	end := h.now.Add(d)
	for {
		at, strike := h.next()
		if strike == nil || at.After(end) {
			break
		}
		if at.After(h.now) {
			h.now = at
		}
		strike()
		h.settle("Advance")
	}
	h.now = end
}

// next returns the event that is due first, and its time. strike is nil if no event is pending.
func (h *Host) next() (first time.Time, strike func()) {
	consider := func(at time.Time, f func()) {
		if !at.IsZero() && (strike == nil || at.Before(first)) {
			first, strike = at, f
		}
	}
	if at, ok := h.worker.NextTick(); ok {
		consider(at, h.worker.Tick)
	}
	for _, c := range h.callouts {
		if c.Open() {
			consider(c.deadline, c.expire)
		}
	}
	for _, x := range h.exchanges {
		if !x.fromServer.ended {
			consider(x.deadline, x.expire)
		}
		if idle := h.settings.idleTimeout; idle > 0 {
			consider(x.active.Add(idle), x.idle)
		}
	}
	return first, strike
}

// expire runs when the route's timeout has passed.
func (x *Exchange) expire() {
	x.deadline = time.Time{}
	x.stream.ServerTimeout()
}

// idle runs when nothing has happened on the stream for stream_idle_timeout.
func (x *Exchange) idle() {
	x.active = x.host.now
	x.stream.Timeout()
}
