package xds

import (
	"fmt"
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

	"github.com/harmonyedge/harmonyedge/controlplane/config"
)

const (
	// Envoy's default of 1,024 requests (and 3 retries) is a hidden limit; queues belong to the engines.
	breakerLimit = 100_000

	healthTimeout   = 3 * time.Second
	unhealthyAnswer = 2 // failed checks until a server is out

	unhealthyInterval = time.Second

	// Five failures in a row put a server out, for as long as it takes to see whether it has come back. Answers are few
	// and long, so rates of success say nothing.
	outlierFailures = 5
	// Two connections in a row that are not made put a server out. Until then the dead server is the idlest, and
	// least_request chooses it for every request and every retry. One is too few: Envoy counts a stream that the server
	// cuts as such a failure too.
	connectFailures = 2
	outlierTime     = 10 * time.Second
	outlierMaxTime  = time.Minute
	outlierPercent  = 50
)

func (b *builder) poolCluster(p *config.ResolvedPool) *clusterv3.Cluster {
	groups := b.groups(p)
	c := b.cluster(poolPrefix+p.Name, groups, b.injectCredential(p))
	c.LoadAssignment = poolAssignment(p, groups)
	if p.TLS && c.TransportSocket == nil {
		c.TransportSocket = b.tls() // a pool may be empty for a while
	}
	c.LoadBalancingPolicy = &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{b.balance(p)}}
	c.OutlierDetection = &clusterv3.OutlierDetection{
		SplitExternalLocalOriginErrors:         true,
		ConsecutiveLocalOriginFailure:          wrapperspb.UInt32(connectFailures),
		EnforcingConsecutiveLocalOriginFailure: wrapperspb.UInt32(100),
		ConsecutiveGatewayFailure:              wrapperspb.UInt32(outlierFailures),
		EnforcingConsecutiveGatewayFailure:     wrapperspb.UInt32(100),
		EnforcingConsecutive_5Xx:               wrapperspb.UInt32(0),
		EnforcingSuccessRate:                   wrapperspb.UInt32(0),
		EnforcingLocalOriginSuccessRate:        wrapperspb.UInt32(0),
		EnforcingFailurePercentage:             wrapperspb.UInt32(0),
		BaseEjectionTime:                       durationpb.New(outlierTime),
		MaxEjectionTime:                        durationpb.New(outlierMaxTime),
		MaxEjectionPercent:                     wrapperspb.UInt32(outlierPercent),
	}
	if p.Health.Checked() {
		checkHealth(c, p)
	}
	return c
}

// poolAssignment are the servers of a pool's cluster.
func poolAssignment(p *config.ResolvedPool, groups []group) *endpointv3.ClusterLoadAssignment {
	a := assignment(poolPrefix+p.Name, groups)
	if !p.Health.Checked() {
		return a
	}
	for _, locality := range a.Endpoints {
		for _, e := range locality.LbEndpoints {
			// Else Envoy calls the server by its cluster's name, which not every server takes for a host's.
			e.GetEndpoint().HealthCheckConfig = &endpointv3.Endpoint_HealthCheckConfig{Hostname: e.GetEndpoint().GetHostname()}
		}
	}
	return a
}

// checkHealth has Envoy ask each server. A server that is taken out of the pool is out, well or not; its streams go on.
func checkHealth(c *clusterv3.Cluster, p *config.ResolvedPool) {
	interval := durationpb.New(time.Duration(p.Health.Interval))
	c.IgnoreHealthOnHostRemoval = true
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout: durationpb.New(healthTimeout), Interval: interval, IntervalJitterPercent: 10,
		// Envoy asks a cluster without requests once a minute only; the first request would find dead servers.
		NoTrafficInterval: interval,
		// A server that is not well is asked more often. So is one whose first answer came while Envoy was busy starting.
		UnhealthyInterval: durationpb.New(min(time.Duration(p.Health.Interval), unhealthyInterval)),
		HealthyThreshold:  wrapperspb.UInt32(1), UnhealthyThreshold: wrapperspb.UInt32(unhealthyAnswer),
		HealthChecker: &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{Path: p.Health.Path}},
	}}
}

// groups are the pool's servers, and behind them those of its spares.
func (b *builder) groups(p *config.ResolvedPool) []group {
	groups := []group{{servers: b.serversOf(p)}}
	for i, name := range p.Spares {
		if spare := b.resolved.Pool(name); spare != nil {
			groups = append(groups, group{priority: uint32(i + 1), servers: b.serversOf(spare)})
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
				b.fail(fmt.Errorf("%s is in the pool %s, and gets requests as they come, as passthrough or responses_service: untranslated requests would reach a Harmony model", s.Endpoint, p.Name))
			}
		}
		return b.options.Servers[p.Name]
	}
	if p.ServersFile != "" {
		b.fail(fmt.Errorf("the pool %s has a servers_file, which only a control plane reads; write its servers out, or run harmony controlplane", p.Name))
	}
	var all []Server
	for _, e := range p.Endpoints {
		all = append(all, Server{Endpoint: e})
	}
	return all
}

// balance is the policy by which a server is chosen. Its statistics are each Envoy's own.
func (b *builder) balance(p *config.ResolvedPool) *clusterv3.LoadBalancingPolicy_Policy {
	var slow *commonv3.SlowStartConfig
	if p.SlowStart > 0 {
		slow = &commonv3.SlowStartConfig{SlowStartWindow: durationpb.New(time.Duration(p.SlowStart))}
	}
	var policy proto.Message
	name := ""
	switch {
	case p.Policy == config.PolicySession && p.Session.Header != "":
		// At a retry a ring goes on to its next place, which may well be the same server's; Maglev hashes anew.
		name, policy = "maglev", &maglevv3.Maglev{}
	case p.Policy == config.PolicySession, p.Policy == config.PolicyRoundRobin:
		name, policy = "round_robin", &robinv3.RoundRobin{SlowStartConfig: slow}
	default:
		// Of few servers with long requests the best is wanted, not the better of two.
		name, policy = "least_request", &leastv3.LeastRequest{SelectionMethod: leastv3.LeastRequest_FULL_SCAN, SlowStartConfig: slow}
	}
	return &clusterv3.LoadBalancingPolicy_Policy{TypedExtensionConfig: &corev3.TypedExtensionConfig{
		Name: "envoy.load_balancing_policies." + name, TypedConfig: b.any(policy),
	}}
}

func breakers() *clusterv3.CircuitBreakers {
	limit := wrapperspb.UInt32(breakerLimit)
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: limit, MaxPendingRequests: limit, MaxRequests: limit, MaxRetries: limit,
	}}}
}

// runtime are the limits that follow the number of servers. A pool that has none at the moment keeps room for one, so
// that its requests are told that nobody is there and not that everybody is busy.
func (b *builder) runtime() *structpb.Struct {
	keys := map[string]*structpb.Value{}
	for _, p := range b.usedPools() {
		if p.Capacity == 0 {
			continue
		}
		servers := 0
		for _, g := range b.groups(p) {
			for j := range g.servers {
				if !g.servers[j].NotReady {
					servers++
				}
			}
		}
		limit := min(float64(p.Capacity)*float64(max(servers, 1)), breakerLimit)
		keys["circuit_breakers."+poolPrefix+p.Name+".default.max_requests"] = structpb.NewNumberValue(limit)
	}
	return &structpb.Struct{Fields: keys}
}
