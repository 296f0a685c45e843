package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupts returns a context that ends with the first SIGINT or SIGTERM, and one that ends with the second. The third
// signal ends this program at once.
func Interrupts(ctx context.Context) (first, second context.Context, stop func()) {
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
