package server

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/internal/atomicfile"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// ownMetrics is the name under which the control plane adds its own counters to the history.
const ownMetrics = "the control plane"

// historyFile is the name of the kept history in the state folder, and keepInterval the time between two writes of it.
const (
	historyFile  = "history.jsonl.gz"
	keepInterval = time.Minute
)

// recordHistory records servers, Envoys and refusals, once in each interval of the history. It keeps the history in the
// state folder.
func (s *Server) recordHistory(ctx context.Context) error {
	kept := time.Now()
	for s.wait(ctx, s.options.History.UntilNext()) {
		now := time.Now()
		s.observe(now)
		if now.Sub(kept) >= keepInterval {
			kept = now
			s.keepHistory()
		}
	}
	s.keepHistory()
	return nil
}

// keepHistory writes the history to the state folder. The page then has the last hour after a restart too.
func (s *Server) keepHistory() {
	if s.options.StateDir == "" {
		return
	}
	var kept bytes.Buffer
	err := s.options.History.Keep(&kept)
	if err == nil {
		err = os.MkdirAll(s.options.StateDir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(s.options.StateDir, historyFile), kept.Bytes(), 0o600)
	}
	if was := s.keptErr; err != nil && was == nil {
		s.log.Warn("the page's last hour is not kept for the next start", "error", err)
	}
	s.keptErr = err
}

// restoreHistory reads what an earlier run has kept.
func (s *Server) restoreHistory() {
	if s.options.StateDir == "" {
		return
	}
	path := filepath.Join(s.options.StateDir, historyFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = s.options.History.Restore(file)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		s.log.Warn("the page begins without the hour of the earlier run", "file", path, "error", err)
	}
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
