package ads

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
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
	version   string // "" if there are no resources
	resources map[string]*discovery.Resource
	// endpoints are the names of endpoint resources, by the name of the cluster. It has only clusters that get their
	// endpoints by EDS.
	endpoints map[string]string
}

func newSnapshot(r Resources) (snapshot, error) {
	for t := range r {
		if shortNames[t] == "" {
			return nil, fmt.Errorf("ads: resources of type %s are not served", t)
		}
	}
	cacheSnapshot, err := cache.NewSnapshot("", r)
	if err != nil {
		return nil, fmt.Errorf("ads: %w", err)
	}
	if err := cacheSnapshot.Consistent(); err != nil {
		return nil, fmt.Errorf("ads: the resources do not fit together: %w", err)
	}
	s := make(snapshot, len(order))
	for _, t := range order {
		if s[t], err = newCollection(t, r[t]); err != nil {
			return nil, fmt.Errorf("ads: %s: %w", shortNames[t], err)
		}
	}
	return s, nil
}

func newCollection(t resource.Type, all []types.Resource) (*collection, error) {
	c := &collection{resources: make(map[string]*discovery.Resource, len(all)), endpoints: map[string]string{}}
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
		// MarshalResource is deterministic, so the same resource has the same version in every process. An Envoy that
		// reconnects to a restarted control plane, and names the versions that it holds, is therefore sent nothing.
		raw, err := cache.MarshalResource(r)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		c.resources[name] = &discovery.Resource{Name: name, Version: hash(raw), Resource: &anypb.Any{TypeUrl: t, Value: raw}}
		if cluster, ok := r.(*clusterv3.Cluster); ok && cluster.GetType() == clusterv3.Cluster_EDS {
			c.endpoints[name] = name
			if service := cluster.GetEdsClusterConfig().GetServiceName(); service != "" {
				c.endpoints[name] = service
			}
		}
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(c.resources)) {
		text = fmt.Appendf(text, "%q %s\n", name, c.resources[name].Version)
	}
	if len(text) > 0 {
		c.version = hash(text)
	}
	return c, nil
}

// hash returns 16 hexadecimal digits: few enough to read, and enough that two different contents do not get the same
// ones by chance.
func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func (s snapshot) equal(other snapshot) bool {
	if (s == nil) != (other == nil) {
		return false
	}
	for t, c := range s {
		if c.version != other[t].version {
			return false
		}
	}
	return true
}

// Check returns the error that [Server.Set] would return for these resources.
func (r Resources) Check() error {
	_, err := newSnapshot(r)
	return err
}
