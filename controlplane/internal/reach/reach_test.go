package reach

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	healthv3 "github.com/envoyproxy/go-control-plane/envoy/service/health/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const testTimeout = 20 * time.Second

// serve serves a tracker on a free port until the test ends.
func serve(t *testing.T, grace time.Duration) (tracker *Tracker, address string, stop func()) {
	t.Helper()
	return serveWith(t, Options{Grace: grace})
}

func serveWith(t *testing.T, o Options) (tracker *Tracker, address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tracker = New(o)
	ctx, cancel := context.WithCancel(t.Context())
	g := grpc.NewServer()
	tracker.Register(ctx, g)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return tracker, l.Addr().String(), func() { cancel(); g.GracefulStop() }
}

// envoy stands in for an Envoy. The test decides what it reports.
type envoy struct {
	*testing.T
	stream healthv3.HealthDiscoveryService_StreamHealthCheckClient
	close  func()
}

func connect(t *testing.T, address string) *envoy {
	t.Helper()
	e := connectWithoutRequest(t, address)
	e.send(&healthv3.HealthCheckRequestOrEndpointHealthResponse{
		RequestType: &healthv3.HealthCheckRequestOrEndpointHealthResponse_HealthCheckRequest{
			HealthCheckRequest: &healthv3.HealthCheckRequest{Node: &corev3.Node{Id: "edge"}},
		}})
	return e
}

// connectWithoutRequest opens a stream and sends no message on it.
func connectWithoutRequest(t *testing.T, address string) *envoy {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	stream, err := healthv3.NewHealthDiscoveryServiceClient(conn).StreamHealthCheck(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &envoy{t, stream, func() { _ = conn.Close() }}
}

func (e *envoy) send(m *healthv3.HealthCheckRequestOrEndpointHealthResponse) {
	e.Helper()
	if err := e.stream.Send(m); err != nil {
		e.Fatal(err)
	}
}

// spec returns the next list of servers that the tracker sends.
func (e *envoy) spec() *healthv3.HealthCheckSpecifier {
	e.Helper()
	spec, err := e.stream.Recv()
	if err != nil {
		e.Fatal(err)
	}
	return spec
}

func (e *envoy) report(cluster, ip string, port uint32, health corev3.HealthStatus) {
	e.Helper()
	one := &healthv3.EndpointHealth{HealthStatus: health,
		Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
			SocketAddress: &corev3.SocketAddress{Address: ip, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}},
		}}}}
	e.send(&healthv3.HealthCheckRequestOrEndpointHealthResponse{
		RequestType: &healthv3.HealthCheckRequestOrEndpointHealthResponse_EndpointHealthResponse{
			EndpointHealthResponse: &healthv3.EndpointHealthResponse{ClusterEndpointsHealth: []*healthv3.ClusterEndpointsHealth{{
				ClusterName: cluster, LocalityEndpointsHealth: []*healthv3.LocalityEndpointsHealth{
					{EndpointsHealth: []*healthv3.EndpointHealth{one}}},
			}}},
		}})
}

// await waits for the count of a server.
func await(t *testing.T, tracker *Tracker, key Key, want Count) {
	t.Helper()
	limit := time.After(testTimeout)
	for {
		if tracker.Reports()[key] == want {
			return
		}
		select {
		case <-tracker.Changed():
		case <-limit:
			t.Fatalf("the reports are %v, want %v of %v", tracker.Reports(), want, key)
		}
	}
}

func group(address netip.AddrPort) []Group {
	return []Group{{Name: "p", Path: "/health", Interval: time.Second, Servers: []Server{{Address: address, Host: "gpu"}}},
		{Name: "empty"}}
}

func TestReports(t *testing.T) {
	tracker, address, _ := serve(t, time.Nanosecond)
	at := netip.MustParseAddrPort("10.0.0.7:8000")
	key := Key{"p", at}
	first := connect(t, address)
	if spec := first.spec(); len(spec.GetClusterHealthChecks()) != 0 {
		t.Errorf("nothing was to be checked: %v", spec)
	}
	tracker.Set(group(at))
	spec := first.spec()
	if err := spec.ValidateAll(); err != nil {
		t.Error(err)
	}
	c := spec.GetClusterHealthChecks()
	if len(c) != 1 || c[0].GetClusterName() != "harmony-reach-p" ||
		c[0].GetHealthChecks()[0].GetHttpHealthCheck().GetPath() != "/health" ||
		c[0].GetLocalityEndpoints()[0].GetEndpoints()[0].GetHostname() != "gpu" {
		t.Fatalf("got %v", spec)
	}
	tracker.Set(group(at)) // no change, so nothing is sent: the next list has the other servers
	second := connect(t, address)
	second.spec()
	first.report("harmony-reach-p", "10.0.0.7", 8000, corev3.HealthStatus_HEALTHY)
	await(t, tracker, key, Count{Reach: 1})
	second.report("harmony-reach-p", "10.0.0.7", 8000, corev3.HealthStatus_UNHEALTHY)
	second.report("harmony-reach-p", "10.0.0.7", 8000, corev3.HealthStatus_TIMEOUT)
	await(t, tracker, key, Count{Reach: 1, Fail: 1})
	for _, other := range []struct {
		cluster, ip string
		port        uint32
	}{{"harmony-reach-q", "10.0.0.7", 8000}, {"other", "10.0.0.7", 8000}, {"harmony-reach-p", "10.0.0.8", 8000},
		{"harmony-reach-p", "gpu", 8000}, {"harmony-reach-p", "10.0.0.7", 73536}} {
		first.report(other.cluster, other.ip, other.port, corev3.HealthStatus_UNHEALTHY)
	}
	first.report("harmony-reach-p", "10.0.0.7", 8000, corev3.HealthStatus_UNHEALTHY)
	await(t, tracker, key, Count{Fail: 2})
	if got := tracker.Reports(); len(got) != 1 {
		t.Errorf("servers that nobody asked for are kept: %v", got)
	}
	second.close()
	await(t, tracker, key, Count{Fail: 1})
	other := netip.MustParseAddrPort("[fd00::7]:8000")
	tracker.Set(group(other))
	added := first.spec().GetClusterHealthChecks()[0].GetLocalityEndpoints()[0].GetEndpoints()[0]
	if got := added.GetAddress().GetSocketAddress().GetAddress(); got != "fd00::7" {
		t.Errorf("it is to check %s", got)
	}
	if got := tracker.Reports(); len(got) != 0 {
		t.Errorf("reports of a server that is gone: %v", got)
	}
}

// TestFirstReports checks the grace period: Envoy reports a server as bad until its first check has ended.
func TestFirstReports(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.0.7:8000")
	tracker, address, _ := serve(t, time.Hour)
	tracker.Set(group(at))
	e := connect(t, address)
	e.spec()
	e.report("harmony-reach-p", "10.0.0.7", 8000, corev3.HealthStatus_UNHEALTHY)
	e.report("harmony-reach-p", "10.0.0.7", 8000, corev3.HealthStatus_HEALTHY)
	await(t, tracker, Key{"p", at}, Count{Reach: 1})
	e.report("harmony-reach-p", "10.0.0.7", 8000, corev3.HealthStatus_UNHEALTHY)
	await(t, tracker, Key{"p", at}, Count{Fail: 1})
}

// TestSilentStreams checks that a stream without any message is ended, and that a stream may be silent after its first
// message.
func TestSilentStreams(t *testing.T) {
	tracker, address, _ := serveWith(t, Options{Silence: 100 * time.Millisecond})
	e := connect(t, address)
	e.spec()
	silent := connectWithoutRequest(t, address)
	silent.spec()
	ended := make(chan error, 1)
	go func() {
		_, err := silent.stream.Recv()
		ended <- err
	}()
	select {
	case err := <-ended:
		if status.Code(err) != codes.DeadlineExceeded ||
			!strings.Contains(err.Error(), "no message on this stream within 100ms") {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(testTimeout):
		t.Fatal("a stream on which nothing is said is held")
	}
	// The first stream is older than that, and is still open.
	tracker.Set(group(netip.MustParseAddrPort("10.0.0.7:8000")))
	if spec := e.spec(); len(spec.GetClusterHealthChecks()) != 1 {
		t.Errorf("got %v", spec)
	}
}

// TestStop checks that streams end with the context, so that the gRPC server can end gracefully.
func TestStop(t *testing.T) {
	_, address, stop := serve(t, 0)
	e := connect(t, address)
	e.spec()
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(testTimeout):
		t.Fatal("the streams do not end")
	}
}
