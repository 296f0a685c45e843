package queue

import (
	"cmp"
	"container/heap"
)

// share returns how much waits for the flow's weight, in tokens.
func (f *flow) share() float64 { return float64(f.waiting.Tokens) / f.weight }

func (f *flow) append(i *Item) {
	i.before = f.last
	if f.last == nil {
		f.first = i
	} else {
		f.last.behind = i
	}
	f.last = i
	f.waiting.add(&i.Request, 1)
}

func (f *flow) cut(i *Item) {
	if i.before == nil {
		f.first = i.behind
	} else {
		i.before.behind = i.behind
	}
	if i.behind == nil {
		f.last = i.before
	} else {
		i.behind.before = i.before
	}
	i.before, i.behind = nil, nil
	f.waiting.add(&i.Request, -1)
}

// minSweep is how many flows a class may have before those are looked for that owe nothing.
const minSweep = 64

// sweep removes flows that have nothing and owe nothing, when there are twice as many flows as after the last time.
func (c *class) sweep() {
	if len(c.flows) < max(c.sweepAt, minSweep) {
		return
	}
	for client, f := range c.flows {
		if f.first == nil && f.finish <= c.virtual {
			delete(c.flows, client)
		}
	}
	c.sweepAt = 2 * len(c.flows)
}

// next returns a number that is larger than those before it: of two flows with one start, the one that has waited
// longer goes first.
func (c *class) next() uint64 {
	c.turn++
	return c.turn
}

// order is a heap of flows. which is its place among flow.places, and before reports whether a flow comes before another.
type order struct {
	flows  []*flow
	which  int
	before func(a, b *flow) bool
}

// startsBefore reports whether a flow is served before another.
func startsBefore(a, b *flow) bool {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.order, b.order)) < 0
}

// hasMore reports whether a flow has more for its weight than another.
func hasMore(a, b *flow) bool { return a.share() > b.share() }

// Len implements [heap.Interface], as the other methods do.
func (o *order) Len() int           { return len(o.flows) }
func (o *order) Less(i, j int) bool { return o.before(o.flows[i], o.flows[j]) }
func (o *order) Swap(i, j int) {
	o.flows[i], o.flows[j] = o.flows[j], o.flows[i]
	o.flows[i].places[o.which], o.flows[j].places[o.which] = i, j
}
func (o *order) Push(x any) {
	f := x.(*flow)
	f.places[o.which] = len(o.flows)
	o.flows = append(o.flows, f)
}
func (o *order) Pop() any {
	last := len(o.flows) - 1
	f := o.flows[last]
	o.flows[last] = nil
	o.flows = o.flows[:last]
	f.places[o.which] = -1
	return f
}

// fix puts a flow where it belongs now.
func (o *order) fix(f *flow) { heap.Fix(o, f.places[o.which]) }
