package limits

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

const (
	// maxLate is how many settlements may wait for the ledger.
	maxLate = 1 << 16
	// latePause is how long the ledger is left alone after a failure.
	latePause = 500 * time.Millisecond
)

var errDraining = errors.New("the service ends")

// late settles what could not be settled at once. A settlement waits as long as a ledger remembers one that had succeeded
// although it seemed to fail; later it could count twice.
type late struct {
	settle  func(context.Context, ledger.Settlement) error
	waiting chan lateSettlement
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

type lateSettlement struct {
	ledger.Settlement
	until time.Time
}

func newLate(settle func(context.Context, ledger.Settlement) error) *late {
	l := &late{settle: settle, waiting: make(chan lateSettlement, maxLate)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.running.Go(l.run)
	return l
}

// add reports whether the settlement waits now: not if too many do.
func (l *late) add(s ledger.Settlement) bool {
	select {
	case l.waiting <- lateSettlement{s, time.Now().Add(ledger.SettledLifetime)}:
		return true
	default:
		return false
	}
}

// run settles until the service is closed.
func (l *late) run() {
	for {
		select {
		case <-l.ctx.Done():
			l.finish()
			return
		case s := <-l.waiting:
			for time.Now().Before(s.until) && l.settle(context.WithoutCancel(l.ctx), s.Settlement) != nil {
				select {
				case <-l.ctx.Done():
					if l.settle(context.WithoutCancel(l.ctx), s.Settlement) == nil {
						l.finish()
					}
					return
				case <-time.After(latePause):
				}
			}
		}
	}
}

// finish tries once more to settle what waits, until the ledger fails.
func (l *late) finish() {
	for {
		select {
		case s := <-l.waiting:
			if l.settle(context.WithoutCancel(l.ctx), s.Settlement) != nil {
				return
			}
		default:
			return
		}
	}
}

func (l *late) close() {
	l.cancel()
	l.running.Wait()
}
