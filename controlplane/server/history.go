package server

import (
	"context"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// ownMetrics is the name under which the control plane adds its own counters to the history.
const ownMetrics = "the control plane"

// recordHistory records servers, Envoys and refusals, once in each interval of the history.
func (s *Server) recordHistory(ctx context.Context) error {
	for s.wait(ctx, s.options.History.UntilNext()) {
		s.observe(time.Now())
	}
	return nil
}

// observe records what is now.
func (s *Server) observe(at time.Time) {
	h, status := s.options.History, s.Status()
	current := 0
	for i := range status.Envoys {
		if status.Envoys[i].Current {
			current++
		}
	}
	h.Set(at, history.Envoys, nil, float64(len(status.Envoys)))
	h.Set(at, history.EnvoysCurrent, nil, float64(current))
	ObservePools(h, at, status.Pools)
	observeQueues(h, at, status.Pools)
	refused := uint64(0)
	for _, c := range s.ads.Counts() {
		refused += c.Refused
	}
	addRefused(h, at, refused)
}

// addRefused adds how many resources Envoys have refused since the start.
func addRefused(h *history.History, at time.Time, n uint64) {
	h.Add(at, ownMetrics, history.Families{{Name: history.NACKFamily, Samples: []history.Sample{
		{Labels: map[string]string{"result": history.Refused}, Value: float64(n)}}}})
}

// ObservePools records how many servers of each pool are in which state, and what servers tell of themselves.
func ObservePools(h *history.History, at time.Time, all []Pool) {
	for _, p := range all {
		byState := map[pools.State]int{}
		for i := range p.Servers {
			server := &p.Servers[i]
			byState[server.State]++
			told := history.ServerReading{Running: -1, Waiting: -1, Cache: -1, FirstTokens: -1}
			if server.Load != nil && server.Load.known && server.Load.Problem == "" {
				last := &server.Load.last
				told = history.ServerReading{Running: float64(last.Running), Waiting: float64(last.Waiting), Cache: last.Cache,
					FirstTokens: last.FirstTokens, FirstTokenMS: 1000 * last.FirstToken}
			}
			h.SetServer(at, p.Name, server.Address, told)
		}
		for _, state := range states {
			h.Set(at, history.Servers, map[string]string{"pool": p.Name, "state": string(state)}, float64(byState[state]))
		}
	}
}
