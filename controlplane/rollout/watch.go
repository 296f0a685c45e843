package rollout

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/sight/history"
)

const (
	// settle is how long after an Envoy has accepted a filter what it counts may still be of the other one. Its workers
	// follow one after the other.
	settle = time.Second
	// halfLife is how long Envoys take to count half of what is remembered of the past again.
	halfLife = 10 * time.Minute
	// keepSilent is how long an Envoy that pushes nothing is remembered.
	keepSilent = time.Minute
	// defaultSenders is how many Envoys are watched at most, unless [NewWatch] is told otherwise.
	defaultSenders = 4000
)

// Watch takes in what Envoys push, and keeps apart what those with the new filter and those with the old one count.
// Its methods may be called by several goroutines at once.
type Watch struct {
	most int

	mu      sync.Mutex
	senders map[string]*sender
	sides   map[string]side // by the Envoy's name; nil while nothing is watched
	version string          // of the new filter, if it is another one than the old filter's
	past    Counts
	pastAt  time.Time
	fresh   Counts
	old     map[string]*Counts // by the Envoy's name
	dropped uint64
}

// sender is what is remembered of one Envoy.
type sender struct {
	name   string
	at     time.Time
	counts Counts
}

// side is on which side an Envoy is.
type side struct {
	fresh bool // it has the new filter
	since time.Time
}

// NewWatch returns a watch of at most so many Envoys. 0 means 4,000.
func NewWatch(most int) *Watch {
	return &Watch{most: cmp.Or(most, defaultSenders), senders: map[string]*sender{}, old: map[string]*Counts{}}
}

// Add takes in what an Envoy has pushed. from tells it apart from others, also from others of the same name, for as
// long as its counters go on.
func (w *Watch) Add(at time.Time, envoy, from string, families history.Families) {
	r := read(families)
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.senders[from]
	if s == nil {
		w.restarted(at, envoy)
		w.forget(at)
		if len(w.senders) >= w.most {
			w.dropped++
			return
		}
		w.senders[from] = &sender{name: envoy, at: at, counts: r.counts}
		return
	}
	gain, ok := r.counts.since(&s.counts)
	begin := s.at
	s.at, s.counts = at, r.counts
	if ok {
		w.count(s.name, begin, at, &gain, r.versions)
	}
}

// restarted counts an Envoy that begins to push, if it has pushed before. Its counters have begun anew.
func (w *Watch) restarted(at time.Time, envoy string) {
	for _, s := range w.senders {
		if s.name == envoy {
			w.count(envoy, at, at, with(Restarts, 1), nil)
			return
		}
	}
}

// with returns counts with one count.
func with(n Count, value float64) *Counts {
	c := &Counts{}
	c.N[n] = value
	return c
}

// count adds what an Envoy has counted between two times to the side on which it was then.
func (w *Watch) count(envoy string, begin, end time.Time, gain *Counts, versions []string) {
	if w.sides == nil {
		w.remember(end, gain)
		return
	}
	at, known := w.sides[envoy]
	if !known || begin.Before(at.since) {
		return // not connected, or in between
	}
	if !at.fresh {
		w.remember(end, gain)
		if w.old[envoy] == nil {
			w.old[envoy] = &Counts{}
		}
		w.old[envoy].add(gain, 1)
		return
	}
	if w.version != "" && len(versions) > 0 && !slices.Contains(versions, w.version) {
		return // it says that it runs another one
	}
	w.fresh.add(gain, 1)
}

// remember adds to the past, which fades.
func (w *Watch) remember(at time.Time, gain *Counts) {
	if !w.pastAt.IsZero() && at.After(w.pastAt) {
		w.past.scale(math.Exp2(-at.Sub(w.pastAt).Seconds() / halfLife.Seconds()))
	}
	w.pastAt = at
	w.past.add(gain, 1)
}

// forget drops Envoys that have been silent for long.
func (w *Watch) forget(at time.Time) {
	if len(w.senders) < w.most {
		return
	}
	for from, s := range w.senders {
		if at.Sub(s.at) > keepSilent {
			delete(w.senders, from)
		}
	}
}

// begin begins to count anew. version is the new filter's, or "" if it is the same as the old one's.
func (w *Watch) begin(version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.fresh, w.old, w.sides = version, Counts{}, map[string]*Counts{}, map[string]side{}
}

// end ends the counting of two sides.
func (w *Watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sides, w.fresh, w.old = nil, Counts{}, map[string]*Counts{}
}

// update says on which side each Envoy is now. An Envoy that is chosen and does not have the new filter yet is on
// neither.
func (w *Watch) update(now time.Time, all []Member, chosen Choice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := make(map[string]side, len(all))
	for _, m := range all {
		fresh := chosen.Has(m.ID, m.Group)
		if fresh && !m.Accepted {
			continue
		}
		s, was := w.sides[m.ID]
		if !was || s.fresh != fresh {
			s = side{fresh: fresh, since: now}
			if fresh {
				s.since = now.Add(settle)
			}
		}
		next[m.ID] = s
	}
	for _, m := range all { // of two Envoys with one name, one that does not have it yet counts
		if !m.Accepted && chosen.Has(m.ID, m.Group) {
			delete(next, m.ID)
		}
	}
	w.sides = next
}

// seen returns what was counted on both sides, and before.
func (w *Watch) seen() (fresh, old, past Counts, each []*Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.old {
		one := *c
		old.add(&one, 1)
		each = append(each, &one)
	}
	return w.fresh, old, w.past, each
}

// setPast sets what Envoys counted before, as it was saved by an earlier run.
func (w *Watch) setPast(past Counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.past = past
}
