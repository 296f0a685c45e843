package up

import (
	"context"
	"fmt"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

// proxyHost is what drain needs of the host that runs the filter.
type proxyHost struct {
	// drain makes the host accept no new clients.
	drain func(context.Context) error
	// streams returns how many requests of clients are running.
	streams func(context.Context) (int, error)
	// ended is closed when the host has ended by itself. It may be nil.
	ended <-chan struct{}
}

// drain waits until the streams of a host have ended, at most for --drain-time, or until ctx ends, which the second
// signal does. It reports whether no stream is left (RATIONALE.md#65).
func (u *up) drain(ctx context.Context, h proxyHost) (clean bool) {
	if u.drainTime <= 0 || ctx.Err() != nil {
		return false
	}
	fail := func(err error) bool {
		if ctx.Err() == nil {
			fmt.Fprintln(u.stderr, "warning: running streams are cut:", err)
		}
		return false
	}
	if err := h.drain(ctx); err != nil {
		return fail(err)
	}
	end := time.NewTimer(u.drainTime)
	defer end.Stop()
	tick := time.NewTicker(cli.DrainPoll)
	defer tick.Stop()
	for announced := false; ; announced = true {
		left, err := h.streams(ctx)
		if err != nil {
			return fail(err)
		}
		if left == 0 {
			return true
		}
		if !announced {
			fmt.Fprintf(u.stderr, "draining: %s left, at most %s; send the signal again to end at once\n",
				cli.Plural(left, "stream"), cli.FormatDuration(u.drainTime))
		}
		select {
		case <-tick.C:
			continue
		case <-h.ended:
			return false
		case <-end.C:
			fmt.Fprintf(u.stderr, "warning: cut after %s: %s; --drain-time gives them longer\n", cli.FormatDuration(u.drainTime),
				cli.Plural(left, "stream"))
		case <-ctx.Done():
			fmt.Fprintf(u.stderr, "cut by the second signal: %s\n", cli.Plural(left, "stream"))
		}
		return false
	}
}
