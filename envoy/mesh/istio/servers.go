package istio

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	robinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
)

// target is where a cluster's requests go in the mesh.
type target struct {
	destination destination
	// authority is the Host header that all servers want, or empty.
	authority string
	// service reports whether the mesh knows the servers already, as a Service of Kubernetes.
	service bool
}

const (
	// servicePort is the port of what has no port of its own.
	servicePort = 80
	maglevTable = 65537 // Envoy's default, which Istio wants to be told
	portName    = "http"
)

func (b *builder) destinationOf(cluster string) (target, bool) {
	i := slices.IndexFunc(b.parts.Clusters, func(c *clusterv3.Cluster) bool { return c.GetName() == cluster })
	if i < 0 {
		return target{}, false
	}
	all := mesh.Endpoints(b.parts.Clusters[i])
	if len(all) == 1 {
		if host := strings.TrimSuffix(all[0].Host, "."); strings.HasSuffix(host, mesh.ServiceDomain) {
			return target{destination: destination{host, portNumber{all[0].Port}}, service: true}, true
		}
	}
	to := target{destination: destination{b.host(b.objectName(cluster)), portNumber{servicePort}}}
	if authorities := authoritiesOf(all); len(authorities) == 1 {
		to.authority = authorities[0]
	}
	return to, true
}

func authoritiesOf(all []mesh.Endpoint) []string {
	var names []string
	for _, e := range all {
		if !slices.Contains(names, e.Authority) {
			names = append(names, e.Authority)
		}
	}
	return names
}

// servers adds the entry and the rule of each cluster.
func (b *builder) servers() {
	for _, c := range b.parts.Clusters {
		if mesh.InferencePool(b.config, c.GetName()) != "" {
			continue // the mesh knows it
		}
		to, _ := b.destinationOf(c.GetName())
		if !to.service {
			b.serviceEntry(c, to)
		}
		b.destinationRule(c, to)
	}
}

func (b *builder) serviceEntry(c *clusterv3.Cluster, to target) {
	spec := serviceEntrySpec{
		ExportTo: ownNamespace(), Hosts: []string{to.destination.Host}, Location: "MESH_EXTERNAL", Resolution: "STATIC",
		// The rule of the cluster adds TLS.
		Ports: []port{{Number: servicePort, Name: portName, Protocol: "HTTP"}}, Endpoints: []serviceAddress{},
	}
	all := mesh.Endpoints(c)
	levels := priorities(all)
	for _, e := range all {
		if _, err := netip.ParseAddr(e.Host); err != nil {
			spec.Resolution = "DNS"
		}
		spec.Endpoints = append(spec.Endpoints, serviceAddress{
			Address: e.Host, Ports: map[string]uint32{portName: e.Port}, Labels: priorityLabels(e.Priority, levels)})
	}
	b.add(networking, "ServiceEntry", b.objectName(c.GetName()), spec)
}

// priorities returns the number of priorities of a cluster's servers.
func priorities(all []mesh.Endpoint) uint32 {
	levels := uint32(1)
	for _, e := range all {
		levels = max(levels, e.Priority+1)
	}
	return levels
}

// Istio gives priorities by labels, which it counts in their order: a server with all of them has the first priority,
// and one with none the last.
const (
	priorityLabel = "priority.harmony-edge/"
	inPriority    = "yes"
)

func priorityLabels(priority, levels uint32) map[string]string {
	if levels == 1 {
		return nil
	}
	labels := map[string]string{}
	for i := uint32(1); i < levels-priority; i++ {
		labels[priorityLabel+strconv.Itoa(int(i))] = inPriority
	}
	return labels
}

func (b *builder) destinationRule(c *clusterv3.Cluster, to target) {
	var options upstreamhttpv3.HttpProtocolOptions
	for _, packed := range c.GetTypedExtensionProtocolOptions() {
		b.fail(packed.UnmarshalTo(&options))
	}
	if len(options.GetHttpFilters()) > 0 {
		b.fail(fmt.Errorf("%s: a pool's authorization has no form among Istio's objects; leave it out, and let the servers "+
			"trust the mesh's own TLS", c.GetName()))
	}
	breakers := c.GetCircuitBreakers().GetThresholds()[0]
	spec := destinationRuleSpec{ExportTo: ownNamespace(), Host: to.destination.Host}
	policy := &spec.TrafficPolicy
	policy.ConnectionPool.TCP.MaxConnections = breakers.GetMaxConnections().GetValue()
	policy.ConnectionPool.TCP.ConnectTimeout = seconds(c.GetConnectTimeout())
	http := &policy.ConnectionPool.HTTP
	http.HTTP1MaxPendingRequests = breakers.GetMaxPendingRequests().GetValue()
	http.HTTP2MaxRequests = breakers.GetMaxRequests().GetValue()
	if limit, ok := b.parts.MaxRequests[c.GetName()]; ok {
		http.HTTP2MaxRequests = limit
	}
	http.MaxRetries = breakers.GetMaxRetries().GetValue()
	http.IdleTimeout = seconds(options.GetCommonHttpProtocolOptions().GetIdleTimeout())
	http.MaxRequestsPerConnection = options.GetCommonHttpProtocolOptions().GetMaxRequestsPerConnection().GetValue()
	policy.TLS = b.clientTLS(c, to)
	if o := c.GetOutlierDetection(); o != nil {
		policy.OutlierDetection = &outlierDetection{
			SplitExternalLocalOriginErrors: o.GetSplitExternalLocalOriginErrors(),
			ConsecutiveLocalOriginFailures: o.GetConsecutiveLocalOriginFailure().GetValue(),
			ConsecutiveGatewayErrors:       o.GetConsecutiveGatewayFailure().GetValue(),
			BaseEjectionTime:               seconds(o.GetBaseEjectionTime()),
			MaxEjectionPercent:             o.GetMaxEjectionPercent().GetValue(),
		}
	}
	policy.LoadBalancer = b.loadBalancer(c)
	b.add(networking, "DestinationRule", b.objectName(c.GetName()), spec)
}

// clientTLS returns how servers are reached. nil leaves it to the mesh, which knows whether its own services take its
// TLS.
func (b *builder) clientTLS(c *clusterv3.Cluster, to target) *clientTLS {
	switch {
	case c.GetTransportSocket() == nil && to.service:
		return nil
	case c.GetTransportSocket() == nil:
		return &clientTLS{Mode: "DISABLE"}
	case to.authority == "":
		b.fail(fmt.Errorf("%s: its https servers have several names, and Istio checks one for all; make a pool of each",
			c.GetName()))
		return nil
	}
	name := to.authority
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	return &clientTLS{Mode: "SIMPLE", CACertificates: b.config.Config.CAFile, SNI: name, SubjectAltNames: []string{name}}
}

// loadBalancer returns Istio's form of a cluster's policy. Istio's least_request takes the better of two servers.
func (b *builder) loadBalancer(c *clusterv3.Cluster) *loadBalancer {
	policies := c.GetLoadBalancingPolicy().GetPolicies()
	if len(policies) == 0 {
		return nil
	}
	packed := policies[0].GetTypedExtensionConfig().GetTypedConfig()
	m, err := packed.UnmarshalNew()
	b.fail(err)
	l := &loadBalancer{}
	var slow *durationpb.Duration
	switch m := m.(type) {
	case *leastv3.LeastRequest:
		l.Simple, slow = "LEAST_REQUEST", m.GetSlowStartConfig().GetSlowStartWindow()
	case *robinv3.RoundRobin:
		l.Simple, slow = "ROUND_ROBIN", m.GetSlowStartConfig().GetSlowStartWindow()
	case *maglevv3.Maglev:
		l.ConsistentHash = &consistentHash{HTTPHeaderName: b.sessionHeader(c.GetName()), Maglev: maglev{maglevTable}}
	default:
		b.fail(errors.New(packed.GetTypeUrl() + " has no form among Istio's objects"))
	}
	if slow != nil {
		l.Warmup = &warmup{Duration: seconds(slow)}
	}
	// Otherwise Istio's own setting sends requests to the servers that are near.
	levels := priorities(mesh.Endpoints(c))
	l.LocalityLBSetting.Enabled = levels > 1
	for i := uint32(1); i < levels; i++ {
		label := priorityLabel + strconv.Itoa(int(i)) + "=" + inPriority
		l.LocalityLBSetting.FailoverPriority = append(l.LocalityLBSetting.FailoverPriority, label)
	}
	return l
}

// sessionHeader returns the header whose value keeps a session with a server.
func (b *builder) sessionHeader(cluster string) string {
	for _, r := range b.parts.Host.GetRoutes() {
		for _, h := range r.GetRoute().GetHashPolicy() {
			if r.GetRoute().GetCluster() == cluster && h.GetHeader() != nil {
				return h.GetHeader().GetHeaderName()
			}
		}
	}
	return ""
}

// seconds returns a duration as Istio reads it.
func seconds(d *durationpb.Duration) string {
	return strconv.FormatFloat(d.AsDuration().Seconds(), 'f', -1, 64) + "s"
}
