package load

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Middle is the weight of a server with as much to do as the middle of its pool, and of one whose load is unknown.
const Middle = 100

// weights are the weights that a load can give, each about 1.4 times the one before. level is the index less middle.
var weights = [...]uint32{25, 35, 50, 71, Middle, 141}

const (
	middle = 4
	// leave is how many levels a load must be away from the middle's before the weight is another one, and turn how many
	// from any other level. With 0.5 a load on a border would change it all the time. With 1 a load that is the middle's
	// again but for a trifle never would.
	leave = 1.0
	turn  = 0.75
	// few is how many requests more or less do not matter. So idle servers do not trade weights for every request.
	few = 4
	// From cacheFull on, a KV cache is so full that new requests make it preempt others. A full one counts cacheCounts
	// times its requests, and so does a server that preempts more than preempting requests a second.
	cacheFull   = 0.9
	cacheCounts = 1.5
	preempting  = 0.1
)

// Server is what the weight of a server of a pool depends on.
type Server[K comparable] struct {
	Key  K
	Load Load
	// Share is the part of its requests that a server gets while it is new, above 0. 1 is all of them.
	Share float64
}

// Weight is the weight of a server, and why it has it.
type Weight struct {
	// Value is 0 if the server gets no requests.
	Value uint32
	// Reason is "" for a server that has as much to do as the others.
	Reason string
}

// Basis is what weights depend on beside [Server.Share].
type Basis uint8

// The bases.
const (
	// ByShare is nothing else.
	ByShare Basis = iota
	// ByLoad is the load.
	ByLoad
	// ByEarlierLoad is the load at the last call: no weight moves.
	ByEarlierLoad
)

// Weigher gives servers weights. K names a server. The zero value is ready.
type Weigher[K comparable] struct {
	levels map[K]int // below or above middle; a server that is not in it is there
}

// Weigh returns the weights of the servers of a pool, in their order. A weight changes only when the load of a server
// has moved a whole step away from it, and by one step at a time: the next load shows what it does. by says what the
// weights depend on.
func (w *Weigher[K]) Weigh(now time.Time, servers []Server[K], by Basis) []Weight {
	if w.levels == nil {
		w.levels = map[K]int{}
	}
	requests := make([]float64, len(servers)) // negative: unknown
	var known []float64
	for i := range servers {
		requests[i] = -1
		if l := &servers[i].Load; by != ByShare && l.Known(now) {
			requests[i] = counted(l)
			known = append(known, requests[i])
		}
	}
	center := median(known)
	all := make([]Weight, len(servers))
	for i := range servers {
		s := &servers[i]
		level, reason := 0, ""
		switch {
		case by == ByShare:
		case requests[i] < 0:
			reason = "its load is unknown"
		default:
			if level = w.levels[s.Key]; by == ByLoad {
				level = nextLevel(level, requests[i], center)
			}
			if level != 0 {
				reason = fmt.Sprintf("its load is %.0f, and the middle of the pool %.0f", requests[i], center)
			}
		}
		if level == 0 {
			delete(w.levels, s.Key)
		} else {
			w.levels[s.Key] = level
		}
		value := weights[middle+level]
		if s.Share > 0 && s.Share < 1 {
			value = max(uint32(float64(value)*s.Share), 1)
			reason = join(fmt.Sprintf("it is new: %.0f %% of its share", 100*s.Share), reason)
		}
		all[i] = Weight{value, reason}
	}
	return all
}

// nextLevel returns the level of a server with so many requests, which had a level before.
func nextLevel(level int, requests, center float64) int {
	wanted := -2 * math.Log2((requests+few)/(center+few))
	away := math.Abs(wanted - float64(level))
	if level == 0 && away < leave || level != 0 && away < turn {
		return level
	}
	next := max(-middle, min(int(math.Round(wanted)), len(weights)-1-middle))
	return max(level-1, min(next, level+1))
}

// Forget forgets the servers that keep returns false for.
func (w *Weigher[K]) Forget(keep func(K) bool) {
	for k := range w.levels {
		if !keep(k) {
			delete(w.levels, k)
		}
	}
}

// counted returns how many requests a server's load counts for.
func counted(l *Load) float64 {
	n := max(l.Running, 0) + max(l.Waiting, 0)
	if l.Preemptions > preempting {
		return n * cacheCounts
	}
	if full := (min(l.Cache, 1) - cacheFull) / (1 - cacheFull); full > 0 {
		n *= 1 + (cacheCounts-1)*full
	}
	return n
}

// median returns the middle of the numbers, which it sorts. One server that tells nonsense does not move it far.
func median(all []float64) float64 {
	n := len(all)
	if n == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// Share returns the part of its requests that a server gets so long after it came, in steps, so that few pushes tell of
// it. window is the time after which it gets all of them.
func Share(since, window time.Duration) float64 {
	if since >= window {
		return 1
	}
	switch part := float64(since) / float64(window); {
	case part < 0.25:
		return 0.1
	case part < 0.5:
		return 0.25
	case part < 0.75:
		return 0.5
	default:
		return 0.75
	}
}
