package ledger

import (
	"math"
	"time"
)

// bucket is what is used of a limit, as time: it takes until full until all of it has flowed back, because Max flows back
// in a Window. Times are microseconds; the Redis ledger calculates the same by the same formulas.
//
// A charge fills the bucket from what is there already up to its end, and what came first flows back first. So what is
// left of a charge at any time is what lies between now and its end, and no more is given back of it: a long answer's
// refund does not give a second time what has flowed back meanwhile. A refund moves all later ends towards now by shift.
type bucket struct {
	full  float64 // when nothing is used
	shift float64 // by how much refunds have moved the ends of charges since born
	born  float64 // since when the bucket has not been empty; earlier charges have flowed back
}

// slack is how much a charge may exceed a bucket, in microseconds: fractions are rounded.
const slack = 1

// cost returns how long it takes until n flows back. A limit of nothing lets nothing through, and keeps no account.
func (l *Limit) cost(n int64) float64 {
	if l.Max <= 0 {
		return 0
	}
	return float64(n) * micros(l.Window) / float64(l.Max)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func duration(micros float64) time.Duration { return time.Duration(micros * float64(time.Microsecond)) }

// excess returns how long it takes until n fit, in microseconds: nothing or less if they fit now.
func (b *bucket) excess(l *Limit, n int64, now float64) float64 {
	return math.Max(b.full, now) + l.cost(n) - now - micros(l.Window) - slack
}

// charge takes n, whether or not they fit, and returns the charge's end.
func (b *bucket) charge(l *Limit, n int64, now float64) float64 {
	if b.full <= now {
		*b = bucket{full: now, born: now}
	}
	b.full += l.cost(n)
	return b.full + b.shift
}

// refund gives back up to n of a charge that was made at a time and has an end.
func (b *bucket) refund(l *Limit, n int64, at, end, now float64) {
	if at < b.born {
		return
	}
	back := math.Min(l.cost(n), end-b.shift-now)
	if back > 0 {
		b.full -= back
		b.shift += back
	}
}

// used returns how much counts as used.
func (b *bucket) used(l *Limit, now float64) int64 {
	// The slack rounds the other way: what is used of nothing is nothing.
	return int64(math.Ceil(math.Max(b.full-now, 0)*float64(l.Max)/micros(l.Window) - 0.01))
}

func (b *bucket) state(l *Limit, now float64) State {
	return State{Remaining: max(l.Max-b.used(l, now), 0), Reset: duration(math.Max(b.full-now, 0))}
}
