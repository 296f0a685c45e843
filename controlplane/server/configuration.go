package server

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/operator/follow"
)

// configuration is the operator's configuration, with the values of its secrets and the servers known from before the
// start.
type configuration struct {
	*config.Resolved
	secrets    map[string]config.SecretValue
	clients    *clients.File // nil without a keys file
	remembered remembered
	// leaving is a configuration before, whose responses service Envoys still reach. Nil: there is none.
	leaving *config.Resolved
}

// Reading begins a span for a reading of the configuration. done notes in the status and in the metrics what has become
// of it. It is for [follow.Program].
func (s *Server) Reading(ctx context.Context) (context.Context, func(*follow.Version, []string, error)) {
	inner, span := s.traces.begin(ctx, "load configuration")
	return inner, func(v *follow.Version, changed []string, err error) {
		defer endSpan(span, err)
		if ctx.Err() != nil {
			return
		}
		s.metrics.loaded(err)
		s.mu.Lock()
		s.loadErr = err
		if err == nil {
			s.loaded = time.Now()
		}
		s.mu.Unlock()
		_ = s.run(ctx, func(context.Context) error {
			s.firstRead.Do(func() {
				s.endSplit()
				close(s.read)
			})
			return nil
		}) // it returns no error
		if err != nil {
			return
		}
		span.SetAttributes(attribute.Int("harmony.models", len(v.Config.Models)),
			attribute.Int("harmony.pools", len(v.Resolved.Pools)))
		if changed != nil {
			span.SetAttributes(attribute.StringSlice("harmony.changed", changed))
		}
		s.warnOnlyUp(v.Config)
	}
}

// warnOnlyUp logs settings that only harmony up uses. It logs the same settings once.
func (s *Server) warnOnlyUp(c *config.Config) {
	if s.options.OwnEnvoy {
		return
	}
	settings := c.OnlyUp()
	if len(settings) > 0 && !slices.Equal(settings, s.warnedOnlyUp) {
		s.log.Warn("settings are for harmony up only and have no effect here: set them in each Envoy's bootstrap", "settings",
			settings)
	}
	s.warnedOnlyUp = settings
}

// Check returns why Envoys cannot get a configuration: it builds the resources, and sends nothing. It implements
// [follow.Part].
func (s *Server) Check(ctx context.Context, v *follow.Version) error {
	return s.run(ctx, func(context.Context) error {
		next := s.configurationOf(v)
		if err := s.pools.Check(next.watchedPools()); err != nil {
			return config.AsError(err)
		}
		r, err := s.build(next)
		if err != nil {
			return config.AsError(err)
		}
		return r.Check()
	})
}

// Apply puts a configuration in force. It implements [follow.Part].
func (s *Server) Apply(ctx context.Context, v *follow.Version) error {
	return s.run(ctx, func(context.Context) error { return s.apply(ctx, s.configurationOf(v)) })
}

func (s *Server) configurationOf(v *follow.Version) *configuration {
	return &configuration{Resolved: v.Resolved, secrets: v.Secrets, clients: v.Clients, remembered: s.remembered}
}

// Drain implements [follow.Part]. The control plane begins nothing that lasts.
func (s *Server) Drain() {}

func (s *Server) apply(ctx context.Context, next *configuration) error {
	if err := s.pools.Set(next.watchedPools()); err != nil {
		return config.AsError(err)
	}
	// Without this wait a name that has not been looked up yet would remove its servers for a moment.
	wait, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	_ = s.pools.Resolved(wait) // a name that takes longer adds its servers later
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.weigh(next, s.pools.Servers(), load.ByEarlierLoad)
	s.updateContexts(next)
	s.updateStructures(next)
	if before := s.current; before != nil && !hasService(next.Resolved) {
		next.leaving = before.leaving
		if hasService(before.Resolved) {
			next.leaving = before.Resolved
		}
	}
	r, err := s.build(next)
	if err == nil {
		_, err = s.push(ctx, r, false)
	}
	if err != nil {
		if s.current != nil {
			err = errors.Join(err, s.pools.Set(s.current.watchedPools()))
		}
		return err
	}
	if next.leaving != nil && s.current.leaving == nil {
		s.letGo = time.After(cmp.Or(s.options.HoldRemovals, holdRemovals))
	}
	s.hadService = s.hadService || next.Config.ResponsesService.Runs()
	s.mu.Lock()
	s.current = next
	s.mu.Unlock()
	CountFailed(s.options.History, next.Resolved)
	s.beside.notify()
	s.updateConditions()
	return nil
}

func hasService(c *config.Resolved) bool { return c.Config.ResponsesService.Address() != "" }

// letServiceGo takes the way to a responses service from Envoys that no configuration has any more.
func (s *Server) letServiceGo(ctx context.Context) {
	s.letGo = nil
	if s.current == nil || s.current.leaving == nil {
		return
	}
	s.current.leaving = nil
	r, err := s.build(s.current)
	if err == nil {
		_, err = s.push(ctx, r, false)
	}
	if err != nil {
		s.log.Error("Envoys keep the way to a responses service that has gone", "error", err)
	}
}

// pushServers sends Envoys the present servers of the pools.
func (s *Server) pushServers(ctx context.Context) {
	if s.current == nil {
		return
	}
	s.weigh(s.current, s.pools.Servers(), load.ByEarlierLoad)
	all, err := s.changed()
	if err == nil {
		_, err = s.push(ctx, all, false)
	}
	s.updateConditions()
	s.mu.Lock()
	s.pushErr = err
	s.mu.Unlock()
	if err != nil {
		s.log.Error("a change of the pools' servers is not sent to Envoys; they keep the servers that they have", "error",
			err)
	}
}

// changed returns Envoy's resources after a change of the pools' servers. Most changes leave all other resources as
// they are.
func (s *Server) changed() (ads.Resources, error) {
	contexts, structures := s.updateContexts(s.current), s.updateStructures(s.current)
	if contexts || structures {
		return s.build(s.current)
	}
	changed, err := xds.Endpoints(s.current.Resolved, s.xdsOptions(s.current))
	if err != nil {
		return nil, err
	}
	all := maps.Clone(s.latest)
	maps.Copy(all, changed)
	return all, nil
}

// pushContexts sends Envoys the models' contexts if they have changed without a change of the servers.
func (s *Server) pushContexts(ctx context.Context) {
	if s.current == nil {
		return
	}
	now := s.contextsNow(s.current)
	for _, m := range s.current.Config.Places() {
		if now.of(m) != s.contexts.of(m) {
			s.pushServers(ctx)
			return
		}
	}
}

// build returns Envoy's resources for a configuration and the present servers.
func (s *Server) build(c *configuration) (ads.Resources, error) {
	r, err := xds.Build(c.Resolved, s.xdsOptions(c))
	if err != nil {
		return nil, err
	}
	all, err := r.Discovered()
	return all, err
}

// xdsOptions returns the inputs of the resources besides the configuration: the present servers and the secrets.
func (s *Server) xdsOptions(c *configuration) xds.Options {
	states := s.pools.Servers()
	servers := make(map[string][]xds.Server, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		fit, problem := c.serversOf(p, states[p.Name])
		// The pools' watcher has logged its own problem already.
		if problem != "" && problem != s.loggedProblems[p.Name] && problem != states[p.Name].Problem {
			s.log.Warn("a pool lacks some of its servers", "pool", p.Name, "problem", problem)
		}
		s.loggedProblems[p.Name] = problem
		all := make([]xds.Server, len(fit))
		for j := range fit {
			one := &fit[j]
			all[j] = xds.Server{
				Endpoint: one.Endpoint, Address: one.Address, NotReady: getsNothing(p, one), Draining: isDraining(one),
				Weight: s.weights.of(p.Name, one.Address),
			}
		}
		servers[p.Name] = all
	}
	c.keepRefusing(servers, states)
	var deputy clients.Hash
	if s.hadService || c.Config.ResponsesService.Runs() { // what runs may outlive the service
		deputy = s.options.Deputy
	}
	return xds.Options{ModulePath: s.modulePath(), CAFile: s.options.CAFile, Servers: servers, Secrets: c.secrets,
		Contexts: s.contexts.tokens(), Structures: s.structures, Clients: c.clients, Deputy: deputy, Leaving: c.leaving}
}
