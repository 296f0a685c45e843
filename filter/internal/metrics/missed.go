package metrics

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
)

// missReasons is how many reasons there are for missed caches. Messages of the past that were written anew are one.
const missReasons = 12

var missNames = [missReasons]string{"system", "date", "effort", "tools", "instructions", rewritten, "reasoning_dropped",
	"messages_removed", "messages_inserted", "another_server", "evicted", "unknown"}

const rewritten = "rewritten"

// missOf returns a reason as metrics name it.
func missOf(r segments.Reason) string {
	switch r {
	case segments.Reason(segments.Format):
		return "instructions"
	case segments.Model:
		return "system"
	}
	name := r.String()
	for _, known := range missNames {
		if known == name {
			return name
		}
	}
	return rewritten
}

// countMissed counts what a server had to compute again.
func (s *Set) countMissed(r *exchange.Report, m *model) {
	if r.Missed.Tokens <= 0 {
		return
	}
	name := missOf(r.Missed.Reason)
	for i, known := range missNames {
		if known != name {
			continue
		}
		s.add(&m.missed[i], r.Missed.Tokens, contract.MissedTokensTotal, m.name, name)
		if r.Client != "" {
			c := s.client(r.Client)
			s.add(&c.missed[i], r.Missed.Tokens, contract.ClientMissedTokensTotal, c.name, name)
		}
	}
}
