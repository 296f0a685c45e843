package server

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/harmonyedge/harmonyedge/controlplane/engine"
	"github.com/harmonyedge/harmonyedge/controlplane/load"
)

// ServerLoad is the load of a server, smoothed. Numbers that the server does not tell are nil.
type ServerLoad struct {
	// Running and Waiting are numbers of requests.
	Running *float64 `json:"running,omitempty"`
	Waiting *float64 `json:"waiting,omitempty"`
	// Cache is the part of the KV cache that is used, from 0 to 1.
	Cache *float64 `json:"cache,omitempty"`
	// Preemptions is how many requests of a minute lose their place in the KV cache.
	Preemptions *float64 `json:"preemptions_per_minute,omitempty"`
	// Hits is the part of the prompts' tokens that the prefix cache had of late, from 0 to 1.
	Hits *float64 `json:"prefix_hits,omitempty"`
	// QueueTime is how many seconds requests have waited of late, on average.
	QueueTime *float64 `json:"queue_seconds,omitempty"`
	// FirstToken is how many milliseconds a first token has taken of late, on average.
	FirstToken *float64 `json:"first_token_ms,omitempty"`
	// last is the last sample, and known reports whether it counts.
	last  engine.Load
	known bool
	// Problem is why the load is unknown, or why the last question for it brought nothing. Then the numbers are of before.
	Problem string `json:"problem,omitempty"`
}

// loadOf returns what is shown of a load. It is rounded, so that the status of an idle server stays the same.
func loadOf(l *load.Load, now time.Time) *ServerLoad {
	s := &ServerLoad{Problem: l.Problem}
	if !l.Known(now) {
		if s.Problem == "" {
			s.Problem = load.NotAsked
		}
		return s
	}
	s.last, s.known = l.Last, true
	if l.FirstToken >= 0 {
		s.FirstToken = rounded(1000*l.FirstToken, 1)
	}
	s.Running, s.Waiting = rounded(l.Running, 1), rounded(l.Waiting, 1)
	s.Cache, s.Hits = rounded(l.Cache, 0.01), rounded(l.Hits, 0.01)
	s.Preemptions, s.QueueTime = rounded(60*l.Preemptions, 0.1), rounded(l.QueueTime, 0.01)
	return s
}

// rounded returns a number as a multiple of a step, or nil if it is unknown.
func rounded(v, step float64) *float64 {
	if v < 0 {
		return nil
	}
	n := math.Round(v/step) / math.Round(1/step)
	return &n
}

var (
	loadDesc = desc("load_requests", "Requests of each pool whose servers tell their load: running or waiting, smoothed.",
		"pool", "state")
	cacheDesc = desc("load_cache", "The part of the KV cache that is used in the pool's fullest server, from 0 to 1.", "pool")
	knownDesc = desc("load_known_servers", "Servers of each pool whose load is known.", "pool")
	lightDesc = desc("load_light_servers", "Servers of each pool that have a smaller weight than the middle's.", "pool")
	askedDesc = desc("load_samples_total", "Questions to servers for their load: ok, or failed.", "result")
)

// collectLoads passes the loads of the pools that are asked for them to gauge. all has the pools of the status.
func collectLoads(all []Pool, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	for i := range all {
		asked := false
		var running, waiting, cache float64
		known, light := 0, 0
		for j := range all[i].Servers {
			s := &all[i].Servers[j]
			if s.Weight > 0 && s.Weight < load.Middle {
				light++
			}
			if s.Load == nil {
				continue
			}
			asked = true
			if s.Load.Running == nil && s.Load.Waiting == nil {
				continue
			}
			known++
			running += told(s.Load.Running)
			waiting += told(s.Load.Waiting)
			cache = max(cache, told(s.Load.Cache))
		}
		if !asked {
			continue
		}
		name := all[i].Name
		gauge(loadDesc, running, name, "running")
		gauge(loadDesc, waiting, name, "waiting")
		gauge(cacheDesc, cache, name)
		gauge(knownDesc, float64(known), name)
		gauge(lightDesc, float64(light), name)
	}
}

// samples returns how many questions for a load were answered with one, and how many were not.
func (s *Server) samples() (told, failed uint64) {
	if s.pools == nil {
		return 0, 0
	}
	return s.pools.Samples()
}

func told(n *float64) float64 {
	if n == nil {
		return 0
	}
	return *n
}
