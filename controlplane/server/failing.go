package server

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// CountFailed makes a history count the failed attempts at the servers of a configuration's pools. h may be nil.
func CountFailed(h *history.History, c *config.Resolved) {
	if h == nil {
		return
	}
	names := make([]string, len(c.Pools))
	for i := range c.Pools {
		names[i] = c.Pools[i].Name
	}
	h.SetPools(names)
}

// failedOf returns the failed attempts that a history has counted, by pool. h may be nil.
func failedOf(h *history.History) map[string]int {
	if h == nil {
		return nil
	}
	return h.Failed()
}

// setFailed notes how many attempts at the pool's servers have failed lately. log is the log that names the servers.
func (p *Pool) setFailed(n int, log string) {
	if n == 0 {
		return
	}
	p.FailedAttempts = n
	answers := "1 answer of its servers has"
	if n > 1 {
		answers = fmt.Sprintf("%d answers of its servers have", n)
	}
	p.Warnings = append(p.Warnings, fmt.Sprintf("%s failed before the first token in the last %.0f seconds: another "+
		"server was asked, or the client got an error; %s names the server (\"has failed before its first token\"): see %s",
		answers, history.FailedFor.Seconds(), log, failedAttemptsPage))
}

const failedAttemptsPage = "docs/pools.md#failed-attempts"

// The logs that name servers whose answers fail.
const (
	envoysLog  = "Envoy's log"
	programLog = "the log of harmony up"
)

// logFailing logs when the answers of a pool's servers begin to fail before their first token, and when they have
// stopped.
func (s *Server) logFailing() {
	now := failedOf(s.options.History)
	for pool, n := range now {
		if s.failing[pool] == 0 {
			s.log.Warn("answers of a pool's servers fail before their first token: Envoy's log names the servers", "pool",
				pool, "failed", n, "see", failedAttemptsPage)
		}
	}
	for pool := range s.failing {
		if now[pool] == 0 {
			s.log.Info("no answer of a pool's servers has failed before its first token lately", "pool", pool, "for",
				history.FailedFor)
		}
	}
	s.failing = now
}
