package queue

import "time"

// ClassStats is what is known of a class.
type ClassStats struct {
	Waiting Amount
	// Oldest is how long the oldest of its requests has waited.
	Oldest time.Duration
	// Clients is how many clients have requests in it.
	Clients int
	// Counts are how many requests have ended how, by [Ending].
	Counts [endings]uint64
}

// Stats returns what is known of the classes.
func (q *Queue) Stats() []ClassStats {
	now := q.o.Now()
	all := make([]ClassStats, len(q.classes))
	for i := range q.classes {
		c := &q.classes[i]
		s := ClassStats{Waiting: c.waiting, Clients: c.starts.Len(), Counts: c.counts}
		for _, f := range c.starts.flows {
			s.Oldest = max(s.Oldest, now.Sub(f.first.Arrived)) // a flow's first is its oldest
		}
		all[i] = s
	}
	return all
}

// Rate returns how many tokens were admitted in a second of late.
func (q *Queue) Rate() float64 { return q.rate.at(q.o.Now()) }

// Waiting returns how much waits.
func (q *Queue) Waiting() Amount { return q.waiting }

// Now returns the time by the queue's clock.
func (q *Queue) Now() time.Time { return q.o.Now() }
