package proxy

import (
	"sync"
	"time"
)

// Outliers is when a server of a cluster is put out: outlier_detection.
type Outliers struct {
	// Failures is how many failures in a row put a server out; 0 means that none is ever put out.
	Failures int
	// Statuses are the statuses of answers that are failures. Failed connections are failures too.
	Statuses []int
	// Time is how long a server is put out for the first time. It grows each time, up to Max.
	Time, Max time.Duration
	// Percent is how many of the servers may be out at once.
	Percent int
}

// record is what a server's last requests have come to.
type record struct {
	mu sync.Mutex
	// failures is how many have failed in a row, and times how often the server has been put out. until is when the last
	// time ends.
	failures, times int
	until           time.Time
}

// count counts a request. A server that is well for as long as it was out begins anew.
func (r *record) count(failed bool, o *Outliers, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !failed {
		r.failures = 0
		if now.Sub(r.until) > time.Duration(r.times)*o.Time {
			r.times = 0
		}
		return
	}
	if r.failures++; o.Failures == 0 || r.failures < o.Failures || now.Before(r.until) {
		return
	}
	r.failures = 0
	r.times++
	r.until = now.Add(min(time.Duration(r.times)*o.Time, o.Max))
}

func (r *record) isOut(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.until)
}

// putOut returns the servers that get requests only if no other is left.
func (c *cluster) putOut() []*endpoint {
	var out []*endpoint
	now := c.now()
	for _, e := range c.endpoints {
		if (len(out)+1)*100 <= c.Outliers.Percent*len(c.endpoints) && e.record.isOut(now) {
			out = append(out, e)
		}
	}
	return out
}
