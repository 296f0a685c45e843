package load

import (
	"math"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
)

// Load is what is known of a server's load. A negative number is unknown.
type Load struct {
	// Sampled is when the server last told its load. It is zero if it never has. Then all numbers are unknown.
	Sampled time.Time
	// Problem is why the last question brought no load. It is "" if it did, or if there was no question.
	Problem string
	// Last is the last sample.
	Last engine.Load
	// Running and Waiting are numbers of requests, and Cache is the part of the KV cache that is used, from 0 to 1. They
	// are smoothed.
	Running, Waiting, Cache float64
	// Preemptions is how many requests of a second lose their place in the KV cache, smoothed.
	Preemptions float64
	// Hits is the part of the prompts' tokens that the prefix cache had of late, from 0 to 1.
	Hits float64
	// QueueTime is how many seconds a request has waited of late, on average.
	QueueTime float64
	// FirstToken is how many seconds a first token has taken of late, on average.
	FirstToken float64
}

// None is the load of a server that has not told it.
func None() Load {
	return Load{Running: -1, Waiting: -1, Cache: -1, Preemptions: -1, Hits: -1, QueueTime: -1, FirstToken: -1}
}

// NotAsked is why the load is unknown of a server that has not been asked yet.
const NotAsked = "not asked yet"

// StaleAfter is how long a load stays known after its last sample. It is long, because a server that has too much to do
// may not answer in time, and must not get more for that.
const StaleAfter = 30 * time.Second

// Known reports whether the server has told how many requests it has, and not too long ago.
func (l *Load) Known(now time.Time) bool {
	return !l.Sampled.IsZero() && now.Sub(l.Sampled) < StaleAfter && (l.Running >= 0 || l.Waiting >= 0)
}

// The times in which a sample loses all but 37 % of its part in a smoothed number.
const (
	gaugeTime = 4 * time.Second
	rateTime  = 15 * time.Second
	ratioTime = time.Minute
)

// Meter makes the [Load] of one server out of its samples. The zero value has none.
type Meter struct {
	last engine.Load
	at   time.Time // of the last sample
	load Load
	// Recent counts: tokens of prompts, the part of them in the cache, seconds waited, and requests that waited.
	queries, hits, queueTime, queued float64
	// The same of first tokens.
	firstToken, firstTokens float64
}

// Load returns the load.
func (m *Meter) Load() Load {
	if m.at.IsZero() {
		none := None()
		none.Problem = m.load.Problem
		return none
	}
	return m.load
}

// Fail notes that a question brought no load.
func (m *Meter) Fail(problem string) { m.load.Problem = problem }

// Add adds a sample. A sample that is not later than the last one is left out.
func (m *Meter) Add(at time.Time, s engine.Load) {
	passed := at.Sub(m.at)
	first := m.at.IsZero()
	if !first && passed <= 0 {
		return
	}
	if first || passed > StaleAfter {
		m.load = None() // what was before says nothing of now
		m.queries, m.hits, m.queueTime, m.queued = 0, 0, 0, 0
		m.firstToken, m.firstTokens = 0, 0
	}
	m.load.Sampled, m.load.Problem, m.load.Last = at, "", s
	m.load.Running = smooth(m.load.Running, float64(s.Running), passed, gaugeTime)
	m.load.Waiting = smooth(m.load.Waiting, float64(s.Waiting), passed, gaugeTime)
	m.load.Cache = smooth(m.load.Cache, s.Cache, passed, gaugeTime)
	if !first {
		m.count(s, passed)
	}
	m.last, m.at = s, at
}

// count updates what is derived from counters. After a restart of the server they begin again, and the time between the
// two samples is left out.
func (m *Meter) count(s engine.Load, passed time.Duration) {
	if n, ok := gain(m.last.Preemptions, s.Preemptions); ok {
		m.load.Preemptions = smooth(m.load.Preemptions, n/passed.Seconds(), passed, rateTime)
	} else if s.Preemptions < 0 {
		m.load.Preemptions = -1
	}
	m.load.Hits = ratio(&m.hits, &m.queries, m.last.Hits, s.Hits, m.last.Queries, s.Queries, passed)
	m.load.Hits = min(m.load.Hits, 1)
	m.load.QueueTime = ratio(&m.queueTime, &m.queued, m.last.QueueTime, s.QueueTime, m.last.Queued, s.Queued, passed)
	m.load.FirstToken = ratio(&m.firstToken, &m.firstTokens, m.last.FirstToken, s.FirstToken, m.last.FirstTokens,
		s.FirstTokens, passed)
}

// smooth returns the next value of a moving average. An unknown number ends it, and the first known one begins it.
func smooth(average, next float64, passed, half time.Duration) float64 {
	if average < 0 || next < 0 {
		return max(next, -1)
	}
	keep := math.Exp(-passed.Seconds() / half.Seconds())
	return keep*average + (1-keep)*next
}

// gain returns by how much a counter has grown. ok is false if that is unknown.
func gain(before, now float64) (n float64, ok bool) {
	if before < 0 || now < before {
		return 0, false
	}
	return now - before, true
}

// ratio returns one counter's gain of late to another's, or -1 if the other has not grown. part and whole are the gains
// of before, which weigh less and less.
func ratio(part, whole *float64, partBefore, partNow, wholeBefore, wholeNow float64, passed time.Duration) float64 {
	keep := math.Exp(-passed.Seconds() / ratioTime.Seconds())
	*part, *whole = *part*keep, *whole*keep
	n, ok := gain(partBefore, partNow)
	of, known := gain(wholeBefore, wholeNow)
	if ok && known {
		*part, *whole = *part+n, *whole+of
	}
	if *whole < 1e-6 {
		return -1
	}
	return *part / *whole
}
