package ads

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// Resources are the resources that every Envoy gets, by type URL.
type Resources map[resource.Type][]types.Resource

// order is the order in which types are sent. A type comes before the types that refer to it, except the runtime, which
// nothing refers to.
var order = []resource.Type{
	resource.ClusterType, resource.EndpointType, resource.SecretType, resource.ListenerType, resource.RouteType,
	resource.ExtensionConfigType, resource.RuntimeType,
}

// shortNames are the names of types in the status, in metrics and in logs.
var shortNames = map[resource.Type]string{
	resource.ClusterType: "clusters", resource.EndpointType: "endpoints", resource.SecretType: "secrets",
	resource.ListenerType: "listeners", resource.RouteType: "routes", resource.ExtensionConfigType: "extensions",
	resource.RuntimeType: "runtime",
}

// Types returns the short names of all types that are served, in the order in which they are sent.
func Types() []string {
	names := make([]string, len(order))
	for i, t := range order {
		names[i] = shortNames[t]
	}
	return names
}

// snapshot is the resources that Envoys should have, by type URL. It never changes: [Server.Set] makes a new one.
type snapshot map[resource.Type]*collection

// collection is all resources of one type, marshalled.
type collection struct {
	version   string // "" if there are no resources; weights do not change it
	exact     string // weights change it
	resources map[string]*discovery.Resource
	// from is what the resources were made of: the slice that [Server.Set] got, and its elements by name.
	from   []types.Resource
	byName map[string]types.Resource
	// endpoints are the names of endpoint resources, by the name of the cluster. It has only clusters that get their
	// endpoints by EDS.
	endpoints map[string]string
}

// newSnapshot returns a snapshot of resources. Resources that before has already are not made again.
func newSnapshot(r Resources, before snapshot) (snapshot, error) {
	for t := range r {
		if shortNames[t] == "" {
			return nil, fmt.Errorf("ads: resources of type %s are not served", t)
		}
	}
	s := make(snapshot, len(order))
	sameNames := before != nil
	for _, t := range order {
		old := before[t]
		if old.isFrom(r[t]) {
			s[t] = old
			continue
		}
		var err error
		if s[t], err = newCollection(t, r[t], old); err != nil {
			return nil, fmt.Errorf("ads: %s: %w", shortNames[t], err)
		}
		// Endpoints refer to nothing, and are referred to by their names.
		sameNames = sameNames && t == resource.EndpointType && s[t].sameNames(old)
	}
	if sameNames {
		return s, nil
	}
	cacheSnapshot, err := cache.NewSnapshot("", r)
	if err != nil {
		return nil, fmt.Errorf("ads: %w", err)
	}
	if err := cacheSnapshot.Consistent(); err != nil {
		return nil, fmt.Errorf("ads: the resources do not fit together: %w", err)
	}
	return s, nil
}

// isFrom reports whether the collection was made of this slice. The giver of the slice does not change it.
func (c *collection) isFrom(all []types.Resource) bool {
	return c != nil && len(c.from) == len(all) && (len(all) == 0 || &c.from[0] == &all[0])
}

func (c *collection) sameNames(other *collection) bool {
	if len(c.resources) != len(other.resources) {
		return false
	}
	for name := range c.resources {
		if other.resources[name] == nil {
			return false
		}
	}
	return true
}

// newCollection returns the collection of resources of a type. before is the last one, or nil.
func newCollection(t resource.Type, all []types.Resource, before *collection) (*collection, error) {
	c := &collection{resources: make(map[string]*discovery.Resource, len(all)), endpoints: map[string]string{},
		from: all, byName: make(map[string]types.Resource, len(all))}
	var err error
	for _, r := range all {
		if typeURL := resource.APITypePrefix + string(r.ProtoReflect().Descriptor().FullName()); typeURL != t {
			return nil, fmt.Errorf("a resource is of type %s", typeURL)
		}
		name := cache.GetResourceName(r)
		if name == "" {
			return nil, errors.New("a resource has no name")
		}
		if c.resources[name] != nil {
			return nil, fmt.Errorf("two resources have the name %q", name)
		}
		c.byName[name] = r
		if before != nil && before.byName[name] == r {
			c.resources[name] = before.resources[name]
		} else if c.resources[name], err = marshal(t, name, r); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		if cluster, ok := r.(*clusterv3.Cluster); ok && cluster.GetType() == clusterv3.Cluster_EDS {
			c.endpoints[name] = name
			if service := cluster.GetEdsClusterConfig().GetServiceName(); service != "" {
				c.endpoints[name] = service
			}
		}
	}
	var text, exact []byte
	for _, name := range slices.Sorted(maps.Keys(c.resources)) {
		version := c.resources[name].GetVersion()
		text = fmt.Appendf(text, "%q %s\n", name, meaning(version))
		exact = fmt.Appendf(exact, "%q %s\n", name, version)
	}
	if len(text) > 0 {
		c.version, c.exact = hash(text), hash(exact)
	}
	return c, nil
}

// marshal returns a resource with its version. Marshalling is deterministic, so the same resource has the same version
// in every process. An Envoy that reconnects to a restarted control plane, and names the versions that it holds, is
// therefore sent nothing.
func marshal(t resource.Type, name string, r types.Resource) (*discovery.Resource, error) {
	raw, err := cache.MarshalResource(r)
	if err != nil {
		return nil, err
	}
	version := hash(raw)
	if a, ok := r.(*endpointv3.ClusterLoadAssignment); ok && weighted(a) {
		plain, err := cache.MarshalResource(withoutWeights(a))
		if err != nil {
			return nil, err
		}
		version = hash(plain) + weightsMark + version
	}
	return &discovery.Resource{Name: name, Version: version, Resource: &anypb.Any{TypeUrl: t, Value: raw}}, nil
}

// hash returns 16 hexadecimal digits: few enough to read, and enough that two different contents do not get the same
// ones by chance.
func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// equal reports whether two snapshots are the same, and alike whether only their weights differ.
func (s snapshot) equal(other snapshot) (equal, alike bool) {
	if (s == nil) != (other == nil) {
		return false, false
	}
	equal = true
	for t, c := range s {
		if c.version != other[t].version {
			return false, false
		}
		equal = equal && c.exact == other[t].exact
	}
	return equal, equal || s != nil
}

// Check returns the error that [Server.Set] would return for these resources.
func (r Resources) Check() error {
	_, err := newSnapshot(r, nil)
	return err
}
