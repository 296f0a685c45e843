package server

import (
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/reach"
)

// Status is how things stand, as GET /status tells it.
type Status struct {
	Version       string        `json:"version"`
	Started       time.Time     `json:"started"`
	Configuration Configuration `json:"configuration"`
	Snapshot      Snapshot      `json:"snapshot"`
	Envoys        []ads.Envoy   `json:"envoys"`
	Pools         []Pool        `json:"pools"`
}

// Configuration is the one in force.
type Configuration struct {
	// File is where it stands; empty when it came by flags.
	File string `json:"file,omitempty"`
	// Loaded is when the one in force was read; zero when none is.
	Loaded time.Time `json:"loaded,omitzero"`
	// Error says why what stands there now is not in force. Empty: it is.
	Error string `json:"error,omitempty"`
}

// Snapshot is what Envoys are given.
type Snapshot struct {
	// Versions are those of each type of resource, by its short name.
	Versions map[string]string `json:"versions"`
	// Pushed is since when; zero when there is nothing yet.
	Pushed time.Time `json:"pushed,omitzero"`
	// Saved says that it is the last good one of another run, as no configuration is in force yet.
	Saved bool `json:"saved,omitempty"`
}

// Pool is one pool of servers.
type Pool struct {
	Name   string   `json:"name"`
	Models []string `json:"models"`
	Policy string   `json:"policy"`
	// Problem is why the servers may not be those that are wanted.
	Problem string       `json:"problem,omitempty"`
	Servers []PoolServer `json:"servers"`
	// Down is since when no server has been reachable and ready; zero when one is, or when no model needs the pool.
	Down time.Time `json:"down,omitzero"`
	// Spares are the pools whose servers help out.
	Spares []string `json:"spares,omitempty"`
}

// PoolServer is one address of a pool.
type PoolServer struct {
	URL     string      `json:"url"`
	Address string      `json:"address"`
	State   pools.State `json:"state"`
	Reason  string      `json:"reason,omitempty"`
	Since   time.Time   `json:"since,omitzero"`
	// Envoys are those that have said whether they reach the server.
	Envoys Reached `json:"envoys"`
}

// Reached counts the Envoys that reach a server, or find it well where the pool has a health check, and those that do not.
type Reached struct {
	Reach int `json:"reach"`
	Fail  int `json:"fail"`
}

// Status tells how things stand.
func (s *Server) Status() Status {
	s.mu.Lock()
	c, seen := s.current, s.seen
	status := Status{
		Version: s.options.Version, Started: s.started,
		Configuration: Configuration{File: s.options.ConfigFile, Loaded: s.loaded},
		Snapshot:      Snapshot{Pushed: s.pushed, Saved: s.saved},
	}
	switch {
	case s.failure != nil:
		status.Configuration.Error = s.failure.Error()
	case s.stuck != nil:
		status.Configuration.Error = "a change of the pools' servers is not passed on: " + s.stuck.Error()
	}
	s.mu.Unlock()
	status.Snapshot.Versions = s.ads.Versions()
	status.Envoys = s.ads.Envoys()
	status.Pools = s.poolsOf(c, seen)
	return status
}

// poolsOf are the pools of a configuration, with their servers of this moment.
func (s *Server) poolsOf(c *configuration, seen conditions) []Pool {
	if c == nil {
		return []Pool{}
	}
	states, reports := s.pools.Servers(), s.reach.Reports()
	all := make([]Pool, 0, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		fit, problem := c.serversOf(p, states[p.Name])
		one := Pool{Name: p.Name, Models: []string{}, Policy: p.Policy, Problem: problem, Servers: []PoolServer{}, Down: seen.down[p.Name], Spares: p.Spares}
		for _, m := range p.Models {
			one.Models = append(one.Models, m.Name)
		}
		for j := range fit {
			server := &fit[j]
			// Concluded anew, since a reason may change without a change of state.
			found := conclude(server, reports[reach.Key{Group: p.Name, Address: server.Address}])
			found.since = since(&found, seen.servers[serverKey{p.Name, server.Address}], server)
			one.Servers = append(one.Servers, PoolServer{
				URL: server.Endpoint.String(), Address: server.Address.String(), State: found.state, Reason: found.reason, Since: found.since,
				Envoys: Reached(found.envoys),
			})
		}
		all = append(all, one)
	}
	return all
}
