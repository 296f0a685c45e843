package queue

import (
	"math"
	"time"
)

// rateTime is the time in which what was admitted loses all but 37 % of its part in the rate.
const rateTime = 30 * time.Second

// rate is how many tokens were admitted in a second of late.
type rate struct {
	sum   float64
	first time.Time
	last  time.Time
}

func (r *rate) add(tokens int64, now time.Time) {
	if r.first.IsZero() {
		r.first = now
	}
	r.sum, r.last = r.sumAt(now)+float64(tokens), now
}

func (r *rate) sumAt(now time.Time) float64 {
	return r.sum * math.Exp(-max(now.Sub(r.last), 0).Seconds()/rateTime.Seconds())
}

// at returns the rate, or 0 if nothing is known.
func (r *rate) at(now time.Time) float64 {
	passed := now.Sub(r.first)
	if r.first.IsZero() || passed < time.Second {
		return 0 // too short to say
	}
	// The average of a time that is shorter than rateTime is over that time.
	return r.sumAt(now) / (rateTime.Seconds() * -math.Expm1(-passed.Seconds()/rateTime.Seconds()))
}

// The range of [Queue.Wait], and what it is while nothing is known.
const (
	minWait     = time.Second
	maxWait     = 10 * time.Minute
	unknownWait = 2 * time.Second
)

// Wait estimates how long it takes until a request like this one would be admitted if it came now: what is ahead of it,
// at the rate of late. Ahead are the better classes, and of its own class what is more than its client's share leaves
// it.
func (q *Queue) Wait(r *Request) time.Duration {
	now := q.o.Now()
	rate := q.rate.at(now)
	if rate <= 0 {
		return unknownWait
	}
	c := q.class(r.Class)
	ahead, weights := 0.0, 0.0
	for i := range q.classes {
		one := &q.classes[i]
		if one == c {
			break
		}
		ahead += float64(one.waiting.Tokens)
	}
	own, weight := 0.0, float64(max(r.Weight, 1))
	if f := c.flows[r.Client]; f != nil {
		own = float64(f.waiting.Tokens)
	}
	for _, f := range c.starts.flows {
		if f.client != r.Client {
			weights += f.weight
		}
	}
	// In the time in which its client gets own, the others get their shares of it, or all that they have.
	others := min(float64(c.waiting.Tokens)-own, (own+float64(r.Cost))*weights/weight)
	seconds := (ahead + own + others) / rate
	return min(max(time.Duration(seconds*float64(time.Second)), minWait), maxWait)
}
