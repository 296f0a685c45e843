package xds

import (
	"fmt"
	"slices"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	robinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// breakerLimit replaces Envoy's defaults of 1,024 requests and 3 retries, which are hidden limits. Queues belong in
	// the engines.
	breakerLimit = 100_000

	healthTimeout      = 3 * time.Second
	unhealthyThreshold = 2 // failed checks in a row that make a server unhealthy

	unhealthyInterval = time.Second

	// outlierFailures is how many failures in a row eject a server, for outlierTime at first. It is below
	// [config.DefaultTries]: a request that has met them is then answered by another server. Success rates are not used,
	// because answers are few and long.
	outlierFailures = 3
	// connectFailures is how many failed connections in a row eject a server. Until then a dead server has the fewest
	// active requests, so least_request chooses it for every request and every retry. One is too few, because Envoy counts
	// a stream that the server cuts as a failed connection too (RATIONALE.md#61).
	connectFailures = 2
	outlierTime     = 10 * time.Second
	outlierMaxTime  = time.Minute
	outlierPercent  = 50
)

// isSingleUse reports whether a connection to the pool's servers has one request. A chat server without TLS may be
// llama.cpp's, which closes the connection of a stream when it is used again. Behind TLS a connection costs more, and
// hosted APIs keep theirs.
func isSingleUse(p *config.ResolvedPool) bool {
	kind := p.ServerKind()
	return kind.SingleUse || kind.Conversations && !kind.Renders && !p.TLS
}

func (b *builder) poolCluster(p *config.ResolvedPool) *clusterv3.Cluster {
	groups := b.groups(p)
	how := speech{filters: b.upstreamFilters(p), faults: ejectedFor(p)}
	if isSingleUse(p) {
		how.perConnection = 1
	}
	c := b.cluster(poolPrefix+p.Name, groups, how)
	c.LoadAssignment = poolAssignment(p, groups)
	if p.TLS && c.TransportSocket == nil {
		c.TransportSocket = b.tls(how) // the pool may be empty for a while
	}
	c.LoadBalancingPolicy = &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{b.balance(p)}}
	// Where answers are held, an answer that breaks off is a failure without a success before it, and counts like a
	// status. Split, it would be a failed connection, and the next connection would make it forgotten. Failed connections
	// are then among the gateway failures.
	held, gateway := b.holdsAnswers(p), outlierFailures
	if held {
		gateway = connectFailures
	}
	c.OutlierDetection = &clusterv3.OutlierDetection{
		SplitExternalLocalOriginErrors:         !held,
		ConsecutiveLocalOriginFailure:          wrapperspb.UInt32(connectFailures),
		EnforcingConsecutiveLocalOriginFailure: wrapperspb.UInt32(100),
		ConsecutiveGatewayFailure:              wrapperspb.UInt32(uint32(gateway)),
		EnforcingConsecutiveGatewayFailure:     wrapperspb.UInt32(100),
		// The cluster says which answers these are, and Envoy counts each as a 500. A mesh cannot say it.
		Consecutive_5Xx:                 wrapperspb.UInt32(outlierFailures),
		EnforcingConsecutive_5Xx:        wrapperspb.UInt32(100),
		EnforcingSuccessRate:            wrapperspb.UInt32(0),
		EnforcingLocalOriginSuccessRate: wrapperspb.UInt32(0),
		EnforcingFailurePercentage:      wrapperspb.UInt32(0),
		BaseEjectionTime:                durationpb.New(outlierTime),
		MaxEjectionTime:                 durationpb.New(outlierMaxTime),
		MaxEjectionPercent:              wrapperspb.UInt32(outlierPercent),
	}
	if p.Health.Checked() {
		checkHealth(c, p)
	}
	return c
}

// poolAssignment returns the endpoints of a pool's cluster.
func poolAssignment(p *config.ResolvedPool, groups []group) *endpointv3.ClusterLoadAssignment {
	a := assignment(poolPrefix+p.Name, groups)
	if !p.Health.Checked() {
		return a
	}
	for _, locality := range a.Endpoints {
		for _, e := range locality.LbEndpoints {
			// Otherwise the Host header of a health check is the cluster's name, which some servers refuse.
			e.GetEndpoint().HealthCheckConfig = &endpointv3.Endpoint_HealthCheckConfig{Hostname: e.GetEndpoint().GetHostname()}
		}
	}
	return a
}

// checkHealth adds health checks to a cluster. A server that is removed from the pool gets no new requests, healthy or
// not, and its streams go on (RATIONALE.md#57).
func checkHealth(c *clusterv3.Cluster, p *config.ResolvedPool) {
	interval := durationpb.New(time.Duration(p.Health.Interval))
	c.IgnoreHealthOnHostRemoval = true
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout: durationpb.New(healthTimeout), Interval: interval, IntervalJitterPercent: 10,
		// Without this, Envoy checks a cluster without requests only once a minute, and the first request would find dead
		// servers.
		NoTrafficInterval: interval,
		// An unhealthy server is checked more often. So is a server whose first check was answered while Envoy was still
		// starting.
		UnhealthyInterval: durationpb.New(min(time.Duration(p.Health.Interval), unhealthyInterval)),
		HealthyThreshold:  wrapperspb.UInt32(1), UnhealthyThreshold: wrapperspb.UInt32(unhealthyThreshold),
		HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{
			HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{Path: p.Health.Path}},
	}}
}

// groups returns the pool's servers, and after them the servers of its spares.
func (b *builder) groups(p *config.ResolvedPool) []group {
	groups := []group{{servers: b.serversOf(p)}}
	for i, name := range p.Spares {
		if spare := b.resolved.Pool(name); spare != nil {
			groups = append(groups, group{priority: uint32(i + 1), servers: b.serversOf(spare), spare: name})
		}
	}
	return groups
}

func (b *builder) serversOf(p *config.ResolvedPool) []Server {
	if b.options.Servers != nil {
		for _, s := range b.options.Servers[p.Name] {
			switch b.resolved.Misfit(p, s.Endpoint) {
			case config.OtherScheme:
				b.fail(fmt.Errorf("the pool %s mixes http and https: %s; use one of them for all its servers", p.Name, s.Endpoint))
			case config.Untranslated:
				b.fail(fmt.Errorf("%s is in the pool %s and is also the server of passthrough or responses_service: "+
					"untranslated requests would reach a Harmony model", s.Endpoint, p.Name))
			}
		}
		return b.options.Servers[p.Name]
	}
	if p.ServersFile != "" {
		b.fail(fmt.Errorf("the pool %s has a servers_file, which only a control plane reads; write its servers out, or "+
			"run harmony controlplane", p.Name))
	}
	if what := p.FollowedSetting(); what != "" {
		b.fail(fmt.Errorf("the pool %s has %s, whose endpoints only a control plane follows; write its servers out, "+
			"or run harmony controlplane", p.Name, what))
	}
	var all []Server
	for _, e := range p.Endpoints {
		drained := slices.Contains(p.Drained, e)
		all = append(all, Server{Endpoint: e, NotReady: drained, Draining: drained})
	}
	return all
}

// balance returns the policy that chooses a server. Each Envoy has its own statistics for it.
func (b *builder) balance(p *config.ResolvedPool) *clusterv3.LoadBalancingPolicy_Policy {
	var slow *commonv3.SlowStartConfig
	if p.SlowStart > 0 {
		slow = &commonv3.SlowStartConfig{SlowStartWindow: durationpb.New(time.Duration(p.SlowStart))}
	}
	var policy proto.Message
	name := ""
	switch {
	case p.Policy == config.PolicyPicker:
		name, policy = "override_host", b.overrideHost(p)
	case p.Policy == config.PolicySession && p.Session.Header != "":
		// A ring hash goes to its next place at a retry, which may be the same server's. Maglev hashes again
		// (RATIONALE.md#60).
		name, policy = "maglev", &maglevv3.Maglev{}
	case p.Policy == config.PolicyPrefix:
		// A server with more than its share passes requests on, always to the same next servers for the same prefix.
		name, policy = "maglev", &maglevv3.Maglev{ConsistentHashingLbConfig: &commonv3.ConsistentHashingLbConfig{
			HashBalanceFactor: wrapperspb.UInt32(uint32(p.Affinity.MaxLoad))}}
	case p.Policy == config.PolicySession, p.Policy == config.PolicyRoundRobin:
		name, policy = "round_robin", &robinv3.RoundRobin{SlowStartConfig: slow}
	default:
		// There are few servers and requests are long, so the best of all servers is chosen, and not the better of two.
		name, policy = "least_request", &leastv3.LeastRequest{
			SelectionMethod: leastv3.LeastRequest_FULL_SCAN, SlowStartConfig: slow}
	}
	if b.isPinned(p) {
		name, policy = "override_host", b.pinned()
	}
	return named(name, b.any(policy))
}

func breakers() *clusterv3.CircuitBreakers {
	limit := wrapperspb.UInt32(breakerLimit)
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: limit, MaxPendingRequests: limit, MaxRequests: limit, MaxRetries: limit,
	}}}
}

// runtime returns the limits that depend on the number of servers. A pool without servers has the limit of one server.
// Its requests then fail with the error for no servers, and not with the one for busy servers.
func (b *builder) runtime() *structpb.Struct {
	keys := map[string]*structpb.Value{}
	for _, p := range b.usedPools() {
		if p.Capacity == 0 {
			continue
		}
		servers := 0
		for _, g := range b.groups(p) {
			for j := range g.servers {
				if !g.servers[j].NotReady || p.Queue.On() {
					servers++
				}
			}
		}
		if p.Queue.On() {
			servers = queueBreaker * max(servers, 1)
		}
		limit := min(float64(p.Capacity)*float64(max(servers, 1)), breakerLimit)
		keys["circuit_breakers."+poolPrefix+p.Name+".default.max_requests"] = structpb.NewNumberValue(limit)
	}
	b.setExports(keys)
	return &structpb.Struct{Fields: keys}
}
