package queue

import (
	"container/heap"
	"time"
)

// Limits bound what waits. 0 means no limit.
type Limits struct {
	Requests      int
	Tokens, Bytes int64
}

// exceeded reports whether an amount is more than may wait.
func (l *Limits) exceeded(n Amount) bool {
	return l.Requests > 0 && n.Requests > l.Requests || l.Tokens > 0 && n.Tokens > l.Tokens ||
		l.Bytes > 0 && n.Bytes > l.Bytes
}

// Amount is how much waits.
type Amount struct {
	Requests      int
	Tokens, Bytes int64
}

func (a *Amount) add(r *Request, sign int) {
	a.Requests += sign
	a.Tokens += int64(sign) * r.Cost
	a.Bytes += int64(sign) * r.Bytes
}

// Request is a request that asks to be admitted.
type Request struct {
	Client string
	// Class is its class, from 0, which is the first to be admitted.
	Class int
	// Weight is its client's part of what its class gets, in relation to the others. 0 is 1.
	Weight int
	// Cost is how many tokens it costs, and Bytes how many bytes are held while it waits.
	Cost, Bytes int64
	// Deadline is when it stops to wait. The zero time is never.
	Deadline time.Time
	// Dropped is called when the queue itself gives the request up. It must not change
	// the queue.
	Dropped func(Ending)
}

// Ending is how a request has ended its stay in the queue, or why it has not got in.
type Ending uint8

// The endings.
const (
	// Waiting is a request that is still there.
	Waiting Ending = iota
	// Admitted is a request that a server may get.
	Admitted
	// Left is a request whose client has left.
	Left
	// Late is a request whose deadline has passed.
	Late
	// Unserved is a request that has waited in vain for a first server.
	Unserved
	// Full is a request that did not get in, because too much waits.
	Full
	// Share is a request that did not get in, because too much of its client waits.
	Share
	// Displaced is a request that was in a full queue, and gave its place to one of a better class, or of a client with
	// less.
	Displaced
	endings = iota
)

// Endings are all endings but [Waiting].
var Endings = []Ending{Admitted, Left, Late, Unserved, Full, Share, Displaced}

// String returns the ending as metrics call it.
func (e Ending) String() string {
	return [endings]string{"waiting", "admitted", "left", "deadline", "no_server", "full", "client_full", "displaced"}[e]
}

// Refused reports whether the ending is a refusal.
func (e Ending) Refused() bool { return e > Left }

// Item is a request in the queue.
type Item struct {
	Request
	// Arrived is when it came.
	Arrived time.Time

	ending         Ending
	flow           *flow
	before, behind *Item // in its flow
}

// Ending returns how the request has ended, or [Waiting].
func (i *Item) Ending() Ending { return i.ending }

// Options are the settings of a [Queue].
type Options struct {
	// All bounds what waits in all, and Client what waits of one client.
	All, Client Limits
	// Classes is how many classes there are. 0 is 1.
	Classes int
	// Now is the clock. It is [time.Now] if it is nil.
	Now func() time.Time
}

// Queue orders requests. Its methods must not be called by several goroutines at once.
//
// A better class goes first. Within a class it is start-time fair queueing: a client's request starts when its last one
// has been served at the client's rate, or now if that is past, and the request that starts first is admitted first. So
// clients with requests get tokens in the ratio of their weights, and a client that comes back is not paid for its
// absence. The start of a request is set when it becomes its client's first. A request that leaves costs its client
// nothing.
type Queue struct {
	o       Options
	classes []class
	waiting Amount
	rate    rate
}

// class is the requests of one class.
type class struct {
	flows   map[string]*flow
	starts  order // flows with requests, the one that is next at first
	sizes   order // the same flows, the one that has most for its weight at first
	virtual float64
	waiting Amount
	counts  [endings]uint64
	sweepAt int
	turn    uint64
}

// flow is the requests of one client in a class.
type flow struct {
	client        string
	weight        float64
	class         *class
	first, last   *Item
	waiting       Amount
	start, finish float64
	places        [2]int // in the class's starts and sizes
	order         uint64
}

// New returns an empty queue.
func New(o Options) *Queue {
	if o.Now == nil {
		o.Now = time.Now
	}
	q := &Queue{o: o, classes: make([]class, max(o.Classes, 1))}
	for i := range q.classes {
		q.classes[i] = class{flows: map[string]*flow{}, starts: order{which: 0, before: startsBefore},
			sizes: order{which: 1, before: hasMore}}
	}
	return q
}

// Limit replaces the bounds. What waits already stays.
func (q *Queue) Limit(all, client Limits) { q.o.All, q.o.Client = all, client }

// Classes returns how many classes there are.
func (q *Queue) Classes() int { return len(q.classes) }

// Len returns how many requests wait.
func (q *Queue) Len() int { return q.waiting.Requests }

// class returns the class of a request. A class that there is not is the last one.
func (q *Queue) class(n int) *class { return &q.classes[min(max(n, 0), len(q.classes)-1)] }

// Count counts a request that did not have to wait: it is admitted, or refused for lack of a server. r is not kept.
func (q *Queue) Count(r *Request, e Ending) {
	q.class(r.Class).counts[e]++
	if e == Admitted {
		q.rate.add(r.Cost, q.o.Now())
	}
}

// Push adds a request to the queue. If it does not get in, the result is nil and says why.
//
// In a full queue a request takes the place of the newest one of the worst class, if its own is better. In one class it
// takes the place of the newest one of the client that has most for its weight, if its own client has less, with it.
func (q *Queue) Push(r Request) (*Item, Ending) {
	c := q.class(r.Class)
	r.Weight, r.Cost, r.Bytes = max(r.Weight, 1), max(r.Cost, 1), max(r.Bytes, 0)
	now := q.o.Now()
	if !r.Deadline.IsZero() && !now.Before(r.Deadline) {
		c.counts[Late]++
		return nil, Late
	}
	var own, alone Amount
	if f := c.flows[r.Client]; f != nil {
		own = f.waiting
	}
	own.add(&r, 1)
	alone.add(&r, 1)
	if q.o.Client.exceeded(own) {
		c.counts[Share]++
		return nil, Share
	}
	if q.o.All.exceeded(alone) || !q.makeRoom(&r, c, own) {
		c.counts[Full]++
		return nil, Full
	}
	f := c.flows[r.Client]
	if f == nil {
		f = &flow{client: r.Client, class: c, places: [2]int{-1, -1}}
		c.flows[r.Client] = f
	}
	f.weight = float64(r.Weight)
	i := &Item{Request: r, Arrived: now, flow: f}
	f.append(i)
	c.waiting.add(&r, 1)
	q.waiting.add(&r, 1)
	if f.first == i {
		f.start, f.order = max(c.virtual, f.finish), c.next()
		heap.Push(&c.starts, f)
		heap.Push(&c.sizes, f)
	} else {
		c.starts.fix(f)
		c.sizes.fix(f)
	}
	c.sweep()
	return i, Waiting
}

// makeRoom displaces others until the request fits. It reports whether it does. own is what waits of its client with
// it.
func (q *Queue) makeRoom(r *Request, c *class, own Amount) bool {
	for {
		all := q.waiting
		all.add(r, 1)
		if !q.o.All.exceeded(all) {
			return true
		}
		worst := c
		for i := range q.classes {
			if one := &q.classes[len(q.classes)-1-i]; one == c || one.sizes.Len() > 0 {
				worst = one
				break
			}
		}
		if worst.sizes.Len() == 0 {
			return false
		}
		f := worst.sizes.flows[0]
		if worst == c && (f.client == r.Client || f.share() <= float64(own.Tokens)/float64(r.Weight)) {
			return false
		}
		i := f.last
		q.remove(i, Displaced)
		if i.Dropped != nil {
			i.Dropped(Displaced)
		}
	}
}

// Pop takes the next request out of the queue, which is then admitted. It returns nil if there is none. Requests whose
// deadline has passed are dropped.
func (q *Queue) Pop() *Item {
	now := q.o.Now()
	for n := range q.classes {
		c := &q.classes[n]
		for c.starts.Len() > 0 {
			f := c.starts.flows[0]
			if !q.dropLate(f.first, now) {
				return q.pop(f, now)
			}
		}
	}
	return nil
}

// PopIf is Pop of the next request that may be admitted, where only the first request of each client may.
func (q *Queue) PopIf(may func(*Request) bool) *Item {
	now := q.o.Now()
	for n := range q.classes {
		c := &q.classes[n]
		for {
			var next *flow
			for _, f := range c.starts.flows {
				if may(&f.first.Request) && (next == nil || startsBefore(f, next)) {
					next = f
				}
			}
			if next == nil {
				break
			}
			if !q.dropLate(next.first, now) {
				return q.pop(next, now)
			}
		}
	}
	return nil
}

// dropLate drops a request whose deadline has passed, and reports whether it has.
func (q *Queue) dropLate(i *Item, now time.Time) bool {
	if i.Deadline.IsZero() || now.Before(i.Deadline) {
		return false
	}
	q.remove(i, Late)
	if i.Dropped != nil {
		i.Dropped(Late)
	}
	return true
}

// pop admits the first request of a flow. Those with earlier starts, if there are some, keep what they are owed: the
// time of the class is the start of the first of them.
func (q *Queue) pop(f *flow, now time.Time) *Item {
	c, i := f.class, f.first
	c.virtual = max(c.virtual, c.starts.flows[0].start)
	f.finish = f.start + float64(i.Cost)/float64(i.Weight)
	q.rate.add(i.Cost, now)
	q.remove(i, Admitted)
	return i
}

// Leave takes a request out of the queue. It reports whether the request was still in it.
func (q *Queue) Leave(i *Item, e Ending) bool {
	if i.ending != Waiting {
		return false
	}
	q.remove(i, e)
	return true
}

// Drop takes all requests out of the queue, and calls their Dropped.
func (q *Queue) Drop(e Ending) {
	for n := range q.classes {
		for c := &q.classes[n]; c.starts.Len() > 0; {
			i := c.starts.flows[0].first
			q.remove(i, e)
			if i.Dropped != nil {
				i.Dropped(e)
			}
		}
	}
}

// remove takes an item out of its flow, and keeps the order of the flows.
func (q *Queue) remove(i *Item, e Ending) {
	f := i.flow
	c := f.class
	first := f.first == i
	f.cut(i)
	i.ending, i.flow = e, nil
	c.counts[e]++
	c.waiting.add(&i.Request, -1)
	q.waiting.add(&i.Request, -1)
	switch {
	case f.first == nil:
		heap.Remove(&c.starts, f.places[0])
		heap.Remove(&c.sizes, f.places[1])
		if f.finish <= c.virtual {
			delete(c.flows, f.client)
		}
	case first:
		// What the first one has cost, if it was admitted, counts for the next one.
		f.start = max(f.start, f.finish)
		f.order = c.next()
		c.starts.fix(f)
		c.sizes.fix(f)
	default:
		c.sizes.fix(f)
	}
	if c.starts.Len() == 0 {
		// Nothing waits, so nothing is owed.
		clear(c.flows)
		c.virtual, c.sweepAt = 0, 0
	}
}
