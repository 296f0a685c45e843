package envoygateway

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	robinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/envoy/mesh"
)

// nowhere is a name that never has an address: requests that nothing may serve are forwarded to it.
const nowhere = "nowhere.invalid"

// backends adds the servers of each cluster. The spares of a pool are one more Backend, which has its turn when the
// pool's own servers are not enough.
func (b *builder) backends() {
	for _, c := range b.parts.Clusters {
		if mesh.InferencePool(b.config, c.GetName()) != "" {
			continue // the mesh knows it
		}
		own, spares := divide(mesh.Endpoints(c))
		if len(own) == 0 {
			own = []mesh.Endpoint{{Host: nowhere, Port: 1}}
		}
		names := b.backendNames(c.GetName())
		b.backend(c, names[0], own, false)
		if len(spares) > 0 {
			b.backend(c, names[1], spares, true)
		}
	}
}

func divide(all []mesh.Endpoint) (own, spares []mesh.Endpoint) {
	for _, e := range all {
		if e.Priority == 0 {
			own = append(own, e)
		} else {
			spares = append(spares, e)
		}
	}
	return own, spares
}

// backendNames returns the names of a cluster's Backends.
func (b *builder) backendNames(cluster string) []string {
	name := strings.TrimPrefix(cluster, "harmony-")
	names := []string{mesh.Name(b.options.Name, name)}
	if c := b.cluster(cluster); c != nil {
		if _, spares := divide(mesh.Endpoints(c)); len(spares) > 0 {
			names = append(names, mesh.Name(b.options.Name, name+"-spares"))
		}
	}
	return names
}

func (b *builder) cluster(name string) *clusterv3.Cluster {
	if i := slices.IndexFunc(b.parts.Clusters, func(c *clusterv3.Cluster) bool { return c.GetName() == name }); i >= 0 {
		return b.parts.Clusters[i]
	}
	return nil
}

// isPool reports whether a cluster is a pool's, which has a policy of its own.
func (b *builder) isPool(cluster string) bool {
	return b.cluster(cluster).GetLoadBalancingPolicy() != nil && cluster != xds.UnroutedCluster
}

func (b *builder) backend(c *clusterv3.Cluster, name string, servers []mesh.Endpoint, fallback bool) {
	var endpoints list
	for _, e := range servers {
		if _, err := netip.ParseAddr(e.Host); err == nil {
			endpoints = append(endpoints,
				object{{Key: "ip", Value: object{{Key: "address", Value: e.Host}, {Key: "port", Value: e.Port}}}})
			continue
		}
		endpoints = append(endpoints,
			object{{Key: "fqdn", Value: object{{Key: "hostname", Value: e.Host}, {Key: "port", Value: e.Port}}}})
	}
	spec := object{{Key: "endpoints", Value: endpoints}}
	if fallback {
		spec = append(spec, yaml.MapItem{Key: "fallback", Value: true})
	}
	if c.GetTransportSocket() != nil {
		tls := object{{Key: "wellKnownCACertificates", Value: "System"}}
		if b.config.Config.CAFile != "" {
			tls = object{{Key: "caCertificateRefs", Value: list{reference("", "ConfigMap", b.caName())}}}
		}
		spec = append(spec, yaml.MapItem{Key: "tls", Value: append(tls,
			yaml.MapItem{Key: "autoSNIFromEndpointHostname", Value: true})})
	}
	b.add(envoyAPI, "Backend", name, spec)
}

// caName returns the name of the ConfigMap with the certificates of the configuration's ca_file.
func (b *builder) caName() string { return b.options.Name + "-ca" }

// backendPolicy adds how the servers of a route are treated.
func (b *builder) backendPolicy(target string, r *routev3.Route) {
	c := b.cluster(r.GetRoute().GetCluster())
	var options upstreamhttpv3.HttpProtocolOptions
	for _, packed := range c.GetTypedExtensionProtocolOptions() {
		b.fail(packed.UnmarshalTo(&options))
	}
	common := options.GetCommonHttpProtocolOptions()
	limits := c.GetCircuitBreakers().GetThresholds()[0]
	requests := limits.GetMaxRequests().GetValue()
	if limit, ok := b.parts.MaxRequests[c.GetName()]; ok {
		requests = limit
	}
	breaker := object{
		{Key: "maxConnections", Value: limits.GetMaxConnections().GetValue()},
		{Key: "maxPendingRequests", Value: limits.GetMaxPendingRequests().GetValue()},
		{Key: "maxParallelRequests", Value: requests},
		{Key: "maxParallelRetries", Value: limits.GetMaxRetries().GetValue()},
	}
	if one := common.GetMaxRequestsPerConnection().GetValue(); one > 0 {
		breaker = append(breaker, yaml.MapItem{Key: "maxRequestsPerConnection", Value: one})
	}
	policy := r.GetRoute().GetRetryPolicy()
	triggers, statuses := strings.Split(policy.GetRetryOn(), ","), policy.GetRetriableStatusCodes()
	if mesh.InferencePool(b.config, c.GetName()) != "" { // another attempt would be at the server that has refused
		triggers = slices.DeleteFunc(triggers, func(t string) bool { return t == "retriable-status-codes" })
		statuses = nil
	}
	retryOn := object{{Key: "triggers", Value: triggers}}
	if len(statuses) > 0 {
		retryOn = append(retryOn, yaml.MapItem{Key: "httpStatusCodes", Value: statuses})
	}
	spec := object{
		{Key: "targetRefs", Value: list{reference(gatewayGroup, "HTTPRoute", target)}},
		{Key: "timeout", Value: object{
			{Key: "tcp", Value: object{{Key: "connectTimeout", Value: duration(c.GetConnectTimeout())}}},
			{Key: "http", Value: object{{Key: "requestTimeout", Value: "0s"},
				{Key: "streamIdleTimeout", Value: duration(r.GetRoute().GetIdleTimeout())},
				{Key: "connectionIdleTimeout", Value: duration(common.GetIdleTimeout())}}},
		}},
		{Key: "circuitBreaker", Value: breaker},
		{Key: "retry", Value: object{{Key: "numRetries", Value: policy.GetNumRetries().GetValue()},
			{Key: "retryOn", Value: retryOn}}},
	}
	if mesh.InferencePool(b.config, c.GetName()) == "" { // else the endpoint picker chooses, and knows who is healthy
		spec = append(spec, yaml.MapItem{Key: "healthCheck", Value: b.healthCheck(c)})
		if balance := b.balance(c, r); balance != nil {
			spec = append(spec, yaml.MapItem{Key: "loadBalancer", Value: balance})
		}
	}
	b.add(envoyAPI, "BackendTrafficPolicy", target, spec)
}

func (b *builder) healthCheck(c *clusterv3.Cluster) object {
	out := object{{Key: "panicThreshold", Value: 0}}
	if o := c.GetOutlierDetection(); o != nil {
		out = append(out, yaml.MapItem{Key: "passive", Value: object{
			{Key: "splitExternalLocalOriginErrors", Value: o.GetSplitExternalLocalOriginErrors()},
			{Key: "consecutiveLocalOriginFailures", Value: o.GetConsecutiveLocalOriginFailure().GetValue()},
			{Key: "consecutiveGatewayErrors", Value: o.GetConsecutiveGatewayFailure().GetValue()},
			{Key: "consecutive5XxErrors", Value: 0},
			{Key: "baseEjectionTime", Value: duration(o.GetBaseEjectionTime())},
			{Key: "maxEjectionPercent", Value: o.GetMaxEjectionPercent().GetValue()},
		}})
	}
	for _, h := range c.GetHealthChecks() {
		out = append(out, yaml.MapItem{Key: "active", Value: object{
			{Key: "type", Value: "HTTP"},
			{Key: "timeout", Value: duration(h.GetTimeout())}, {Key: "interval", Value: duration(h.GetInterval())},
			{Key: "unhealthyThreshold", Value: h.GetUnhealthyThreshold().GetValue()},
			{Key: "healthyThreshold", Value: h.GetHealthyThreshold().GetValue()},
			{Key: "http", Value: object{{Key: "path", Value: h.GetHttpHealthCheck().GetPath()}}},
		}})
	}
	return out
}

// balance returns Envoy Gateway's form of a cluster's policy. Its least_request takes the better of two servers.
func (b *builder) balance(c *clusterv3.Cluster, r *routev3.Route) object {
	policies := c.GetLoadBalancingPolicy().GetPolicies()
	if len(policies) == 0 {
		return nil
	}
	packed := policies[0].GetTypedExtensionConfig().GetTypedConfig()
	m, err := packed.UnmarshalNew()
	b.fail(err)
	var out object
	var slow *durationpb.Duration
	switch m := m.(type) {
	case *leastv3.LeastRequest:
		out, slow = object{{Key: "type", Value: "LeastRequest"}}, m.GetSlowStartConfig().GetSlowStartWindow()
	case *robinv3.RoundRobin:
		out, slow = object{{Key: "type", Value: "RoundRobin"}}, m.GetSlowStartConfig().GetSlowStartWindow()
	case *maglevv3.Maglev:
		header := ""
		for _, h := range r.GetRoute().GetHashPolicy() {
			header = h.GetHeader().GetHeaderName()
		}
		out = object{{Key: "type", Value: "ConsistentHash"}, {Key: "consistentHash", Value: object{
			{Key: "type", Value: "Header"}, {Key: "header", Value: object{{Key: "name", Value: header}}}}}}
	default:
		b.fail(errors.New(packed.GetTypeUrl() + " has no form among Envoy Gateway's objects"))
	}
	if slow != nil {
		out = append(out, yaml.MapItem{Key: "slowStart", Value: object{{Key: "window", Value: duration(slow)}}})
	}
	return out
}

// duration returns a duration as the Gateway API has it, which knows no fractions.
func duration(d *durationpb.Duration) string {
	if t := d.AsDuration(); t%time.Second != 0 {
		return fmt.Sprintf("%dms", t.Milliseconds())
	}
	return fmt.Sprintf("%ds", d.GetSeconds())
}
