package server

import (
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/internal/reach"
	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// Status is the state of the control plane, as GET /status returns it.
type Status struct {
	// Host is the host of the filter, "envoy" or "wazero", for a run of harmony up. It is empty for a fleet.
	Host          string        `json:"host,omitempty"`
	Version       string        `json:"version"`
	Started       time.Time     `json:"started"`
	Configuration Configuration `json:"configuration"`
	Filter        Filter        `json:"filter"`
	// Rollout is the last rollout of another filter. It is nil if there has been none.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Control is the path of the socket for commands. It is empty if there is none.
	Control  string      `json:"control,omitempty"`
	Snapshot Snapshot    `json:"snapshot"`
	Envoys   []ads.Envoy `json:"envoys"`
	// ExpectedEnvoys is how many there should be, by the configuration. 0: it does not say.
	ExpectedEnvoys int    `json:"expected_envoys,omitempty"`
	Pools          []Pool `json:"pools"`
	// Services are the services that Envoys need beside the inference servers.
	Services []ServiceStatus `json:"services,omitempty"`
	// Certificates are the certificates of listeners and authorities in the configuration, and the program's own.
	Certificates []CertificateStatus `json:"certificates,omitempty"`
}

// MissingEnvoys returns how many Envoys should be connected and are not.
func (s *Status) MissingEnvoys() int { return max(0, s.ExpectedEnvoys-len(s.Envoys)) }

// Configuration describes the configuration in force.
type Configuration struct {
	// File is the path of the configuration. It is empty if the configuration came by flags.
	File string `json:"file,omitempty"`
	// Loaded is when the configuration in force was read. It is zero if none is in force.
	Loaded time.Time `json:"loaded,omitzero"`
	// Error is why the present content of the file, or the pools' present servers, are not in force. It is empty if they
	// are.
	Error string `json:"error,omitempty"`
}

// Filter describes the filter that Envoys get.
type Filter struct {
	// File is the path of its file: here, or on the Envoys' machines if they find it there themselves. It is empty for a
	// filter that stays the same, such as the one in the program.
	File string `json:"file,omitempty"`
	// OnEnvoys reports whether Envoys find the file on their own machines. The control plane then knows no more of it.
	OnEnvoys bool `json:"on_envoys,omitempty"`
	// Rollout reports whether the filter came by a rollout, instead of the one that the control plane has itself.
	Rollout bool `json:"rollout,omitempty"`
	// Version and SHA256 are of the filter in force, and Loaded is when it was read.
	Version string    `json:"version,omitempty"`
	SHA256  string    `json:"sha256,omitempty"`
	Loaded  time.Time `json:"loaded,omitzero"`
	// Error is why the present content of the file is not in force. It is empty if it is.
	Error string `json:"error,omitempty"`
}

// Snapshot describes the resources that Envoys get.
type Snapshot struct {
	// Versions has the version of each type of resource, by the type's short name (see [ads.Types]).
	Versions map[string]string `json:"versions"`
	// Pushed is when Envoys first got these resources. It is zero if there are none yet.
	Pushed time.Time `json:"pushed,omitzero"`
	// Saved reports whether they are the last good snapshot of an earlier run, because no configuration is in force yet.
	Saved bool `json:"saved,omitempty"`
}

// Pool is the state of one pool of servers.
type Pool struct {
	Name   string   `json:"name"`
	Models []string `json:"models"`
	Policy string   `json:"policy"`
	// Problem is why the servers may differ from those in the configuration.
	Problem string `json:"problem,omitempty"`
	// Warnings say which servers do not fit the configuration, so that some requests fail.
	Warnings []string `json:"warnings,omitempty"`
	// Contexts are the contexts of models in tokens, by model, where servers make them smaller than the default.
	Contexts map[string]int `json:"contexts,omitempty"`
	// StructuredOutputs are the values of structured_outputs in force, by model, where they differ from the
	// configuration's because a server does not hold answers to structural tags.
	StructuredOutputs map[string]string `json:"structured_outputs,omitempty"`
	// shortContexts are how many servers have a smaller context than the operator has set, by model.
	shortContexts map[string]int
	Servers       []PoolServer `json:"servers"`
	// Queue is what waits for the servers. It is nil if the pool has no queue.
	Queue *Queue `json:"queue,omitempty"`
	// FailedAttempts is how many answers of the pool's servers have failed before their first token within
	// [history.FailedFor].
	FailedAttempts int `json:"failed_attempts,omitempty"`
	// Down is since when no server of the pool has been reachable and ready. It is zero if one is, or if no model needs
	// the pool.
	Down time.Time `json:"down,omitzero"`
	// AtZero reports whether the pool has no servers, and requests wait for the first. It is not down then.
	AtZero bool `json:"at_zero,omitempty"`
	// Spares are the pools whose servers help this one.
	Spares []string `json:"spares,omitempty"`
	// Role is [config.RolePrefill] for servers that read prompts for other pools, [config.RoleDecode] for servers that
	// write answers to them, or empty for servers that do both. Prefill is the pool that reads this one's prompts, and
	// PrefillFor are the pools for which this one reads.
	Role       string   `json:"role,omitempty"`
	Prefill    string   `json:"prefill,omitempty"`
	PrefillFor []string `json:"prefill_for,omitempty"`
}

// PoolServer is the state of one address of a pool.
type PoolServer struct {
	URL     string      `json:"url"`
	Address string      `json:"address"`
	State   pools.State `json:"state"`
	Reason  string      `json:"reason,omitempty"`
	Since   time.Time   `json:"since,omitzero"`
	// Refusal is why the server refuses all requests, or empty.
	Refusal pools.Refusal `json:"refusal,omitempty"`
	// Program is the server's program with its version, and Context the model's context in tokens, if the server
	// tells them.
	Program string `json:"program,omitempty"`
	Context int    `json:"context,omitempty"`
	// Vocabulary is how the server's vocabulary compares with the gateway's.
	Vocabulary pools.Vocabulary `json:"vocabulary"`
	// StructuralTags is what the server does with structural tags. It is empty if it is not asked.
	StructuralTags pools.Tags `json:"structural_tags,omitempty"`
	// Envoys counts the Envoys that have reported on the server.
	Envoys Reached `json:"envoys"`
	// Load is the server's load. It is nil if the pool's servers are not asked for it.
	Load *ServerLoad `json:"load,omitempty"`
	// Weight is the server's weight beside the others of its pool, and WeightReason why it is not 100. Weight is 0 if the
	// pool has no weights, and for a server that gets no requests.
	Weight       uint32 `json:"weight,omitempty"`
	WeightReason string `json:"weight_reason,omitempty"`
}

// Reached is how many Envoys reach a server, and how many do not. If the pool has a health check, a server whose check
// fails is not reached.
type Reached struct {
	Reach int `json:"reach"`
	Fail  int `json:"fail"`
}

// Status returns the present state.
func (s *Server) Status() Status {
	s.mu.Lock()
	c, conditions, weights, contexts, structures := s.current, s.conditions, s.weights, s.contexts, s.structures
	status := Status{
		Version: s.options.Version, Started: s.started,
		Configuration: Configuration{File: s.options.ConfigFile, Loaded: s.loaded},
		Snapshot:      Snapshot{Pushed: s.pushed, Saved: s.saved},
	}
	status.Filter = s.filterStatus()
	switch {
	case s.loadErr != nil:
		status.Configuration.Error = s.loadErr.Error()
	case s.pushErr != nil:
		status.Configuration.Error = "a change is not sent to Envoys: " + s.pushErr.Error()
	}
	s.mu.Unlock()
	status.Snapshot.Versions = s.ads.Versions()
	status.Envoys = s.ads.Envoys()
	if c != nil {
		status.ExpectedEnvoys = c.Config.Envoy.Expect
	}
	status.Pools = s.poolsOf(c, conditions, &weights, contexts, structures, status.Envoys)
	status.Services, status.Certificates = s.beside.status(), s.certificates(c)
	status.Rollout = s.rolloutStatus(status.Envoys)
	if s.options.Control != nil {
		status.Control = s.options.Control.Addr().String()
	}
	return status
}

// filterStatus returns the state of the filter. The caller holds s.mu.
func (s *Server) filterStatus() Filter {
	if s.options.ModulePath != "" {
		return Filter{File: s.options.ModulePath, OnEnvoys: true}
	}
	inForce := s.modules.find(referenced(s.latest))
	f := Filter{File: s.options.ModuleFile, Version: inForce.Version, SHA256: inForce.SHA256, Loaded: inForce.since}
	f.Rollout = s.rollout.Adopted != nil && s.rollout.Adopted.SHA256 == f.SHA256
	if s.moduleErr != nil {
		f.Error = s.moduleErr.Error()
	}
	return f
}

// poolsOf returns the state of the pools of a configuration, with their present servers. envoys are those that are
// connected.
func (s *Server) poolsOf(c *configuration, conditions conditions, weights *weights, contexts contexts,
	structures structures, envoys []ads.Envoy) []Pool {
	if c == nil {
		return []Pool{}
	}
	states, reports, now := s.pools.Servers(), s.reach.Reports(), time.Now()
	failed := failedOf(s.options.History)
	current := !slices.ContainsFunc(envoys, func(e ads.Envoy) bool { return !e.Current })
	all := make([]Pool, 0, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		fit, problem := c.serversOf(p, states[p.Name])
		one := newPool(p, problem)
		one.Down, one.AtZero = conditions.down[p.Name], atZero(p, len(fit), problem)
		one.Warnings = warningsOf(c.Resolved, p, fit)
		one.setFailed(failed[p.Name], envoysLog)
		one.Contexts, one.shortContexts = contexts.limitsOf(c.Config, p), shortContexts(c.Resolved, p, fit)
		one.StructuredOutputs, one.Queue = structures.inForce(p), s.queues.of(p, now)
		for j := range fit {
			server := &fit[j]
			// Derived again, because a reason may change without a change of state.
			found := conditionOf(server, reports[reach.Key{Group: p.Name, Address: server.Address}])
			found.since = since(&found, conditions.servers[serverKey{p.Name, server.Address}], server)
			found.explainDrain(server, current, now)
			shown := poolServer(p, server, &found, now)
			if !getsNothing(p, server) {
				shown.Weight = weights.of(p.Name, server.Address)
				shown.WeightReason = weights.servers[serverKey{p.Name, server.Address}].Reason
			}
			one.Servers = append(one.Servers, shown)
		}
		all = append(all, one)
	}
	return all
}

// PoolsAlone returns the state of the pools of a configuration as [Status] has it, for a program without Envoys and
// without a control plane. states come from a [pools.Watcher], and inForce the contexts that the filter has, as
// [SmallestContexts] has returned them, and changed the values of structured_outputs, from [Structures]. h has
// counted failed attempts ([CountFailed]). It may be nil.
func PoolsAlone(c *config.Resolved, states map[string]pools.PoolState, inForce map[string]int,
	changed map[string]string, h *history.History) []Pool {
	limits, failed := contexts(nil).update(inForce, time.Now(), 0), failedOf(h)
	alone := &configuration{Resolved: c}
	all := make([]Pool, 0, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		fit, problem := alone.serversOf(p, states[p.Name])
		one := newPool(p, problem)
		one.Warnings, one.Contexts = warningsOf(c, p, fit), limits.limitsOf(c.Config, p)
		one.StructuredOutputs = structures(changed).inForce(p)
		one.setFailed(failed[p.Name], programLog)
		usable := false
		var down time.Time
		for j := range fit {
			found := conditionOf(&fit[j], reach.Count{})
			found.since = since(&found, condition{}, &fit[j])
			if usable = usable || found.usable(); found.since.After(down) {
				down = found.since
			}
			found.explainDrain(&fit[j], true, time.Now())
			one.Servers = append(one.Servers, poolServer(p, &fit[j], &found, time.Now()))
		}
		if !usable {
			one.Down = down
		}
		all = append(all, one)
	}
	return all
}

func newPool(p *config.ResolvedPool, problem string) Pool {
	one := Pool{Name: p.Name, Models: []string{}, Policy: p.Policy, Problem: problem, Servers: []PoolServer{},
		Spares: p.Spares, Role: p.Role(), Prefill: p.Prefill.Pool, PrefillFor: p.PrefillFor}
	for _, m := range p.Models {
		one.Models = append(one.Models, m.Name)
	}
	return one
}

// ModelsOf returns the names of the models of pools, each once.
func ModelsOf(all []Pool) []string {
	var names []string
	for i := range all {
		for _, name := range all[i].Models {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func poolServer(p *config.ResolvedPool, s *pools.Server, found *condition, now time.Time) PoolServer {
	shown := PoolServer{
		URL: s.Endpoint.String(), Address: s.Address.String(), State: found.state, Reason: found.reason,
		Since: found.since, Refusal: s.Refusal,
		Program: s.Program, Context: s.Context, Vocabulary: s.Vocabulary, Envoys: Reached(found.envoys),
	}
	if p.Asks() {
		shown.StructuralTags = s.Tags
	}
	if p.LoadInterval() > 0 || isDraining(s) {
		shown.Load = loadOf(&s.Load, now)
	}
	return shown
}
