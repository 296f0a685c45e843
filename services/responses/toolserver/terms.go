package toolserver

import (
	"cmp"
	"time"

	"github.com/harmonyedge/harmonyedge/services/responses/egress"
)

// Terms are what can change while a pool is used.
type Terms struct {
	// Call and Result are the same as in [Limits]. Zeros stand for the defaults.
	Call   time.Duration
	Result int64
	// Guard knows which addresses may be asked. Nil: addresses of the public internet.
	Guard *egress.Guard
	// Servers are the operator's servers. Sessions with others that have been the operator's end. Nil: none ends.
	Servers []*Server

	kept map[key]bool
}

func (t *Terms) orDefaults() *Terms {
	d := Limits{}.OrDefaults()
	c := &Terms{Call: cmp.Or(t.Call, d.Call), Result: cmp.Or(t.Result, d.Result), Guard: t.Guard}
	if c.Guard == nil {
		c.Guard = &egress.Guard{}
	}
	if t.Servers != nil {
		c.kept = make(map[key]bool, len(t.Servers))
		for _, s := range t.Servers {
			c.kept[s.origin()] = true
		}
	}
	return c
}

// keeps reports whether a session is as it would be made anew.
func (t *Terms) keeps(s *session) bool {
	switch {
	case s.terms.Call != t.Call:
		return false
	case !s.server.Private:
		return s.terms.Guard == t.Guard
	}
	return t.kept == nil || t.kept[s.server.origin()]
}

// Apply puts terms in force, for the calls that begin after it. A session that they change ends when no call uses it.
// The others stay.
func (p *Pool) Apply(t Terms) {
	now := t.orDefaults()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.terms.Store(now)
	for _, s := range p.sessions {
		if s.users == 0 && !now.keeps(s) {
			p.remove(s)
		}
	}
}
