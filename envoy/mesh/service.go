package mesh

import (
	"fmt"
	"slices"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// ServiceDomain ends the names of Services of Kubernetes.
const ServiceDomain = ".svc.cluster.local"

// withServices returns the servers of each pool, with its Service as one of them: a mesh follows the endpoints by
// itself.
func withServices(c *config.Resolved, servers map[string][]xds.Server) (map[string][]xds.Server, error) {
	if !slices.ContainsFunc(c.Pools, func(p config.ResolvedPool) bool { return p.Service.Name != "" }) {
		return servers, nil
	}
	all := make(map[string][]xds.Server, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		known := slices.Clone(servers[p.Name])
		if servers == nil {
			for _, e := range p.Endpoints {
				known = append(known, xds.Server{Endpoint: e})
			}
		}
		if p.Service.Name != "" {
			e, err := serviceEndpoint(p)
			if err != nil {
				return nil, err
			}
			known = append(known, xds.Server{Endpoint: e})
		}
		all[p.Name] = known
	}
	return all, nil
}

// serviceEndpoint returns a pool's Service as the mesh knows it.
func serviceEndpoint(p *config.ResolvedPool) (config.Endpoint, error) {
	s := &p.Service
	if s.Namespace == "" {
		return config.Endpoint{}, fmt.Errorf("the service of the pool %s has no namespace, and a mesh's objects need one; "+
			"write service.namespace", p.Name)
	}
	port, ok := s.Port.Number()
	if !ok {
		return config.Endpoint{}, fmt.Errorf("the service of the pool %s has the port %q, and a mesh's objects name no ports; "+
			"write the number of the Service's port as service.port", p.Name, s.Port)
	}
	return config.Endpoint{TLS: p.TLS, Host: s.Name + "." + s.Namespace + ServiceDomain, Port: port}, nil
}

// serviceComment returns what an operator should know of the Service of a pool, or "" if it has none.
func serviceComment(p *config.Pool) string {
	s := &p.Service
	if s.Name == "" {
		return ""
	}
	return fmt.Sprintf("The pool %s is the Service %s of the namespace %s, by the Service's own port %s. The mesh follows "+
		"its endpoints.\n", p.Name, s.Name, s.Namespace, s.Port)
}
