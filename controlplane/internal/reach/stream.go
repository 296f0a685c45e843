package reach

import (
	"context"
	"math"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/service/health/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	// clusterPrefix separates Envoy's statistics of these checks from the statistics of the pool's own cluster.
	clusterPrefix = "harmony-reach-"

	reportInterval      = time.Second
	checkTimeout        = 3 * time.Second
	defaultInterval     = 5 * time.Second
	unreachableInterval = time.Second // how often an unreachable server is checked
)

// specifier returns the message that asks Envoys to check these groups. No group is empty.
func specifier(groups []Group) *healthv3.HealthCheckSpecifier {
	spec := &healthv3.HealthCheckSpecifier{Interval: durationpb.New(reportInterval)}
	for _, g := range groups {
		locality := &healthv3.LocalityEndpoints{}
		for _, s := range g.Servers {
			locality.Endpoints = append(locality.Endpoints, &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address:       s.Address.Addr().String(),
					PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(s.Address.Port())},
				}}},
				Hostname:          s.Host,
				HealthCheckConfig: &endpointv3.Endpoint_HealthCheckConfig{Hostname: s.Host},
			})
		}
		spec.ClusterHealthChecks = append(spec.ClusterHealthChecks, &healthv3.ClusterHealthCheck{
			ClusterName: clusterPrefix + g.Name, HealthChecks: []*corev3.HealthCheck{check(g)},
			LocalityEndpoints: []*healthv3.LocalityEndpoints{locality},
		})
	}
	return spec
}

func check(g Group) *corev3.HealthCheck {
	if g.Interval <= 0 {
		g.Interval = defaultInterval
	}
	interval := durationpb.New(g.Interval)
	c := &corev3.HealthCheck{
		Timeout: durationpb.New(checkTimeout), Interval: interval, NoTrafficInterval: interval, IntervalJitterPercent: 10,
		UnhealthyInterval: durationpb.New(min(g.Interval, unreachableInterval)),
		// One failure is enough for a report, because no request is routed by it.
		HealthyThreshold: wrapperspb.UInt32(1), UnhealthyThreshold: wrapperspb.UInt32(1),
		HealthChecker: &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}},
	}
	if g.Path != "" {
		c.HealthChecker = &corev3.HealthCheck_HttpHealthCheck_{
			HttpHealthCheck: &corev3.HealthCheck_HttpHealthCheck{Path: g.Path}}
	}
	return c
}

func keyOf(cluster string, e *healthv3.EndpointHealth) (Key, bool) {
	group, ok := strings.CutPrefix(cluster, clusterPrefix)
	socket := e.GetEndpoint().GetAddress().GetSocketAddress()
	ip, err := netip.ParseAddr(socket.GetAddress())
	port := socket.GetPortValue()
	return Key{group, netip.AddrPortFrom(ip, uint16(port))}, ok && err == nil && port <= math.MaxUint16
}

// stream is one HDS stream of an Envoy. The tracker's mutex guards reports.
type stream struct {
	specs   chan *healthv3.HealthCheckSpecifier // holds the newest spec until it is sent
	reports map[Key]*report
}

// setSpec replaces the spec that has not been sent yet. The caller holds the tracker's mutex.
func (s *stream) setSpec(spec *healthv3.HealthCheckSpecifier) {
	select {
	case <-s.specs:
	default:
	}
	s.specs <- spec
}

// service implements the gRPC service for a [Tracker].
type service struct {
	healthv3.UnimplementedHealthDiscoveryServiceServer
	tracker *Tracker
	ctx     context.Context
}

// StreamHealthCheck serves one stream: it sends an Envoy the servers to check, and records the reports.
func (s *service) StreamHealthCheck(g healthv3.HealthDiscoveryService_StreamHealthCheckServer) error {
	t := s.tracker
	st := &stream{specs: make(chan *healthv3.HealthCheckSpecifier, 1), reports: map[Key]*report{}}
	t.mu.Lock()
	t.streams[st] = struct{}{}
	st.setSpec(t.spec)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.streams, st)
		t.mu.Unlock()
		t.notify()
	}()
	failed, received := make(chan error, 1), make(chan struct{})
	go func() { failed <- t.receive(g, st, sync.OnceFunc(func() { close(received) })) }()
	timer := time.NewTimer(t.firstMessageTimeout)
	defer timer.Stop()
	for {
		select {
		case <-received:
			timer.Stop()
			received = nil
		case <-timer.C:
			return status.Error(codes.DeadlineExceeded,
				"reach: no message on this stream within "+t.firstMessageTimeout.String())
		case <-s.ctx.Done():
			return nil // this ends receive too
		case err := <-failed:
			return err
		case spec := <-st.specs:
			if err := g.Send(spec); err != nil {
				return err
			}
		}
	}
}

// receive records an Envoy's reports until its stream ends, and returns the stream's error. It calls received at each
// message.
func (t *Tracker) receive(g healthv3.HealthDiscoveryService_StreamHealthCheckServer, st *stream,
	received func()) error {
	for {
		m, err := g.Recv()
		if err != nil {
			return err
		}
		received()
		if r := m.GetEndpointHealthResponse(); r != nil {
			t.record(st, r)
		}
	}
}
