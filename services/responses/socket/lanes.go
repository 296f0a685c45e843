package socket

import (
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// lane has the requests with one stream_id. They are answered one after the other.
type lane struct {
	name  string
	queue [][]byte
	// listed reports whether the lane is in lanes.waiting or makes a response.
	listed bool
}

// lanes are the lanes of a connection and its queue.
type lanes struct {
	mu    sync.Mutex
	named map[string]*lane
	// waiting are the lanes with a request that could be begun, in the order in which they came.
	waiting []*lane
	// running is how many responses are made, queued how many requests wait, and pending the size of both in bytes.
	running, queued int
	pending         int64
	// rested is when the last response ended.
	rested time.Time
	// over is why no request is taken any more, or nil.
	over *ending
}

// ending is why and how a connection ends.
type ending struct {
	code   websocket.StatusCode
	reason string
	// refused is the error for requests that still come. told reports whether the client gets it before the end too.
	refused *openai.Error
	told    bool
}

func (l *lanes) init() { l.named, l.rested = map[string]*lane{}, time.Now() }

// add adds a request to a lane.
func (c *conn) add(name string, data []byte) *openai.Error {
	size := int64(cap(data))
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.named[name]
	switch {
	case c.over != nil:
		return c.over.refused
	case l == nil && name != "" && c.lanesWithName() >= c.server.limits().Lanes:
		return errStreamLimit(c.server.limits().Lanes)
	case c.queued >= c.server.limits().Queued && (c.running >= c.server.limits().InFlight || l != nil && l.listed),
		c.pending+size > c.server.limits().Pending:
		return errQueueLimit()
	}
	if l == nil {
		l = &lane{name: name}
		c.named[name] = l
	}
	l.queue = append(l.queue, data)
	c.queued++
	c.pending += size
	if !l.listed {
		l.listed = true
		c.waiting = append(c.waiting, l)
	}
	c.begin()
	return nil
}

// lanesWithName returns the number of lanes without the one that has no name.
func (l *lanes) lanesWithName() int {
	n := len(l.named)
	if l.named[""] != nil {
		n--
	}
	return n
}

// begin begins as many responses as may be made at once. The caller holds the lock.
func (c *conn) begin() {
	for c.running < c.server.limits().InFlight && len(c.waiting) > 0 {
		l := c.waiting[0]
		c.waiting = c.waiting[1:]
		data := l.queue[0]
		l.queue[0], l.queue = nil, l.queue[1:]
		c.queued--
		c.running++
		c.work.Go(func() {
			c.create(l.name, data)
			c.ended(l, int64(cap(data)))
		})
	}
}

// ended notes that the response of a lane has been made.
func (c *conn) ended(l *lane, size int64) {
	c.server.pending.give(size)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.pending -= size
	c.rested = time.Now()
	if l.listed = len(l.queue) > 0; l.listed {
		c.waiting = append(c.waiting, l)
	}
	c.begin()
	c.signal()
}

// signal signals that the connection can be closed, if it can. The caller holds the lock.
func (c *conn) signal() {
	if c.over == nil || c.running > 0 || c.queued > 0 {
		return
	}
	select {
	case c.quiet <- struct{}{}:
	default:
	}
}

// stop takes no more requests.
func (c *conn) stop(e *ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		c.over = e
	}
	c.signal()
}

// drop forgets the requests that wait.
func (c *conn) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = &ending{refused: errStopping()}
	for _, l := range c.named {
		for _, data := range l.queue {
			c.server.pending.give(int64(cap(data)))
		}
		l.queue, l.listed = nil, true // none is begun any more
	}
	c.waiting, c.queued = nil, 0
}

// idleFor returns how long the connection may still be without a request.
func (c *conn) idleFor() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running > 0 || c.queued > 0 {
		return c.server.limits().Idle
	}
	return c.server.limits().Idle - time.Since(c.rested)
}

// watch ends the connection when it is too old, when it is idle, or when the server drains.
func (c *conn) watch() {
	life, idle := time.NewTimer(c.server.limits().Lifetime), time.NewTimer(c.server.limits().Idle)
	defer life.Stop()
	defer idle.Stop()
	draining, expired := c.server.draining, false
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-draining:
			draining = nil
			c.stop(&ending{code: websocket.StatusServiceRestart, reason: "the service is being stopped", refused: errStopping()})
		case <-life.C:
			if expired {
				c.close()
				return
			}
			expired = true
			life.Reset(c.server.limits().Grace)
			// Clients take an error for the end of what they wait for, so it must not come before that.
			c.stop(&ending{code: websocket.StatusGoingAway, reason: "the connection is too old", told: true,
				refused: errExpired(c.server.limits().Lifetime)})
		case <-idle.C:
			left := c.idleFor()
			if left <= 0 {
				c.stop(&ending{code: websocket.StatusGoingAway, reason: "no request came for too long",
					refused: errStopping()})
				left = c.server.limits().Idle
			}
			idle.Reset(left)
		case <-c.quiet:
			c.close()
			return
		}
	}
}

// close closes the connection, which ends its reader.
func (c *conn) close() {
	c.mu.Lock()
	e := c.over
	c.mu.Unlock()
	if e.told {
		c.sendError(e.refused, "")
	}
	c.shut(e.code, e.reason)
}
