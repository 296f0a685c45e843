package workload

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Play sends the requests of all conversations at their times, each conversation's one after another. ask sends the
// request of a turn of w.Conversations[conversation], and returns when the answer has ended. The first error ends all.
func (w *Workload) Play(ctx context.Context, ask func(ctx context.Context, conversation, turn int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	var talks sync.WaitGroup
	for i := range w.Conversations {
		talks.Go(func() {
			if err := w.talk(ctx, begun, i, ask); err != nil {
				cancel(err)
			}
		})
	}
	talks.Wait()
	return context.Cause(ctx)
}

func (w *Workload) talk(ctx context.Context, begun time.Time, conversation int,
	ask func(ctx context.Context, conversation, turn int) error) error {
	c := w.Conversations[conversation]
	if err := Sleep(ctx, time.Until(begun.Add(c.Start))); err != nil {
		return err
	}
	for turn := range c.Turns {
		if err := Sleep(ctx, c.Turns[turn].Wait); err != nil {
			return err
		}
		if err := ask(ctx, conversation, turn); err != nil {
			return fmt.Errorf("%s, turn %d: %w", c.ID, turn, err)
		}
	}
	return nil
}

// Sleep waits for d, or until ctx has ended, whose error it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
