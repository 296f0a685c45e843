package xds

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Check returns an error for resources that Envoy would accept but that are wrong: a route to a cluster that does not
// exist, a cluster that no route reaches, a pool that is reachable without the filter's header, or a message that
// violates its validation rules.
func (r *Resources) Check() error {
	if len(r.Listeners) == 0 {
		return errors.New("xds: there is no listener")
	}
	for _, l := range r.Listeners {
		if err := l.ValidateAll(); err != nil {
			return fmt.Errorf("xds: listener %s: %w", l.Name, err)
		}
	}
	for _, s := range r.Secrets {
		if err := s.ValidateAll(); err != nil {
			return fmt.Errorf("xds: secret %s: %w", s.Name, err)
		}
	}
	clusters := map[string]bool{}
	for _, c := range r.Clusters {
		if err := c.ValidateAll(); err != nil {
			return fmt.Errorf("xds: cluster %s: %w", c.Name, err)
		}
		if _, twice := clusters[c.Name]; twice {
			return fmt.Errorf("xds: two clusters have the name %s", c.Name)
		}
		clusters[c.Name] = false
	}
	manager, err := r.ConnectionManager()
	if err != nil {
		return err
	}
	if err := manager.ValidateAll(); err != nil {
		return fmt.Errorf("xds: connection manager: %w", err)
	}
	for _, host := range manager.GetRouteConfig().GetVirtualHosts() {
		for _, route := range host.Routes {
			name := route.GetRoute().GetCluster()
			if name == "" {
				continue
			}
			if _, ok := clusters[name]; !ok {
				return fmt.Errorf("xds: route %q leads to cluster %s, which does not exist", route.Name, name)
			}
			if name == contract.TapCluster || slices.Contains(r.Prefill, name) {
				return fmt.Errorf("xds: route %q leads to cluster %s, which is not for clients", route.Name, name)
			}
			clusters[name] = true
			if (isPool(name) || name == ResponsesCluster) && !requiresPoolHeader(route) {
				return fmt.Errorf("xds: route %q reaches %s without the header %s", route.Name, name, contract.PoolHeader)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		if !clusters[name] && !isPickerCluster(name) && name != UnroutedCluster && name != contract.TapCluster &&
			name != LimitsCluster && name != TracingCluster && !slices.Contains(r.Prefill, name) {
			return fmt.Errorf("xds: no route leads to cluster %s", name)
		}
	}
	return nil
}

// ConnectionManager returns the only network filter of the first listener. The other listeners' filters differ from it
// only in names.
func (r *Resources) ConnectionManager() (*hcmv3.HttpConnectionManager, error) {
	if len(r.Listeners) == 0 {
		return nil, errors.New("xds: there is no listener")
	}
	return managerOf(r.Listeners[0])
}

func managerOf(l *listenerv3.Listener) (*hcmv3.HttpConnectionManager, error) {
	for _, chain := range l.GetFilterChains() {
		for _, f := range chain.GetFilters() {
			m := &hcmv3.HttpConnectionManager{}
			if f.GetTypedConfig().MessageIs(m) {
				return m, f.GetTypedConfig().UnmarshalTo(m)
			}
		}
	}
	return nil, errors.New("xds: the listener has no connection manager")
}

// Cluster returns the cluster with this name, or nil.
func (r *Resources) Cluster(name string) *clusterv3.Cluster {
	for _, c := range r.Clusters {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func isPool(cluster string) bool {
	return len(cluster) > len(poolPrefix) && cluster[:len(poolPrefix)] == poolPrefix
}

func requiresPoolHeader(route *routev3.Route) bool {
	for _, h := range route.GetMatch().GetHeaders() {
		if h.GetName() == contract.PoolHeader && h.GetStringMatch().GetExact() != "" && !h.GetInvertMatch() {
			return true
		}
	}
	return false
}
