package server

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// serversOf returns the servers of a pool that may be in it, and why others may not. Servers files are read
// independently of the configuration. So one bad line must not block the other pools, and must not make a server of
// untranslated requests reachable as a model's.
func (c *configuration) serversOf(p *config.ResolvedPool, state pools.PoolState) (fit []pools.Server, problem string) {
	var problems []string
	if state.Problem != "" {
		problems = append(problems, state.Problem)
	}
	all := c.remembered.servers(p, state)
	fit = make([]pools.Server, 0, len(all))
	for i := range all {
		s := &all[i]
		switch c.Misfit(p, s.Endpoint) {
		case config.OtherScheme:
			problems = append(problems, s.Endpoint.String()+" is left out: the pool's servers are "+scheme(p.TLS))
		case config.Untranslated:
			problems = append(problems, s.Endpoint.String()+" is left out: it is the server of passthrough or "+
				"responses_service, which gets untranslated requests")
		default:
			fit = append(fit, *s)
		}
	}
	return fit, strings.Join(problems, "; ")
}

func scheme(tls bool) string {
	if tls {
		return "https"
	}
	return "http"
}
