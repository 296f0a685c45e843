package picker

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/picker/queue"
)

// QueueOptions are the settings of a pool's queue.
type QueueOptions struct {
	// Capacity is how many requests a server works on at once.
	Capacity int
	// BlockSize is how many tokens a block of a prompt has.
	BlockSize int
	// All bounds what waits in all, and Client what waits of one client.
	All, Client queue.Limits
	// Classes are the names of the classes, the first one first. There is at least one.
	Classes []string
	// Deadlines are how long requests of the classes wait.
	Deadlines []time.Duration
	// Hold is how long a request waits for a first server.
	Hold time.Duration
	// ClassOf returns the place of a client's class, and its weight.
	ClassOf func(client string) (class, weight int)
	// Wake is called when requests are held, and again after Hold while they are. It may be nil. It must not block.
	Wake func(waiting queue.Amount)
}

// queued is a pool's queue. The pool's mutex guards it.
type queued struct {
	o       QueueOptions
	q       *queue.Queue
	pending map[*queue.Item]*ticket
	// emptySince is when the pool has lost its last server. It is zero while it has one. woken is when a server was last
	// asked for.
	emptySince, woken time.Time
	waits             []waits // by class
	shares            *shares
}

// waits is how long the admitted requests of a class have waited.
type waits struct {
	buckets []uint64
	sum     float64
	count   uint64
}

// waitBuckets are the upper bounds of waits, in seconds.
var waitBuckets = []float64{0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}

func (w *waits) add(d time.Duration) {
	if w.buckets == nil {
		w.buckets = make([]uint64, len(waitBuckets))
	}
	s := d.Seconds()
	w.sum += s
	w.count++
	for i, bound := range waitBuckets {
		if s <= bound {
			w.buckets[i]++
		}
	}
}

// ticket is a request that asks to be admitted.
type ticket struct {
	chain []uint64
	// patience is how long it waits when there is a server, and latest when it stops to wait in any case. The zero time is
	// never.
	patience time.Duration
	latest   time.Time
	// most is the longest time for which it may wait.
	most time.Duration
	item *queue.Item
	// done gets the one decision.
	done chan decision
}

// decision is what becomes of a request that has asked to be admitted.
type decision struct {
	choice *choice // nil if it is not admitted, or if there is no server to choose
	ending queue.Ending
	class  string
	waited time.Duration
	// after is when to try again, for a refusal.
	after time.Duration
}

// cost is what a request says that it costs.
type cost struct {
	prompt, answer, bytes int64
	client                string
}

// maxCost is the most that one number of a cost may be.
const maxCost = 1_000_000_000

// parseCost reads the value of a cost header.
func parseCost(text string) (c cost, ok bool) {
	parts := strings.SplitN(text, " ", 4)
	if len(parts) != 4 {
		return cost{}, false
	}
	for i, to := range []*int64{&c.prompt, &c.answer, &c.bytes} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil || n < 0 || n > maxCost {
			return cost{}, false
		}
		*to = n
	}
	c.client = parts[3]
	return c, true
}

// parseTimeout reads how long a client wants to wait: in seconds, or with a unit. ok is false for what is neither.
func parseTimeout(text string) (d time.Duration, ok bool) {
	const most = 24 * time.Hour
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if !(s >= 0) {
			return 0, false
		}
		return time.Duration(min(s, most.Seconds()) * float64(time.Second)), true
	}
	d, err := time.ParseDuration(text)
	return min(d, most), err == nil && d >= 0
}

// hasQueue reports whether the pool has a queue.
func (p *pool) hasQueue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queued != nil
}

// SetQueues replaces the queues' settings. A pool that is not named has no queue. Requests that wait there are admitted
// or, without a server, refused.
func (p *Picker) SetQueues(all map[string]QueueOptions) {
	p.mu.Lock()
	for name := range all {
		if p.pools[name] == nil {
			p.pools[name] = &pool{}
		}
	}
	pools := make(map[string]*pool, len(p.pools))
	for name, one := range p.pools {
		pools[name] = one
	}
	p.mu.Unlock()
	for name, one := range pools {
		o, ok := all[name]
		one.mu.Lock()
		one.setQueue(o, ok, p)
		one.mu.Unlock()
	}
}

func (p *pool) setQueue(o QueueOptions, on bool, of *Picker) {
	switch {
	case !on && p.queued == nil:
		return
	case !on:
		p.release(of)
		p.queued = nil
		return
	case p.queued != nil && p.queued.q.Classes() == len(o.Classes):
		p.queued.o = o
		p.queued.q.Limit(o.All, o.Client)
		p.admitAll(of)
		return
	}
	before := p.queued
	p.queued = &queued{o: o, pending: map[*queue.Item]*ticket{}, waits: make([]waits, len(o.Classes)),
		shares: newShares(len(o.Classes)),
		q:      queue.New(queue.Options{All: o.All, Client: o.Client, Classes: len(o.Classes), Now: of.now})}
	if before != nil {
		p.queued.take(before)
		p.admitAll(of)
	}
}

// take takes over the requests that wait in a queue with other classes, in their order.
func (k *queued) take(before *queued) {
	k.emptySince, k.woken = before.emptySince, before.woken
	for i := before.q.Pop(); i != nil; i = before.q.Pop() {
		t, r := before.pending[i], i.Request
		r.Class, r.Weight = k.o.ClassOf(r.Client)
		r.Class = min(max(r.Class, 0), len(k.o.Classes)-1)
		class := r.Class
		r.Dropped = func(e queue.Ending) { k.drop(t, e, class) }
		next, refused := k.q.Push(r)
		if next == nil {
			t.done <- decision{ending: refused, class: k.className(class), after: k.after(&r), waited: before.since(i)}
			continue
		}
		next.Arrived = i.Arrived
		t.item, k.pending[next] = next, t
	}
}

// release admits all requests that wait, because their queue ends.
func (p *pool) release(of *Picker) {
	for i := p.queued.q.Pop(); i != nil; i = p.queued.q.Pop() {
		p.admit(i, nil, of)
	}
}

// ask asks for a server for a request. If the request waits and its stream ends, the caller must call leave.
// timeout is how long the client wants to wait at most, or negative.
func (p *Picker) ask(pool *pool, chain []uint64, c cost, timeout time.Duration) *ticket {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	k, now := pool.queued, p.now()
	t := &ticket{chain: chain[:min(len(chain), maxChain)], done: make(chan decision, 1)}
	if k == nil { // it has just been turned off
		t.done <- decision{choice: p.pick(pool, t.chain, nil), ending: queue.Admitted}
		return t
	}
	class, weight := k.o.ClassOf(c.client)
	class = min(max(class, 0), len(k.o.Classes)-1)
	t.patience = k.o.Deadlines[class]
	t.most = t.patience + k.o.Hold
	if timeout >= 0 {
		t.patience, t.latest, t.most = min(t.patience, timeout), now.Add(timeout), min(t.most, timeout)
	}
	r := queue.Request{Client: c.client, Class: class, Weight: weight, Cost: max(c.prompt+c.answer, 1), Bytes: c.bytes}
	pool.noteEmpty(now)
	if empty := !k.emptySince.IsZero(); k.q.Len() == 0 || empty && k.o.Hold == 0 {
		// Without any server, and without a hold, all is as without a queue: Envoy's policy chooses, or refuses.
		if pool.room(p, k.keptFrom(&r)) || empty && k.o.Hold == 0 {
			k.q.Count(&r, queue.Admitted)
			k.waits[class].add(0)
			t.done <- decision{choice: pool.give(p, t.chain, withRoom, &r), ending: queue.Admitted, class: k.o.Classes[class]}
			return t
		}
	}
	// What a server has of the prompt need not be computed.
	if found := pool.found(t.chain); found > 0 {
		r.Cost = max(r.Cost-min(int64(found*k.o.BlockSize), c.prompt), 1)
	}
	deadline := now.Add(t.patience)
	if !k.emptySince.IsZero() {
		deadline = t.latest
	}
	r.Deadline = deadline
	r.Dropped = func(e queue.Ending) { k.drop(t, e, class) }
	item, refused := k.q.Push(r)
	if item == nil {
		t.done <- decision{ending: refused, class: k.o.Classes[class], after: k.after(&r)}
		return t
	}
	t.item, k.pending[item] = item, t
	if !k.emptySince.IsZero() {
		k.wake(now)
	} else if k.keptFrom(&r) == 0 {
		pool.admitAll(p) // there may be room that is kept from those that wait
	}
	return t
}

// keptFrom returns how many requests less than its limit a server may have to get this one.
func (k *queued) keptFrom(r *queue.Request) int {
	if k.shares.more(r.Client, r.Class, r.Weight, k.q.Now()) {
		return kept(k.o.Capacity)
	}
	return 0
}

// give chooses a server for a request that is admitted, and counts it as its client's.
func (p *pool) give(of *Picker, chain []uint64, allowed func(*server) bool, r *queue.Request) *choice {
	c := of.pick(p, chain, allowed)
	if c != nil {
		c.shares, c.cost = p.queued.shares, r.Cost
		c.standing = c.shares.begin(r.Client, r.Class, r.Weight, r.Cost)
	}
	return c
}

// drop tells a ticket that the queue has given it up.
func (k *queued) drop(t *ticket, e queue.Ending, class int) {
	delete(k.pending, t.item)
	after := unservedWait
	if e != queue.Unserved {
		after = k.after(&t.item.Request)
	}
	t.done <- decision{ending: e, class: k.className(class), after: after, waited: k.since(t.item)}
}

// className returns the name of a class. The configuration may have others by now.
func (k *queued) className(class int) string { return k.o.Classes[min(class, len(k.o.Classes)-1)] }

func (k *queued) since(i *queue.Item) time.Duration { return max(k.q.Now().Sub(i.Arrived), 0) }

// after returns when a request that is refused may be tried again: when one like it would be admitted, and up to a
// quarter later, so that not all come back at once.
func (k *queued) after(r *queue.Request) time.Duration {
	wait := k.q.Wait(r)
	return wait + time.Duration(rand.Int64N(int64(wait)/4+1))
}

// unservedWait is when to try again where there was no server for too long. How long one takes to start is not known.
const unservedWait = 30 * time.Second

// leave takes a request out of the queue whose client has left.
func (p *Picker) leave(pool *pool, t *ticket) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if k := pool.queued; k != nil && t.item != nil && k.q.Leave(t.item, queue.Left) {
		delete(k.pending, t.item)
		return
	}
	select {
	case d := <-t.done: // it was admitted just now
		if d.choice != nil {
			d.choice.endLocked()
		}
	default:
	}
}

// expire ends the wait of a request whose time is over. It returns when to ask again if it is not, and 0 if the request
// has its decision.
func (p *Picker) expire(pool *pool, t *ticket) time.Duration {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	k, now := pool.queued, p.now()
	if k == nil || t.item == nil || t.item.Ending() != queue.Waiting {
		return 0
	}
	pool.noteEmpty(now)
	ending, until := queue.Late, t.item.Deadline
	if !k.emptySince.IsZero() {
		begin := t.item.Arrived
		if begin.Before(k.emptySince) {
			begin = k.emptySince
		}
		if held := begin.Add(k.o.Hold); until.IsZero() || held.Before(until) {
			ending, until = queue.Unserved, held
		}
	}
	if now.Before(until) && k.o.Hold > 0 {
		return min(until.Sub(now), max(k.o.Hold, time.Second)) // the pool may lose its servers meanwhile
	}
	if now.Before(until) {
		return until.Sub(now)
	}
	if k.q.Leave(t.item, ending) {
		k.drop(t, ending, t.item.Class)
	}
	return 0
}

// noteEmpty notes whether the pool has a server that is ready. When the first one comes, the time of those that wait
// begins.
func (p *pool) noteEmpty(now time.Time) {
	k := p.queued
	empty := true
	for _, s := range p.servers {
		if !s.Doubtful || k.o.Hold == 0 {
			empty = false
			break
		}
	}
	switch {
	case empty && k.emptySince.IsZero():
		k.emptySince = now
		for i, t := range k.pending {
			i.Deadline = t.latest
		}
		if k.o.Hold == 0 {
			k.q.Drop(queue.Unserved)
		} else if len(k.pending) > 0 {
			k.wake(now)
		}
	case !empty && !k.emptySince.IsZero():
		k.emptySince, k.woken = time.Time{}, time.Time{}
		for i, t := range k.pending {
			if i.Deadline = now.Add(t.patience); !t.latest.IsZero() && t.latest.Before(i.Deadline) {
				i.Deadline = t.latest
			}
		}
	}
}

// wake asks for a server, once until one comes or those that were held at the time have been refused.
func (k *queued) wake(now time.Time) {
	if k.o.Wake == nil || k.o.Hold == 0 || !k.woken.IsZero() && now.Sub(k.woken) < k.o.Hold {
		return
	}
	k.woken = now
	k.o.Wake(k.q.Waiting())
}

// room notes which servers have room for a request, and for so many more, and reports whether one has. A server that is
// the last choice counts only if all servers are.
func (p *pool) room(of *Picker, more int) bool {
	now, well := of.now(), false
	for _, s := range p.servers {
		well = well || !s.last(now)
	}
	some := false
	for _, s := range p.servers {
		limit := p.limitOf(s)
		s.hasRoom = (!well || !s.last(now)) && float64(s.running)+s.foreign < max(limit-float64(more), min(limit, 1))
		some = some || s.hasRoom
	}
	return some
}

// last reports whether the server is the last choice: it may be gone, or has just failed to take a request.
func (s *server) last(now time.Time) bool { return s.Doubtful || now.Sub(s.suspected) < suspicion }

// withRoom reports whether a server has room, as [pool.room] has noted it.
func withRoom(s *server) bool { return s.hasRoom }

// limitOf returns how many requests a server may have. A server in which requests wait has as many as it runs: its
// memory holds no more.
func (p *pool) limitOf(s *server) float64 {
	limit := float64(p.queued.o.Capacity)
	if s.Waiting > 0 && s.Working >= 0 {
		limit = min(limit, max(s.Working, 1))
	}
	return limit
}

// found returns how many blocks of a prompt the server has that has most of them.
func (p *pool) found(chain []uint64) (most int) {
	if len(chain) == 0 {
		return 0
	}
	for _, s := range p.servers {
		most = max(most, s.cache.found(chain))
	}
	return most
}

// admitAll admits requests while there is room for them.
func (p *pool) admitAll(of *Picker) {
	k := p.queued
	if k == nil {
		return
	}
	p.noteEmpty(of.now())
	for k.q.Len() > 0 && k.emptySince.IsZero() {
		var i *queue.Item
		switch all := kept(k.o.Capacity); {
		case p.room(of, all):
			i = k.q.Pop()
		case all > 0 && p.room(of, 0):
			i = k.q.PopIf(func(r *queue.Request) bool { return k.keptFrom(r) == 0 })
		}
		if i == nil {
			return
		}
		p.room(of, k.keptFrom(&i.Request))
		p.admit(i, withRoom, of)
	}
}

// admit gives a request that has left the queue its server.
func (p *pool) admit(i *queue.Item, allowed func(*server) bool, of *Picker) {
	k := p.queued
	t := k.pending[i]
	delete(k.pending, i)
	waited := k.since(i)
	k.waits[i.Class].add(waited)
	t.done <- decision{choice: p.give(of, t.chain, allowed, &i.Request), ending: queue.Admitted, class: k.className(i.Class),
		waited: waited}
}
