package ads

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// testTimeout is how long a test waits for an event before it fails.
const testTimeout = 10 * time.Second

// serve serves s on loopback until the test ends.
func serve(t *testing.T, s *Server) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// serveResources returns a server that serves r, and its address.
func serveResources(t *testing.T, r Resources) (*Server, string) {
	t.Helper()
	s := New(Options{})
	set(t, s, r)
	return s, serve(t, s)
}

func set(t *testing.T, s *Server, r Resources) {
	t.Helper()
	if changed, err := s.Set(r); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
}

// client stands in for an Envoy.
type client struct {
	t      *testing.T
	id     string
	stream grpc.BidiStreamingClient[discovery.DeltaDiscoveryRequest, discovery.DeltaDiscoveryResponse]
	close  context.CancelFunc
}

func connect(t *testing.T, address, id string) *client {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 6*testTimeout)
	c := &client{t: t, id: id, close: func() { cancel(); conn.Close() }}
	t.Cleanup(c.close)
	if c.stream, err = discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *client) send(r *discovery.DeltaDiscoveryRequest) {
	c.t.Helper()
	r.Node = &corev3.Node{
		Id: c.id, Cluster: "edge",
		UserAgentVersionType: &corev3.Node_UserAgentBuildVersion{UserAgentBuildVersion: &corev3.BuildVersion{
			Version: &typev3.SemanticVersion{MajorNumber: 1, MinorNumber: 40},
		}},
	}
	if err := c.stream.Send(r); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) subscribe(typ resource.Type, names ...string) {
	c.t.Helper()
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: typ, ResourceNamesSubscribe: names})
}

// receive returns the next response, which must be of this type.
func (c *client) receive(typ resource.Type) *discovery.DeltaDiscoveryResponse {
	c.t.Helper()
	r, err := c.stream.Recv()
	if err != nil {
		c.t.Fatal(err)
	}
	if r.GetTypeUrl() != typ {
		c.t.Fatalf("a response of %s with %v, want one of %s", r.GetTypeUrl(), names(r), typ)
	}
	return r
}

func (c *client) ack(r *discovery.DeltaDiscoveryResponse) {
	c.t.Helper()
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()})
}

func (c *client) nack(r *discovery.DeltaDiscoveryResponse, text string) {
	c.t.Helper()
	c.send(&discovery.DeltaDiscoveryRequest{
		TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce(),
		ErrorDetail: &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: text},
	})
}

// expectAndAck receives a response, which must have these resources, and accepts it.
func (c *client) expectAndAck(typ resource.Type, want ...string) *discovery.DeltaDiscoveryResponse {
	c.t.Helper()
	r := c.receive(typ)
	if got := names(r); !slices.Equal(got, want) {
		c.t.Fatalf("%s: %v, want %v", shortNames[typ], got, want)
	}
	c.ack(r)
	return r
}

// expectNothing checks that no response has been sent so far: it asks for something, and the answer must be the next
// response. A client can call it once.
func (c *client) expectNothing() {
	c.t.Helper()
	c.subscribe(resource.RuntimeType)
	c.expectAndAck(resource.RuntimeType)
}

// start asks for everything as an Envoy does, accepts it, and returns the versions that the client then holds.
func (c *client) start(r Resources) map[resource.Type]map[string]string {
	c.t.Helper()
	held := map[resource.Type]map[string]string{}
	for _, typ := range []resource.Type{resource.ClusterType, resource.EndpointType, resource.ListenerType,
		resource.RouteType} {
		all := resourceNames(r[typ])
		if typ == resource.ClusterType || typ == resource.ListenerType {
			c.subscribe(typ)
		} else {
			c.subscribe(typ, all...)
		}
		held[typ] = map[string]string{}
		for _, resource := range c.expectAndAck(typ, all...).GetResources() {
			held[typ][resource.GetName()] = resource.GetVersion()
		}
	}
	return held
}

func resourceNames(all []types.Resource) []string {
	m := map[string]bool{}
	for _, r := range all {
		switch r := r.(type) {
		case *endpointv3.ClusterLoadAssignment:
			m[r.GetClusterName()] = true
		case types.ResourceWithName:
			m[r.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(m))
}

// names returns the names of a response's resources; a removed one begins with a minus.
func names(r *discovery.DeltaDiscoveryResponse) []string {
	var all []string
	for _, resource := range r.GetResources() {
		all = append(all, resource.GetName())
	}
	for _, name := range r.GetRemovedResources() {
		all = append(all, "-"+name)
	}
	return all
}

// eventually waits until ok reports true for the server's Envoys.
func eventually(t *testing.T, s *Server, what string, ok func([]Envoy) bool) {
	t.Helper()
	deadline := time.After(testTimeout)
	for !ok(s.Envoys()) {
		select {
		case <-s.Changed():
		case <-deadline:
			t.Fatalf("not %s: %+v", what, s.Envoys())
		}
	}
}

func current(n int) func([]Envoy) bool {
	return func(all []Envoy) bool {
		return len(all) == n && !slices.ContainsFunc(all, func(e Envoy) bool { return !e.Current })
	}
}

// testResources returns a listener with a route, and clusters with one endpoint each, at this port.
func testResources(t *testing.T, port uint32, clusters ...string) Resources {
	t.Helper()
	r := Resources{resource.ListenerType: {listener(t, "l")}, resource.RouteType: {route("r", clusters...)}}
	for _, name := range clusters {
		r[resource.ClusterType] = append(r[resource.ClusterType], cluster(name, time.Second))
		r[resource.EndpointType] = append(r[resource.EndpointType], endpoint(name, port))
	}
	return r
}

func listener(t *testing.T, name string) *listenerv3.Listener {
	t.Helper()
	manager, err := anypb.New(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: "r"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &listenerv3.Listener{Name: name, FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
		Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager},
	}}}}}
}

func route(name string, clusters ...string) *routev3.RouteConfiguration {
	host := &routev3.VirtualHost{Name: "all", Domains: []string{"*"}}
	for _, c := range clusters {
		host.Routes = append(host.Routes, &routev3.Route{Name: c})
	}
	return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{host}}
}

func cluster(name string, timeout time.Duration) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(timeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
	}
}

func endpoint(name string, port uint32) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
		LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
				Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
			}}},
		}}}},
	}}}
}
