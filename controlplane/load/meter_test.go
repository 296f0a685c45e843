package load

import (
	"math"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
)

var start = time.Unix(1_700_000_000, 0)

// told is a sample of a server that tells everything.
func told(running, waiting int) engine.Load {
	return engine.Load{Running: running, Waiting: waiting, Cache: 0.5}
}

// untold is a sample of a server that tells nothing.
func untold() engine.Load {
	return engine.Load{Running: -1, Waiting: -1, Cache: -1, Preemptions: -1, Queries: -1, Hits: -1, QueueTime: -1,
		Queued: -1}
}

// TestMeter checks that the first sample counts at once, and later ones in the time that has passed.
func TestMeter(t *testing.T) {
	var m Meter
	if l := m.Load(); l != None() || l.Known(start) {
		t.Errorf("without a sample: %+v", l)
	}
	m.Add(start, told(10, 0))
	if l := m.Load(); l.Running != 10 || l.Waiting != 0 || l.Cache != 0.5 || !l.Known(start) || l.Preemptions >= 0 {
		t.Errorf("after the first sample: %+v", l)
	}
	m.Add(start.Add(gaugeTime), told(20, 4))
	if l := m.Load(); math.Abs(l.Running-(20-10/math.E)) > 1e-9 || math.Abs(l.Waiting-(4-4/math.E)) > 1e-9 ||
		l.Last.Running != 20 {
		t.Errorf("after one time constant: %+v", l)
	}
	// The same sample again, and one of before, change nothing.
	before := m.Load()
	m.Add(start.Add(gaugeTime), told(1000, 1000))
	m.Add(start, told(1000, 1000))
	if l := m.Load(); l != before {
		t.Errorf("after samples that are not later: %+v", l)
	}
	m.Fail("connection refused")
	now := start.Add(gaugeTime + StaleAfter)
	if l := m.Load(); l.Problem != "connection refused" || !l.Known(now.Add(-1)) || l.Known(now) {
		t.Errorf("after no answer: %+v", l)
	}
	m.Add(now.Add(time.Second), told(3, 0))
	if l := m.Load(); l.Running != 3 || l.Problem != "" {
		t.Errorf("after a long silence: %+v", l)
	}
}

// TestUnknown checks that a number that is not told is unknown, and not zero, before and after others.
func TestUnknown(t *testing.T) {
	var m Meter
	m.Add(start, untold())
	if l := m.Load(); l.Running != -1 || l.Cache != -1 || l.Known(start) {
		t.Errorf("nothing was told: %+v", l)
	}
	m.Add(start.Add(time.Second), told(5, 1))
	if l := m.Load(); l.Running != 5 || !l.Known(start) {
		t.Errorf("told later: %+v", l)
	}
	m.Add(start.Add(2*time.Second), untold())
	m.Add(start.Add(3*time.Second), untold())
	if l := m.Load(); l.Running != -1 || l.Waiting != -1 || l.Hits != -1 || l.Preemptions != -1 || l.QueueTime != -1 {
		t.Errorf("no longer told: %+v", l)
	}
}

// TestCounters checks what is derived from counters, also when the server starts again.
func TestCounters(t *testing.T) {
	var m Meter
	add := func(seconds int, preemptions, queries, hits, queueTime, queued float64) Load {
		s := told(1, 0)
		s.Preemptions, s.Queries, s.Hits, s.QueueTime, s.Queued = preemptions, queries, hits, queueTime, queued
		m.Add(start.Add(time.Duration(seconds)*time.Second), s)
		return m.Load()
	}
	if l := add(0, 5, 1000, 900, 10, 4); l.Preemptions >= 0 || l.Hits >= 0 || l.QueueTime >= 0 {
		t.Errorf("counters say nothing at first: %+v", l)
	}
	if l := add(2, 5, 1000, 900, 10, 4); l.Preemptions != 0 || l.Hits != -1 || l.QueueTime != -1 {
		t.Errorf("nothing was asked: %+v", l)
	}
	if l := add(4, 9, 1200, 950, 14, 6); l.Preemptions <= 0 || l.Preemptions >= 2 || l.Hits != 0.25 || l.QueueTime != 2 {
		t.Errorf("got %+v", l)
	}
	before := m.Load()
	if l := add(6, 1, 10, 10, 0, 0); l.Preemptions != before.Preemptions || math.Abs(l.Hits-0.25) > 1e-9 {
		t.Errorf("after a start of the server: %+v, before %+v", l, before)
	}
	if l := add(8, 1, 20, 1000, 0, 0); l.Hits > 1 {
		t.Errorf("more hits than tokens: %+v", l)
	}
}

// TestNonsense checks that no sequence of samples makes a number that is none.
func TestNonsense(t *testing.T) {
	for _, v := range []float64{0, 1, -1, 1e15, 1e-300} {
		var m Meter
		for i, w := range []float64{v, -1, 1e15, 0, v, v} {
			m.Add(start.Add(time.Duration(i)*time.Nanosecond), engine.Load{Running: int(w), Waiting: int(v), Cache: w,
				Preemptions: w, Queries: v, Hits: w, QueueTime: w, Queued: v})
			l := m.Load()
			for _, got := range []float64{l.Running, l.Waiting, l.Cache, l.Preemptions, l.Hits, l.QueueTime} {
				if math.IsNaN(got) || math.IsInf(got, 0) || got < -1 {
					t.Fatalf("%g, %g: %+v", v, w, l)
				}
			}
		}
	}
}
