package history

import (
	"maps"
	"math"
	"time"
)

const (
	// failedAttempts are attempts at a pool's servers that have failed before their first token. They have no series.
	failedAttempts = "failed_attempts"
	poolLabel      = "pool"
)

// FailedFor is how long a failed attempt is remembered. It is longer than a proxy puts a server out, so that a server
// that fails whenever it is tried again is never forgotten in between.
const FailedFor = 90 * time.Second

// failures are how many attempts have failed, by pool and by interval.
type failures map[string]map[int64]float64

func (f failures) add(pool string, interval int64, n float64) {
	if n <= 0 {
		return
	}
	if f[pool] == nil {
		f[pool] = map[int64]float64{}
	}
	f[pool][interval] += n
}

// forget drops what is older than an interval.
func (f failures) forget(oldest int64) {
	for pool, all := range f {
		maps.DeleteFunc(all, func(interval int64, _ float64) bool { return interval < oldest })
		if len(all) == 0 {
			delete(f, pool)
		}
	}
}

// SetPools says which pools there are. Failed attempts at servers of others are not counted.
func (h *History) SetPools(names []string) {
	pools := make(map[string]bool, len(names))
	for _, name := range names {
		pools[name] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pools = pools
	maps.DeleteFunc(h.failed, func(pool string, _ map[int64]float64) bool { return !pools[pool] })
}

func (h *History) knownPools() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pools
}

// Failed returns how many attempts at each pool's servers have failed before their first token within [FailedFor].
// Pools without one are missing.
func (h *History) Failed() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed.forget(h.interval(h.now()) - int64(FailedFor)/h.width)
	all := make(map[string]int, len(h.failed))
	for pool, intervals := range h.failed {
		sum := 0.0
		for _, n := range intervals {
			sum += n
		}
		all[pool] = int(math.Round(sum))
	}
	return all
}
