package responses

import (
	"cmp"
	"container/list"
	"maps"
	"slices"
	"sync"

	"github.com/harmonyedge/harmonyedge/services/responses/items"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// The limits of [recent]: a connection remembers so many of the largest conversations, and all take this part of the
// memory, on top of it.
const (
	recentPerSession = 4
	recentPart       = 8
)

// itemOverhead is what an item takes beside its text, in bytes.
const itemOverhead = 256

// recent has the newest response of each lane of all connections, if it is not stored. The response that was not used
// for longest is forgotten first, when a connection or all of them have too much.
type recent struct {
	mu sync.Mutex
	// largest is the size of the largest conversation that can be continued, in bytes.
	largest int64
	// limit is the size of all together.
	limit int64
	order list.List // of *remembered; what was used last is first
	bytes int64
	// uses counts the uses of all.
	uses uint64
}

// remembered is a response that a connection remembers.
type remembered struct {
	of   *session
	lane string
	id   string
	// items are the whole conversation. They are nil if it is too large to be continued.
	items []store.Item
	// text is the size of the conversation, and bytes the memory that it takes.
	text, bytes int64
	place       *list.Element
	// used is when it was last used, in uses.
	used uint64
}

// set sets the limits.
func (r *recent) set(largest, memory int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.largest, r.limit = largest, max(memory/recentPart, recentPerSession*largest)
	r.shrink()
}

// shrink forgets what is too much for all connections. The caller holds the lock.
func (r *recent) shrink() {
	for r.bytes > r.limit {
		r.remove(r.order.Back().Value.(*remembered))
	}
}

// put makes a response the newest one of a lane.
func (r *recent) put(of *session, lane, id string, whole []store.Item) {
	e := &remembered{of: of, lane: lane, id: id, items: whole, bytes: itemOverhead}
	texts := int64(0)
	for i := range whole {
		texts += items.TextSize(&whole[i])
		e.text += int64(len(whole[i].Body))
		e.bytes += int64(len(whole[i].Body)) + itemOverhead
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if texts > r.largest || e.bytes > recentPerSession*r.largest {
		e.items, e.text, e.bytes = nil, max(e.text, 2*r.largest+1), itemOverhead
	}
	r.remove(of.lanes[lane])
	of.lanes[lane], e.place = e, r.order.PushFront(e)
	r.use(e)
	of.bytes += e.bytes
	r.bytes += e.bytes
	for of.bytes > recentPerSession*r.largest {
		r.remove(slices.MinFunc(slices.Collect(maps.Values(of.lanes)), byUse))
	}
	r.shrink()
}

// use notes that a response is used. The caller holds the lock.
func (r *recent) use(e *remembered) {
	r.order.MoveToFront(e.place)
	r.uses++
	e.used = r.uses
}

func byUse(a, b *remembered) int { return cmp.Compare(a.used, b.used) }

// remove forgets a response. The caller holds the lock.
func (r *recent) remove(e *remembered) {
	if e == nil {
		return
	}
	r.order.Remove(e.place)
	delete(e.of.lanes, e.lane)
	e.of.bytes -= e.bytes
	r.bytes -= e.bytes
}

// find returns the conversation up to a response that a session remembers, on whichever lane, and its size. One that is
// too large to be continued has no items.
func (r *recent) find(of *session, id string) (items []store.Item, size int64, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range of.lanes {
		if e.id == id {
			r.use(e)
			return e.items, e.text, true
		}
	}
	return nil, 0, false
}

// forget forgets the newest response of a lane, if it has this id. An empty id forgets whichever it is.
func (r *recent) forget(of *session, lane, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := of.lanes[lane]; e != nil && (id == "" || e.id == id) {
		r.remove(e)
	}
}

// drop forgets all of a session.
func (r *recent) drop(of *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range of.lanes {
		r.remove(e)
	}
}
