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

// Resources are what every Envoy gets, by type URL.
type Resources map[resource.Type][]types.Resource

// order is the order in which types are sent: what is referred to comes before what refers to it.
var order = []resource.Type{
	resource.ClusterType, resource.EndpointType, resource.SecretType, resource.ListenerType, resource.RouteType,
	resource.ExtensionConfigType, resource.RuntimeType,
}

// What the types are called in status, metrics and logs.
var shortNames = map[resource.Type]string{
	resource.ClusterType: "clusters", resource.EndpointType: "endpoints", resource.SecretType: "secrets",
	resource.ListenerType: "listeners", resource.RouteType: "routes", resource.ExtensionConfigType: "extensions",
	resource.RuntimeType: "runtime",
}

// Types are the short names of all types that are served, in the order in which they are sent.
func Types() []string {
	names := make([]string, len(order))
	for i, t := range order {
		names[i] = shortNames[t]
	}
	return names
}

// snapshot is what Envoys are to have. It never changes: Set makes another.
type snapshot map[resource.Type]*collection

// collection is all resources of one type, ready to be sent.
type collection struct {
	version   string // "" when there are none
	resources map[string]*discovery.Resource
	// endpoints names, for each cluster that takes its endpoints from here, the resource that holds them.
	endpoints map[string]string
}

func newSnapshot(r Resources) (snapshot, error) {
	for t := range r {
		if shortNames[t] == "" {
			return nil, fmt.Errorf("ads: resources of type %s are not served", t)
		}
	}
	library, err := cache.NewSnapshot("", r)
	if err != nil {
		return nil, fmt.Errorf("ads: %w", err)
	}
	if err := library.Consistent(); err != nil {
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
		if is := resource.APITypePrefix + string(r.ProtoReflect().Descriptor().FullName()); is != t {
			return nil, fmt.Errorf("a resource is of type %s", is)
		}
		name := cache.GetResourceName(r)
		if name == "" {
			return nil, errors.New("a resource has no name")
		}
		if c.resources[name] != nil {
			return nil, fmt.Errorf("two resources have the name %q", name)
		}
		// Deterministic: the same resource has the same version in every process, so that an Envoy that comes back to a
		// restarted control plane with the versions it holds is sent nothing.
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

// hash is short enough to be read by people and long enough that no two contents share it by chance.
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

// Check reports what keeps resources from being given to anybody.
func (r Resources) Check() error {
	_, err := newSnapshot(r)
	return err
}
