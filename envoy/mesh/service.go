package mesh

import (
	"fmt"
	"slices"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// ServiceDomain ends the names of Services of Kubernetes.
const ServiceDomain = ".svc.cluster.local"

// withServices returns the servers of each pool, with its Service as one of them: a mesh follows the endpoints by
// itself. A pool that is an InferencePool has none: the mesh knows them by its own object.
func withServices(c *config.Resolved, servers map[string][]xds.Server) (map[string][]xds.Server, error) {
	if !slices.ContainsFunc(c.Pools, func(p config.ResolvedPool) bool { return p.FollowedSetting() != "" }) {
		return servers, nil
	}
	all := make(map[string][]xds.Server, len(c.Pools))
	for i := range c.Pools {
		p := &c.Pools[i]
		if err := checkInferencePool(c, p, len(servers[p.Name])); err != nil {
			return nil, err
		}
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

// checkInferencePool returns why a pool's InferencePool cannot be what a mesh's route leads to. A route leads to one
// InferencePool, and its endpoint picker chooses among that pool's servers only. listed is how many other servers the
// pool has.
func checkInferencePool(c *config.Resolved, p *config.ResolvedPool, listed int) error {
	if p.InferencePool.Name == "" {
		return nil
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("the pool %s is an inference_pool, and "+format, append([]any{p.Name}, args...)...)
	}
	switch {
	case listed+len(p.Endpoints) > 0 || p.ServersFile != "" || p.Service.Name != "":
		return fail("a mesh's route leads to it only; give its other servers a pool of their own")
	case len(p.Spares) > 0:
		return fail("its endpoint picker knows no spares; leave spares out")
	case p.Policy != config.PolicyLeastRequest:
		return fail("its endpoint picker chooses the servers; leave policy out")
	case p.Authorization != "":
		return fail("a mesh adds no authorization to its requests; leave authorization out")
	case p.PerServer() > 0:
		return fail("a mesh does not count its servers; leave capacity out, and let its endpoint picker hold requests")
	}
	for i := range c.Pools {
		if slices.Contains(c.Pools[i].Spares, p.Name) {
			return fail("a mesh cannot use it as a spare of %s", c.Pools[i].Name)
		}
	}
	return nil
}

// InferencePool returns the name of the InferencePool that a cluster is, or "". It is in the namespace of the objects.
func InferencePool(c *config.Resolved, cluster string) string {
	for i := range c.Pools {
		if p := &c.Pools[i]; cluster == contract.PoolClusterPrefix+p.Name {
			return p.InferencePool.Name
		}
	}
	return ""
}

// HasInferencePools reports whether a pool of the configuration is an InferencePool.
func HasInferencePools(c *config.Config) bool {
	return slices.ContainsFunc(c.Pools, func(p config.Pool) bool { return p.InferencePool.Name != "" })
}

// CheckNamespace returns an error if an InferencePool is in another namespace than the objects: a route may lead to
// another namespace only where an object there allows it.
func CheckNamespace(c *config.Config, namespace string) error {
	for i := range c.Pools {
		p := &c.Pools[i]
		if there := p.InferencePool.Namespace; there != "" && there != namespace {
			return fmt.Errorf("the InferencePool %s of the pool %s is in the namespace %s, and the objects are in %s; write "+
				"--namespace %s", p.InferencePool.Name, p.Name, there, namespace, there)
		}
	}
	return nil
}

// The group of InferencePools and their kind, as routes name them.
const (
	InferenceGroup    = "inference.networking.k8s.io"
	InferencePoolKind = "InferencePool"
)

// inferencePoolComment returns what an operator should know of a pool that is an InferencePool, or "".
func inferencePoolComment(p *config.Pool) string {
	if p.InferencePool.Name == "" {
		return ""
	}
	return fmt.Sprintf("The pool %s is the InferencePool %s of this namespace. Its endpoint picker gets each request with "+
		"its prompt\nas token ids, and chooses the server (docs/routing.md#another-picker).\n", p.Name, p.InferencePool.Name)
}

// ReachesPicker returns the headers of requests to a pool's servers that are removed, without the one by which an
// endpoint picker names a server: some meshes read it when they choose. The filter has removed a client's own.
func ReachesPicker(remove []string) []string {
	return slices.DeleteFunc(slices.Clone(remove), func(name string) bool { return name == contract.DestinationHeader })
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
