package contract

import (
	"strconv"
	"strings"
)

// A proxy may run the module a second time, at every attempt at a server (RATIONALE.md#210). There it holds an
// answer's headers until the first token. An answer that fails before it gets a status after which the proxy asks
// another server.
const (
	// AttemptsRoot is the root id of the module there.
	AttemptsRoot = "harmony_attempts"
	// AttemptState is the stream's property with an [Attempt]. Without it an answer is not held.
	AttemptState = LogStatePrefix + "attempt"
	// LostState is the stream's property with the attempts that were lost: the servers' addresses with a space between
	// two. [SilentMark] is behind the address of a server that was silent, and [UnsentMark] behind one to which no
	// connection had been seen.
	LostState  = LogStatePrefix + "lost"
	SilentMark = "?"
	UnsentMark = "!"
	// FailedHeader is a header of an answer that has failed before its first token: how. Its status was 200 and is
	// [FailedStatus]. With the value [GivenUp] it is a header of the reply that a request gets which is given up. The
	// client gets neither.
	FailedHeader = InternalHeaderPrefix + "failed"
	FailedStatus = 503
	GivenUp      = "given-up"
	// MaxLost is how many servers may break off an answer, or be silent, before the request is given up: it may be the
	// request that does it.
	MaxLost = 2
	// AttemptSlackMS is how much longer than the stall timeout, in milliseconds, the proxy waits for a silent server
	// before it asks another one. In the middle of an answer the filter is then the one that ends it.
	AttemptSlackMS = 1000
)

// Attempt is what an attempt at a server must know of its request.
type Attempt struct {
	// Kind is the kind of the pool's servers, or [AnyAnswer], and Pool the pool's name for logs and metrics.
	Kind, Pool string
	// SilentMS is the time in milliseconds after which a server without an answer counts as silent. 0: never.
	SilentMS int
}

// AnyAnswer stands for the kind of an attempt whose answer is not held, because the client has asked the server for it
// in its own words. It is still known how many servers the request has met.
const AnyAnswer = "any"

// String returns the value of [AttemptState].
func (a Attempt) String() string { return a.Kind + " " + strconv.Itoa(a.SilentMS) + " " + a.Pool }

// ParseAttempt reads the value of [AttemptState]. It reports whether it is one.
func ParseAttempt(text string) (a Attempt, ok bool) {
	kind, rest, _ := strings.Cut(text, " ")
	silent, pool, ok := strings.Cut(rest, " ")
	n, err := strconv.Atoi(silent)
	return Attempt{Kind: kind, Pool: pool, SilentMS: n}, ok && err == nil && n >= 0
}

// Lost are the attempts of one request that were lost.
type Lost struct {
	// Servers is how many different servers they were at, and Silent how many of the attempts ended in silence. Those at
	// servers that may never have got the request are not among them.
	Servers, Silent int
	// Last is the address of the server of the last one, and LastSilent reports whether it ended in silence. Last is empty
	// if that server may never have got the request.
	Last       string
	LastSilent bool
}

// ParseLost reads the value of [LostState].
func ParseLost(text string) (l Lost) {
	known := ""
	for rest := text; rest != ""; {
		var entry string
		entry, rest, _ = strings.Cut(rest, " ")
		l.Last, l.LastSilent = "", false
		if strings.HasSuffix(entry, UnsentMark) {
			continue
		}
		if l.Last, l.LastSilent = strings.CutSuffix(entry, SilentMark); l.LastSilent {
			l.Silent++
		}
		if l.Last != known { // with the second one the request is given up
			l.Servers++
		}
		known = l.Last
	}
	return l
}

// Over reports whether no further server is to be asked.
func (l Lost) Over() bool { return l.Servers >= MaxLost || l.Silent >= MaxLost }

// How returns how the last one was lost, for logs.
func (l Lost) How() string {
	if l.LastSilent {
		return "silent"
	}
	return "broken off"
}
