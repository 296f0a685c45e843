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
	// clusterPrefix separates Envoy's statistics of these checks from those of the pool's own cluster.
	clusterPrefix = "harmony-reach-"

	reportInterval   = time.Second
	checkTimeout     = 3 * time.Second
	defaultInterval  = 5 * time.Second
	unreachableAgain = time.Second // how often an unreachable server is checked
)

// specifier returns the message that asks Envoys to check these groups.
func specifier(groups []Group) *healthv3.HealthCheckSpecifier {
	order := &healthv3.HealthCheckSpecifier{Interval: durationpb.New(reportInterval)}
	for _, g := range groups {
		if len(g.Servers) == 0 {
			continue
		}
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
		order.ClusterHealthChecks = append(order.ClusterHealthChecks, &healthv3.ClusterHealthCheck{
			ClusterName: clusterPrefix + g.Name, HealthChecks: []*corev3.HealthCheck{check(g)},
			LocalityEndpoints: []*healthv3.LocalityEndpoints{locality},
		})
	}
	return order
}

func check(g Group) *corev3.HealthCheck {
	if g.Interval <= 0 {
		g.Interval = defaultInterval
	}
	interval := durationpb.New(g.Interval)
	c := &corev3.HealthCheck{
		Timeout: durationpb.New(checkTimeout), Interval: interval, NoTrafficInterval: interval, IntervalJitterPercent: 10,
		UnhealthyInterval: durationpb.New(min(g.Interval, unreachableAgain)),
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
	orders  chan *healthv3.HealthCheckSpecifier // holds the newest order until it is sent
	reports map[Key]*report
}

// give replaces the order that has not been sent yet. The caller holds the tracker's mutex.
func (s *stream) give(order *healthv3.HealthCheckSpecifier) {
	select {
	case <-s.orders:
	default:
	}
	s.orders <- order
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
	st := &stream{orders: make(chan *healthv3.HealthCheckSpecifier, 1), reports: map[Key]*report{}}
	t.mu.Lock()
	t.streams[st] = struct{}{}
	st.give(t.order)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.streams, st)
		t.mu.Unlock()
		t.tell()
	}()
	failed, heard := make(chan error, 1), make(chan struct{})
	go func() { failed <- t.listen(g, st, sync.OnceFunc(func() { close(heard) })) }()
	silence := time.NewTimer(t.silence)
	defer silence.Stop()
	for {
		select {
		case <-heard:
			silence.Stop()
			heard = nil
		case <-silence.C:
			return status.Error(codes.DeadlineExceeded, "reach: nothing was said on this stream within "+t.silence.String())
		case <-s.ctx.Done():
			return nil // this ends listen too
		case err := <-failed:
			return err
		case order := <-st.orders:
			if err := g.Send(order); err != nil {
				return err
			}
		}
	}
}

// listen records an Envoy's reports until its stream ends, and returns the stream's error. It calls heard at each
// message.
func (t *Tracker) listen(g healthv3.HealthDiscoveryService_StreamHealthCheckServer, st *stream, heard func()) error {
	for {
		m, err := g.Recv()
		if err != nil {
			return err
		}
		heard()
		if r := m.GetEndpointHealthResponse(); r != nil {
			t.hear(st, r)
		}
	}
}
