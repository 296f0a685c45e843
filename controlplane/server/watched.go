package server

import (
	"cmp"
	"slices"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// WatchedPools returns the pools of a configuration for a [pools.Watcher]. token returns the value of the secret with a
// name, or "".
func WatchedPools(c *config.Resolved, token func(name string) string) []pools.Pool {
	all := make([]pools.Pool, 0, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		one := pools.Pool{Name: p.Name, Servers: p.Endpoints, Drain: p.Drained, File: p.ServersFile, CAFile: c.Config.CAFile,
			APIPath: p.APIPath,
			Service: pools.Service{Namespace: p.Service.Namespace, Name: p.Service.Name, Port: string(p.Service.Port),
				TLS: p.TLS},
			InferencePool: pools.InferencePool{Namespace: p.InferencePool.Namespace, Name: p.InferencePool.Name},
			Kind:          p.Kind, LoadInterval: p.LoadInterval()}
		if kind := p.ServerKind(); kind != nil {
			one.TokenIDs = kind.TokenIDs()
			one.Path = kind.Path
		}
		// Servers of the short form are asked too, but their answers never remove them (RATIONALE.md#58).
		if p.Health.Checked() || p.Short {
			one.Models = modelsOf(c, p)
		}
		if t := token(p.Authorization); t != "" {
			one.Authorization, one.AuthorizationName = "Bearer "+t, p.Authorization
		}
		if p.Health.Off && !p.Short || p.Authorization != "" && one.Authorization == "" || len(modelsOf(c, p)) == 0 {
			one.Path = "" // what a server answers without the pool's authorization does not count
		}
		if p.Asks() {
			one.AsksIDs, one.AsksTags, one.AnyModels = true, holdsTags(c, p), !p.Health.Checked()
		}
		one.ClientsKeys = slices.ContainsFunc(p.Models, func(m *config.Model) bool { return m.ForwardAuthorization })
		all = append(all, one)
	}
	return all
}

func (c *configuration) watchedPools() []pools.Pool {
	return WatchedPools(c.Resolved, func(name string) string { return c.secrets[name].Token })
}

// modelsOf returns the names of the models that the servers of a pool must list. For a pool that is only a spare, or
// that reads or renders prompts for others, they are the models of the pools that it helps.
func modelsOf(c *config.Resolved, pool *config.ResolvedPool) []string {
	all := slices.Clone(pool.Models)
	if len(all) == 0 {
		for i := range c.Pools {
			if slices.Contains(c.Pools[i].Spares, pool.Name) || slices.Contains(pool.PrefillFor, c.Pools[i].Name) ||
				slices.Contains(pool.RenderFor, c.Pools[i].Name) {
				all = append(all, c.Pools[i].Models...)
			}
		}
	}
	var names []string
	for _, m := range all {
		name := cmp.Or(m.ServerModel, m.Name)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
