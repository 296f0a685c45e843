package socket

import (
	"sync/atomic"
	"time"
)

// Limits are what connections may take.
type Limits struct {
	// Connections is how many a replica has at once.
	Connections int
	// InFlight is how many responses of a connection are made at once. Queued is how many requests may wait for that.
	InFlight, Queued int
	// Lanes is how many lanes with a name a connection may use.
	Lanes int
	// Idle frames are those that ask for no response that is made. IdleFrames is how many may come in a row.
	IdleFrames int
	// Frame is the size of the largest frame. Pending is how many bytes of a connection's requests are held until they are
	// answered, and AllPending is how many of all connections', with the bytes of frames that are being read.
	Frame, Pending, AllPending int64
	// Lifetime is how long a connection takes requests. Grace is how long the last responses may take after that.
	Lifetime, Grace time.Duration
	// Idle is how long a connection may be without a request.
	Idle time.Duration
	// Ping is how often a client is asked whether it is still there.
	Ping time.Duration
	// Quiet is how long a response is silent until the client is told that it is still being made.
	Quiet time.Duration
	// FrameTime is how long a frame may take to arrive, and WriteTime how long a client may take to receive one.
	FrameTime, WriteTime time.Duration
	// CloseTime is how long a client may take to answer that its connection is closed.
	CloseTime time.Duration
}

// DefaultLimits returns the limits of a replica whose largest frame has this size. InFlight, Lanes and Lifetime are
// the same as in OpenAI's API.
func DefaultLimits(frame int64) Limits {
	return Limits{
		Connections: 1024, InFlight: 16, Queued: 64, Lanes: 32, IdleFrames: 256,
		Frame: frame, Pending: 4 * frame, AllPending: 64 * frame,
		Lifetime: time.Hour, Grace: 10 * time.Minute, Idle: 10 * time.Minute,
		// Proxies close connections on which nothing moves. Few do so within half a minute.
		Ping: 20 * time.Second,
		// Codex gives a response up that is silent for 5 minutes, and pings are no sign of life to it.
		Quiet:     30 * time.Second,
		FrameTime: time.Minute, WriteTime: time.Minute, CloseTime: 5 * time.Second,
	}
}

// OrDefaults returns the limits with defaults in place of zeros. Frame must be set.
func (l Limits) OrDefaults() Limits {
	d := DefaultLimits(l.Frame)
	for _, n := range []struct{ value, standard *int }{
		{&l.Connections, &d.Connections}, {&l.InFlight, &d.InFlight}, {&l.Queued, &d.Queued}, {&l.Lanes, &d.Lanes},
		{&l.IdleFrames, &d.IdleFrames},
	} {
		setDefault(n.value, *n.standard)
	}
	setDefault(&l.Pending, d.Pending)
	setDefault(&l.AllPending, d.AllPending)
	for _, t := range []struct{ value, standard *time.Duration }{
		{&l.Lifetime, &d.Lifetime}, {&l.Grace, &d.Grace}, {&l.Idle, &d.Idle}, {&l.Ping, &d.Ping}, {&l.Quiet, &d.Quiet},
		{&l.FrameTime, &d.FrameTime}, {&l.WriteTime, &d.WriteTime}, {&l.CloseTime, &d.CloseTime},
	} {
		setDefault(t.value, *t.standard)
	}
	return l
}

func setDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// budget is a number of bytes that all connections share.
type budget struct {
	limit, used atomic.Int64
}

// take reserves bytes, before they are allocated, and reports whether there were so many.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit.Load() {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }
