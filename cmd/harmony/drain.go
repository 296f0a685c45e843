package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	// defaultDrainTime is how long Kubernetes and others wait between the signal and the kill.
	defaultDrainTime = 30 * time.Second
	// drainPoll is how often the remaining streams are counted.
	drainPoll = 50 * time.Millisecond
)

// interrupts returns a context that ends with the first SIGINT or SIGTERM, and one that ends with the second. The third
// signal ends this program at once.
func interrupts(ctx context.Context) (first, second context.Context, stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	first, endFirst := context.WithCancel(ctx)
	second, endSecond := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer signal.Stop(signals)
		for _, end := range []func(){endFirst, endSecond} {
			select {
			case <-signals:
				end()
			case <-second.Done():
				return
			}
		}
	}()
	return first, second, func() {
		endFirst()
		endSecond()
	}
}

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
	tick := time.NewTicker(drainPoll)
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
				plural(left, "stream"), formatDuration(u.drainTime))
		}
		select {
		case <-tick.C:
			continue
		case <-h.ended:
			return false
		case <-end.C:
			fmt.Fprintf(u.stderr, "warning: cut after %s: %s; --drain-time gives them longer\n", formatDuration(u.drainTime),
				plural(left, "stream"))
		case <-ctx.Done():
			fmt.Fprintf(u.stderr, "cut by the second signal: %s\n", plural(left, "stream"))
		}
		return false
	}
}

// formatDuration returns a duration for a message, in seconds where it is a whole number of them and under 10 minutes.
func formatDuration(d time.Duration) string {
	if d%time.Second == 0 && d < 10*time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}
