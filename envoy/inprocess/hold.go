package inprocess

import (
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/opening"
)

// newHold returns what does in this program what the module does among the router's filters.
func newHold(f *failures) *proxy.Hold {
	return &proxy.Hold{MaxLost: contract.MaxLost, Begin: beginOpening, Failed: f.add}
}

func beginOpening(held, contentType string) proxy.Opening {
	attempt, ok := contract.ParseAttempt(held)
	if !ok {
		return nil
	}
	r := opening.New(attempt.Kind, contentType)
	if r == nil {
		return nil
	}
	return func(piece []byte, end bool) (decided bool, failed string) {
		verdict := r.Write(piece, end)
		return verdict != opening.Undecided, verdict.String()
	}
}

// failures counts and logs attempts that have failed before their first token.
type failures struct {
	count func(metric string)
	log   func(wasmhost.Level, string) // may be nil

	mu    sync.Mutex
	lines contract.AttemptLog
}

func (f *failures) add(held, server, how string, silent bool) {
	attempt, ok := contract.ParseAttempt(held)
	if !ok {
		return
	}
	f.count(contract.FailedAttemptsTotal.Info().Name + ".pool." + attempt.Pool)
	if how == "" {
		how = contract.Lost{LastSilent: silent}.How()
	}
	f.mu.Lock()
	line := f.lines.Line(attempt.Pool, server, how, time.Now().UnixMilli())
	f.mu.Unlock()
	if line != "" && f.log != nil {
		f.log(wasmhost.Warn, line)
	}
}
