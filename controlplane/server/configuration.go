package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/clients"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// configuration is the operator's configuration, with the values of its secrets and the servers known from before the
// start.
type configuration struct {
	*config.Resolved
	secrets    map[string]xds.SecretValue
	clients    *clients.File // nil without a keys file
	remembered remembered
}

// load reads the configuration and puts it in force. An error is logged and returned, and the old configuration stays
// in force.
func (s *Server) load(ctx context.Context) (err error) {
	ctx, span := s.traces.begin(ctx, "load configuration")
	defer func() { endSpan(span, err) }()
	before := s.current
	next, err := s.read()
	if err == nil {
		err = s.apply(ctx, next)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = config.Locate(err, s.options.ConfigFile)
	// The log and the metrics come first: who reads of it in the status finds it there too.
	if err != nil {
		s.log.Error("the configuration is refused; the last good one stays in force", "error", err)
	}
	s.metrics.loaded(err)
	s.mu.Lock()
	s.loadErr = err
	if err == nil {
		s.loaded = time.Now()
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	attributes := []any{"models", len(next.Config.Models), "pools", len(next.Pools), "versions", s.ads.Versions()}
	if before != nil {
		settings := changed(before, next)
		attributes = append(attributes, "changed", settings)
		span.SetAttributes(attribute.StringSlice("harmony.changed", settings))
	}
	s.log.Info("the configuration is in force", attributes...)
	span.SetAttributes(attribute.Int("harmony.models", len(next.Config.Models)),
		attribute.Int("harmony.pools", len(next.Pools)))
	s.warnOnlyUp(next)
	return nil
}

// maxListedChanges is how many changes a log line lists.
const maxListedChanges = 20

// changed returns the names of the settings that differ between two configurations, without their values.
func changed(before, after *configuration) []string {
	all := config.Changes(before.Config, after.Config)
	for _, name := range slices.Sorted(maps.Keys(after.secrets)) {
		if was, ok := before.secrets[name]; ok && !reflect.DeepEqual(was, after.secrets[name]) {
			all = append(all, "the value of secrets["+name+"]")
		}
	}
	if !reflect.DeepEqual(before.clients, after.clients) {
		all = append(all, "the clients of clients.keys_file")
	}
	if len(all) == 0 {
		return []string{"nothing"}
	}
	if more := len(all) - maxListedChanges; more > 0 {
		all = append(all[:maxListedChanges:maxListedChanges], fmt.Sprintf("and %d more", more))
	}
	return all
}

// warnOnlyUp logs settings that only harmony up uses. It logs the same settings once.
func (s *Server) warnOnlyUp(c *configuration) {
	if s.options.Adjust != nil {
		return // harmony up uses them
	}
	settings := c.Config.OnlyUp()
	if len(settings) > 0 && !slices.Equal(settings, s.warnedOnlyUp) {
		s.log.Warn("settings are for harmony up only and have no effect here: set them in each Envoy's bootstrap", "settings",
			settings)
	}
	s.warnedOnlyUp = settings
}

// read reads the configuration file and the secrets' files. They are watched before they are read, so no later change
// is missed.
func (s *Server) read() (*configuration, error) {
	c := s.options.Config
	if file := s.options.ConfigFile; file != "" {
		s.watchFiles(nil, false)
		var err error
		if c, err = config.Load(file); err != nil {
			return nil, err
		}
		if s.options.Adjust != nil {
			if err = s.options.Adjust(c); err != nil {
				return nil, err
			}
		}
	}
	resolved, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	next := &configuration{Resolved: resolved, remembered: s.remembered}
	s.watchFiles(next, false)
	if next.secrets, err = readSecrets(c, s.options.RefuseSecrets); err != nil {
		return nil, err
	}
	next.clients, err = ReadClients(c)
	return next, err
}

// ReadClients reads the keys file of a configuration. Without one the result is nil.
func ReadClients(c *config.Config) (*clients.File, error) {
	if c.Clients.KeysFile == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	f, err := clients.Load(c.Clients.KeysFile)
	if err != nil {
		return nil, &config.Error{Field: "clients.keys_file", Reason: err.Error()}
	}
	return f, nil
}

// secretFiles returns the files of the secrets that are used. When one of them changes, the whole configuration is read
// again.
func (c *configuration) secretFiles() []string {
	files := []string{c.Config.Clients.KeysFile}
	for _, secret := range c.Config.Secrets {
		if !c.Config.Uses(secret.Name) {
			continue
		}
		files = append(files, secret.File, secret.Certificate, secret.Key)
	}
	return files
}

// watchFiles sets the files whose changes make the configuration be read again: the configuration file and the files
// that it refers to. The pools' watcher follows servers files by itself. They are in the set only while a configuration
// is not in force, because one of them may be the reason.
func (s *Server) watchFiles(next *configuration, inForce bool) {
	if s.options.ConfigFile == "" {
		return
	}
	files := []string{s.options.ConfigFile}
	if s.current != nil && !inForce {
		files = append(files, s.current.secretFiles()...)
	}
	if next != nil {
		files = append(files, next.secretFiles()...)
		for i := range next.Pools {
			if !inForce {
				files = append(files, next.Pools[i].ServersFile, next.Config.CAFile)
			}
		}
	}
	s.files.Set(slices.DeleteFunc(files, func(f string) bool { return f == "" }))
}

// apply puts a configuration in force. It first builds the resources once without any effect, so that an error changes
// nothing.
func (s *Server) apply(ctx context.Context, next *configuration) error {
	r, err := s.build(next)
	if err != nil {
		return asConfigError(err)
	}
	if err := r.Check(); err != nil {
		return err
	}
	if err := s.pools.Set(next.watchedPools()); err != nil {
		return asConfigError(err)
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
	if r, err = s.build(next); err == nil {
		_, err = s.push(ctx, r, false)
	}
	if err != nil {
		if s.current != nil {
			err = errors.Join(err, s.pools.Set(s.current.watchedPools()))
		}
		return err
	}
	s.mu.Lock()
	s.current = next
	s.mu.Unlock()
	CountFailed(s.options.History, next.Resolved)
	s.beside.notify()
	s.watchFiles(next, true)
	s.updateConditions()
	return nil
}

// asConfigError returns err as a [config.Error], unless it is one already.
func asConfigError(err error) error {
	var already *config.Error
	if errors.As(err, &already) {
		return err
	}
	return &config.Error{Reason: err.Error()}
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

// changed returns Envoy's resources after a change of the pools' servers. Most changes leave all other resources as they
// are.
func (s *Server) changed() (ads.Resources, error) {
	if s.updateContexts(s.current) {
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
	for i := range s.current.Config.Models {
		if m := &s.current.Config.Models[i]; now.of(m) != s.contexts.of(m) {
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
				Endpoint: one.Endpoint, Address: one.Address, NotReady: getsNothing(p, one),
				Weight: s.weights.of(p.Name, one.Address),
			}
		}
		servers[p.Name] = all
	}
	c.keepRefusing(servers, states)
	return xds.Options{ModulePath: s.modulePath(), CAFile: s.options.CAFile, Servers: servers, Secrets: c.secrets,
		Contexts: s.contexts.tokens(), Clients: c.clients, Deputy: s.options.Deputy}
}
