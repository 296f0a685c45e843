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
	// defaultDrainTime is what Kubernetes and others give a program between the signal and its death.
	defaultDrainTime = 30 * time.Second
	// drainPoll is how often the streams are counted that are left.
	drainPoll = 50 * time.Millisecond
)

// interrupts are a context that ends with the first signal to end this program, and one that ends with the second. The
// third one ends this program as it would have without them.
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

// proxyHost is what runs the filter, as far as its end goes.
type proxyHost struct {
	// drain has it take no new clients.
	drain func(context.Context) error
	// streams is how many requests of clients run.
	streams func(context.Context) (int, error)
	// ended is closed when it has ended by itself.
	ended <-chan struct{}
}

// drain lets the streams of a host go to their ends, for --drain-time at most, or until ctx ends, which is the second
// signal. It reports whether none was left.
func (u *up) drain(ctx context.Context, h proxyHost) (clean bool) {
	if u.drainTime <= 0 || ctx.Err() != nil {
		return false
	}
	fail := func(err error) bool {
		if ctx.Err() == nil {
			fmt.Fprintln(u.stderr, "warning: the streams that run are cut:", err)
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
	for told := false; ; told = true {
		left, err := h.streams(ctx)
		if err != nil {
			return fail(err)
		}
		if left == 0 {
			return true
		}
		if !told {
			fmt.Fprintf(u.stderr, "draining: %s left, at most %s; send the signal again to end at once\n", several(left, "stream"), spoken(u.drainTime))
		}
		select {
		case <-tick.C:
			continue
		case <-h.ended:
			return false
		case <-end.C:
			fmt.Fprintf(u.stderr, "warning: cut after %s: %s; --drain-time gives them longer\n", spoken(u.drainTime), several(left, "stream"))
		case <-ctx.Done():
			fmt.Fprintf(u.stderr, "cut by the second signal: %s\n", several(left, "stream"))
		}
		return false
	}
}

// spoken is a duration as people write it.
func spoken(d time.Duration) string {
	if d%time.Second == 0 && d < 10*time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}
