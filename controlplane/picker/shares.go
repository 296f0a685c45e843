package picker

import (
	"container/list"
	"time"
)

const (
	// keptPart is how many requests of a server's capacity there are for each one that is kept for clients that have not
	// more than their share.
	keptPart = 6
	// recently is how long a client counts among those that want something after its last request has ended. An agent
	// is silent while its tools run.
	recently = 10 * time.Second
)

// shares knows what the clients of a pool have at its servers.
type shares struct {
	clients map[string]*standing
	classes []having
	// idle are the clients without requests at the servers, the one first whose last request ended first.
	idle list.List
}

// having is what the clients of a class have.
type having struct{ running, weights float64 }

// standing is what a client has at the servers.
type standing struct {
	client          string
	class           int
	weight, running float64 // running is in tokens
	requests        int
	ended           time.Time
	place           *list.Element // in the list of those without requests, or nil
}

func newShares(classes int) *shares {
	return &shares{clients: map[string]*standing{}, classes: make([]having, classes)}
}

// begin notes that a client's request goes to a server.
func (s *shares) begin(client string, class, weight int, cost int64) *standing {
	one := s.clients[client]
	if one == nil {
		one = &standing{client: client, class: class}
		s.clients[client] = one
	}
	if one.place != nil {
		s.idle.Remove(one.place)
		one.place = nil
	}
	// Its class and its weight may be others than with its last request.
	s.add(one, -1)
	one.class, one.weight = class, float64(max(weight, 1))
	one.running += float64(cost)
	one.requests++
	s.add(one, 1)
	return one
}

// end notes that a request that cost so much has ended.
func (s *shares) end(one *standing, cost int64, now time.Time) {
	s.add(one, -1)
	one.running -= float64(cost)
	one.requests--
	if one.requests == 0 {
		one.running, one.ended = 0, now
		one.place = s.idle.PushBack(one)
	}
	s.add(one, 1)
	s.forget(now)
}

// add adds what a client has to its class, or takes it away.
func (s *shares) add(one *standing, sign float64) {
	c := &s.classes[one.class]
	c.running += sign * one.running
	c.weights += sign * one.weight
}

// forget removes the clients that have wanted nothing of late.
func (s *shares) forget(now time.Time) {
	for e := s.idle.Front(); e != nil; e = s.idle.Front() {
		one := e.Value.(*standing)
		if now.Sub(one.ended) < recently {
			return
		}
		s.idle.Remove(e)
		s.add(one, -1)
		delete(s.clients, one.client)
	}
}

// kept returns how many requests of a server's capacity are kept.
func kept(capacity int) int { return (capacity + keptPart/3) / keptPart }

// more reports whether a client has more at the servers than its share: what all clients of its class have and of worse
// ones, by weight. A client of a class behind another that wants something has always more. One that is alone never has.
func (s *shares) more(client string, class, weight int, now time.Time) bool {
	s.forget(now)
	for _, better := range s.classes[:class] {
		if better.weights >= 1 {
			return true
		}
	}
	own := s.clients[client]
	if own == nil || own.class != class {
		return false
	}
	all := 0.0
	for _, one := range s.classes[class:] {
		all += one.running
	}
	return own.running*s.classes[class].weights > all*float64(max(weight, 1))
}
