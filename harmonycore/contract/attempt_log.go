package contract

import "strconv"

const (
	// attemptLogMS is the least time between two lines about failed attempts at servers of one pool, in milliseconds.
	attemptLogMS = 1_000
	// maxLoggedPools is how many pools have lines of their own. Further ones share theirs.
	maxLoggedPools = 32
)

// AttemptLog writes the lines about attempts that have failed before their first token, for each pool at most one a
// second. The zero value is ready.
type AttemptLog struct {
	pools []loggedPool
}

// loggedPool is what was logged of a pool.
type loggedPool struct {
	name string
	// at is when the last line was written, in milliseconds since 1970, and unlogged is how many failures came since.
	at       int64
	unlogged int
}

// Line returns the line about an attempt at a pool's server that has failed, or "" if the pool's last line is too new.
// at is the time in milliseconds since 1970.
func (l *AttemptLog) Line(pool, server, how string, at int64) string {
	p := l.pool(pool)
	if p.at != 0 && at >= p.at && at-p.at < attemptLogMS {
		p.unlogged++
		return ""
	}
	more := ""
	if p.unlogged > 0 {
		more = ", and " + strconv.Itoa(p.unlogged) + " more since the last such line"
	}
	p.at, p.unlogged = at, 0
	return "harmony: pool " + pool + ": " + server + " has failed before its first token: " + how + more +
		": see docs/pools.md#failed-attempts"
}

func (l *AttemptLog) pool(name string) *loggedPool {
	for i := range l.pools {
		if l.pools[i].name == name {
			return &l.pools[i]
		}
	}
	if len(l.pools) < maxLoggedPools {
		l.pools = append(l.pools, loggedPool{name: name})
	}
	return &l.pools[len(l.pools)-1]
}
