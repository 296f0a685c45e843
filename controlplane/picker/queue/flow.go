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

// starts is a heap of flows. The first one is the next to be served.
type starts []*flow

func (s starts) Len() int { return len(s) }
func (s starts) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].start, s[j].start), cmp.Compare(s[i].order, s[j].order)) < 0
}
func (s starts) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].inStart, s[j].inStart = i, j
}
func (s *starts) Push(x any) {
	f := x.(*flow)
	f.inStart = len(*s)
	*s = append(*s, f)
}
func (s *starts) Pop() any {
	last := len(*s) - 1
	f := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	f.inStart = -1
	return f
}

// sizes is a heap of flows. The first one has most for its weight.
type sizes []*flow

func (s sizes) Len() int           { return len(s) }
func (s sizes) Less(i, j int) bool { return s[i].share() > s[j].share() }
func (s sizes) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].inTop, s[j].inTop = i, j
}
func (s *sizes) Push(x any) {
	f := x.(*flow)
	f.inTop = len(*s)
	*s = append(*s, f)
}
func (s *sizes) Pop() any {
	last := len(*s) - 1
	f := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	f.inTop = -1
	return f
}

var (
	_ heap.Interface = (*starts)(nil)
	_ heap.Interface = (*sizes)(nil)
)
