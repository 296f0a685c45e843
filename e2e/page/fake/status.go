//go:build e2e

package fake

import (
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
)

// The names in the status that tests look for.
const (
	DeadServer = "http://10.0.0.9:8000"
	DeadReason = "no Envoy reaches it; dial tcp 10.0.0.9:8000: connect: connection refused"
	NACKText   = "Error adding/updating listener(s) clients: cannot bind '10.0.1.14:443': Address already in use"
)

// Well is the status of a fleet of which every part is well.
func Well(now time.Time) server.Status {
	at := func(ago time.Duration) time.Time { return now.Add(-ago).Truncate(time.Millisecond) }
	ready := func(url string, ago time.Duration, program string) server.PoolServer {
		return server.PoolServer{
			URL: url, Address: strings.TrimPrefix(url, "http://"), State: pools.Ready, Since: at(ago), Program: program,
			Context: 131072, Vocabulary: pools.SameVocabulary, Envoys: server.Reached{Reach: 3},
		}
	}
	const vllm, sglang = "vLLM 0.33.0", "SGLang 0.6.1"
	versions := map[string]string{"listeners": "4f1c7a92d0e1", "routes": "b87d1130cc42", "clusters": "90aa31b2f7d5",
		"endpoints": "1de0c8f4a611", "extensions": "7c05be9931af", "secrets": "e3b0c44298fc"}
	envoy := func(id, address string, ago time.Duration) ads.Envoy {
		e := ads.Envoy{ID: id, Cluster: "edge", Version: "1.40.0", Address: address, Connected: at(ago), Current: true,
			Types: map[string]ads.TypeState{}}
		for name, version := range versions {
			e.Types[name] = ads.TypeState{Version: version, Current: true, Acknowledged: at(17 * time.Minute)}
		}
		return e
	}
	return server.Status{
		Version: "0.1.0", Started: at(53 * time.Hour),
		Configuration: server.Configuration{File: "/etc/harmony/config.yaml", Loaded: at(17 * time.Minute)},
		Filter: server.Filter{Version: "0.1.0", Loaded: at(53 * time.Hour),
			SHA256: "5f2c0d9b7e61a4f3c8d7b6a5948372615f4e3d2c1b0a99887766554433221100"},
		Snapshot: server.Snapshot{Versions: versions, Pushed: at(17 * time.Minute)},
		Envoys: []ads.Envoy{
			envoy("edge-ams-1", "10.0.1.11:43812", 53*time.Hour), envoy("edge-ams-2", "10.0.1.12:51990", 53*time.Hour),
			envoy("edge-fra-1", "10.0.1.14:40226", 26*time.Minute),
		},
		Pools: []server.Pool{
			{Name: "h200", Models: []string{"gpt-oss-120b"}, Policy: "least_request", Spares: []string{"burst"},
				Servers: []server.PoolServer{
					ready("http://10.0.0.7:8000", 53*time.Hour, vllm), ready("http://10.0.0.8:8000", 29*time.Hour, vllm),
					ready(DeadServer, 29*time.Hour, vllm),
				}},
			{Name: "small", Models: []string{"gpt-oss-20b"}, Policy: "prefix",
				Servers: []server.PoolServer{ready("http://10.0.2.3:30000", 8*time.Hour, sglang)}},
			{Name: "burst", Models: []string{"gpt-oss-120b-burst"}, Policy: "round_robin",
				Servers: []server.PoolServer{ready("http://gpu-burst.internal:8000", 95*time.Minute, vllm)}},
		},
	}
}

// Troubled is the status of that fleet when a server is dead and an Envoy refuses its listener.
func Troubled(now time.Time) server.Status {
	s := Well(now)
	dead := &s.Pools[0].Servers[2]
	dead.State, dead.Reason, dead.Since = server.Unreachable, DeadReason, now.Add(-41*time.Second)
	dead.Envoys = server.Reached{Fail: 3}
	e := &s.Envoys[2]
	e.Current = false
	e.Types["listeners"] = ads.TypeState{Version: "0b9d2f6617ce", Refused: "4f1c7a92d0e1", Resources: []string{"clients"},
		Error: NACKText, Refusals: 2, Acknowledged: now.Add(-26 * time.Minute)}
	return s
}
