package main

import (
	"container/heap"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// server is an engine, and what a proxy and a bench know of it.
type server struct {
	engine *batch.Scheduler
	busy   bool // a step is running
	// active is how many requests the proxy has there, and served how many it had.
	active, served int
	// occupied is the time that requests have spent there, all together.
	occupied time.Duration
}

// fleet is a number of servers under a workload, in a time of its own.
type fleet struct {
	servers []*server
	policy  policy
	now     time.Duration
	events  events
	order   int

	live   map[*batch.Request]*flight
	cached int
	prompt int
	ttft   []time.Duration
	moment []float64 // max over mean of the requests at the servers, at every sample
}

// flight is a request on its way.
type flight struct {
	ask    *ask
	server int
	sent   time.Duration
}

// event is something that happens at a time.
type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) } //nolint:forcetypeassert // heap's own
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (f *fleet) at(when time.Duration, do func()) {
	f.order++
	heap.Push(&f.events, event{when, f.order, do})
}

// result is what a policy came to under a workload.
type result struct {
	hitRate          float64
	p50, p95, p99    time.Duration
	spread, work     float64 // max over mean of the servers' requests, on average over time, and of their steps' time
	moment           float64 // mean over time of max over mean of the servers' requests
	preemptions, end float64
}

// sampleEvery is how often the momentary spread is looked at.
const sampleEvery = 250 * time.Millisecond

// simulate plays a workload on new servers.
func simulate(w *prepared, servers int, o batch.Options, p policy) result {
	f := &fleet{policy: p, live: map[*batch.Request]*flight{}}
	for range servers {
		f.servers = append(f.servers, &server{engine: batch.New(o)})
	}
	for _, c := range w.conversations {
		f.at(c.start, func() { f.send(c.asks[0]) })
	}
	f.at(sampleEvery, f.sample)
	for len(f.events) > 0 {
		next := heap.Pop(&f.events).(event) //nolint:forcetypeassert // heap's own
		f.now = next.at
		next.do()
	}
	return f.result()
}

func (f *fleet) send(a *ask) {
	at := f.policy.choose(a, f.servers)
	s := f.servers[at]
	s.active++
	s.served++
	r := a.request()
	f.live[r] = &flight{a, at, f.now}
	s.engine.Add(r)
	if !s.busy {
		f.step(s)
	}
}

// step begins a server's next step, if it has something to do.
func (f *fleet) step(s *server) {
	took, ok := s.engine.Begin()
	if s.busy = ok; !ok {
		return
	}
	f.at(f.now+took, func() {
		for _, r := range s.engine.End() {
			f.produced(s, r)
		}
		f.step(s)
	})
}

func (f *fleet) produced(s *server, r *batch.Request) {
	one := f.live[r]
	if r.Generated == 1 {
		f.ttft = append(f.ttft, f.now-one.sent)
		f.cached += r.Cached
		f.prompt += len(one.ask.prompt)
	}
	if !r.Done() {
		return
	}
	delete(f.live, r)
	s.active--
	s.occupied += f.now - one.sent
	if next := one.ask.next; next != nil {
		f.at(f.now+next.wait, func() { f.send(next) })
	}
}

func (f *fleet) sample() {
	if len(f.events) == 0 {
		return // it is the last
	}
	total, most := 0, 0
	for _, s := range f.servers {
		total, most = total+s.active, max(most, s.active)
	}
	if total >= len(f.servers) { // with fewer some server has more than the mean by necessity
		f.moment = append(f.moment, float64(most)*float64(len(f.servers))/float64(total))
	}
	f.at(f.now+sampleEvery, f.sample)
}

func (f *fleet) result() result {
	slices.Sort(f.ttft)
	at := func(share float64) time.Duration { return f.ttft[min(int(share*float64(len(f.ttft))), len(f.ttft)-1)] }
	r := result{hitRate: float64(f.cached) / float64(f.prompt), p50: at(0.5), p95: at(0.95), p99: at(0.99),
		end: f.now.Seconds()}
	r.spread = maxOverMean(f.servers, func(s *server) float64 { return s.occupied.Seconds() })
	r.work = maxOverMean(f.servers, func(s *server) float64 { return s.engine.Counts().Worked.Seconds() })
	for _, m := range f.moment {
		r.moment += m / float64(len(f.moment))
	}
	for _, s := range f.servers {
		r.preemptions += float64(s.engine.Counts().Preemptions)
	}
	return r
}

func maxOverMean(all []*server, of func(*server) float64) float64 {
	total, most := 0.0, 0.0
	for _, s := range all {
		total, most = total+of(s), max(most, of(s))
	}
	return most * float64(len(all)) / total
}
