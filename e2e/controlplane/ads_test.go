//go:build e2e

package controlplane

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/ads"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
)

// adsBootstrap is an Envoy that gets everything over delta ADS from an address on loopback.
const adsBootstrap = `{
  "node": {"id": "edge-1", "cluster": "edge"},
  "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
  "dynamic_resources": {
    "ads_config": {"api_type": "DELTA_GRPC", "transport_api_version": "V3", "grpc_services": [{"envoy_grpc": {"cluster_name": "controlplane"}}]},
    "cds_config": {"ads": {}, "resource_api_version": "V3"},
    "lds_config": {"ads": {}, "resource_api_version": "V3"}
  },
  "static_resources": {"clusters": [{
    "name": "controlplane", "type": "STATIC", "connect_timeout": "1s",
    "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
      "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
      "explicit_http_config": {"http2_protocol_options": {}}
    }},
    "load_assignment": {"cluster_name": "controlplane", "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address":
      {"address": "127.0.0.1", "port_value": %s}}}}]}]}
  }]}
}`

// edge is an Envoy and the server that programs it.
type edge struct {
	*testing.T
	server  *ads.Server
	address string
	stop    func() // the server alone
	url     string
}

// startEdge starts an Envoy that gets these resources; they hold a listener by the name of l.
func startEdge(t *testing.T, r ads.Resources) *edge {
	t.Helper()
	e := &edge{T: t, address: "127.0.0.1:0"}
	e.serve(r)
	ctx := t.Context()
	p, err := envoy.Start(ctx, envoy.Options{
		Path: lab.Tool(t, "ENVOY"), Bootstrap: fmt.Appendf(
			nil, adsBootstrap, e.address[strings.LastIndex(e.address, ":")+1:]),
		Concurrency: 1, ReadyTimeout: lab.Patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	address, err := p.Listener(ctx, "l")
	if err != nil {
		t.Fatal(err)
	}
	e.url = "http://" + address
	e.until("current", func(one ads.Envoy) bool { return one.Current })
	return e
}

// serve starts a server with these resources, where the last one was.
func (e *edge) serve(r ads.Resources) {
	e.Helper()
	l, err := net.Listen("tcp", e.address)
	if err != nil {
		e.Fatal(err)
	}
	e.server, e.address = ads.New(ads.Options{}), l.Addr().String()
	e.set(r)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.server.Serve(ctx, l) }()
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.Error(err)
		}
	})
	e.Cleanup(e.stop)
}

func (e *edge) set(r ads.Resources) {
	e.Helper()
	if changed, err := e.server.Set(r); err != nil || !changed {
		e.Fatalf("changed %v, %v", changed, err)
	}
}

// until waits for the one Envoy to be as wanted, and returns how long that took.
func (e *edge) until(what string, ok func(ads.Envoy) bool) time.Duration {
	e.Helper()
	begin, deadline := time.Now(), time.After(lab.Patience)
	for {
		all := e.server.Envoys()
		if len(all) == 1 && ok(all[0]) {
			return time.Since(begin)
		}
		select {
		case <-e.server.Changed():
		case <-deadline:
			e.Fatalf("not %s: %+v", what, all)
		}
	}
}

func (e *edge) get() string {
	response, err := http.Get(e.url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return strconv.Itoa(response.StatusCode) + " " + string(body)
}

// answers waits until requests are answered so: Envoy's workers follow a moment after it has accepted.
func (e *edge) answers(want string) {
	e.Helper()
	for deadline := time.Now().Add(lab.Patience); ; {
		got := e.get()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			e.Fatalf("got %q, want %q", got, want)
		}
		time.Sleep(lab.Pause)
	}
}

func TestADSProgramsAnEnvoy(t *testing.T) {
	a, b := echoing(t, "a"), echoing(t, "b")
	e := startEdge(t, adsWorld(t, "one", map[string]string{"one": a}))
	if one := e.server.Envoys()[0]; one.ID != "edge-1" || one.Cluster != "edge" || !strings.HasPrefix(one.Version, "1.") {
		t.Errorf("%+v", one)
	}
	e.answers("200 a")

	e.set(adsWorld(t, "one", map[string]string{"one": b}))
	e.until("current", func(one ads.Envoy) bool { return one.Current })
	e.answers("200 b")

	// A cluster that changes waits in Envoy for endpoints that Envoy does not ask for: 15 s, unless they come by
	// themselves.
	r := adsWorld(t, "one", map[string]string{"one": b})
	r[resource.ClusterType][0].(*clusterv3.Cluster).ConnectTimeout = durationpb.New(2 * time.Second)
	e.set(r)
	if took := e.until("current", func(one ads.Envoy) bool { return one.Current }); took > 10*time.Second {
		t.Errorf("a changed cluster is warm after %s", took)
	}
	e.answers("200 b")
}

func TestADSShowsWhatAnEnvoyRefuses(t *testing.T) {
	a, b := echoing(t, "a"), echoing(t, "b")
	e := startEdge(t, adsWorld(t, "one", map[string]string{"one": a}))
	refused := func(typ, resource, words string) func(ads.Envoy) bool {
		return func(one ads.Envoy) bool {
			s := one.Types[typ]
			return !one.Current && slices.Equal(s.Resources, []string{resource}) && strings.Contains(s.Error, words) &&
				s.Refused == e.server.Versions()[typ]
		}
	}
	bad := adsWorld(t, "one", map[string]string{"one": a})
	manager := bad[resource.ListenerType][0].(*listenerv3.Listener).FilterChains[0].Filters[0]
	manager.Name, manager.ConfigType = "envoy.filters.network.nobody_knows", nil
	bad[resource.RouteType] = nil // the listener that would have asked for it is not one
	e.set(bad)
	e.until("refused", refused("listeners", "l", "nobody_knows"))
	e.answers("200 a") // the old one serves on

	// Of endpoints that come together one is bad. Envoy refuses all, and has perhaps not looked at the others.
	names := map[string]string{"one": a, "two": a, "three": a, "four": a}
	e.set(adsWorld(t, "one", names))
	e.until("current", func(one ads.Envoy) bool { return one.Current })
	mixed := adsWorld(t, "one", map[string]string{"one": b, "two": b, "three": b, "four": b})
	for _, r := range mixed[resource.EndpointType] {
		if assignment := r.(*endpointv3.ClusterLoadAssignment); assignment.GetClusterName() == "three" {
			assignment.Endpoints[0].LbEndpoints[0].GetEndpoint().GetAddress().GetSocketAddress().Address = "not-an-address"
		}
	}
	e.set(mixed)
	e.until("refused", refused("endpoints", "three", "not-an-address"))
	e.answers("200 b")
	for _, name := range []string{"two", "four"} {
		mixed[resource.RouteType] = []types.Resource{adsRoute(name)}
		e.set(mixed)
		e.answers("200 b")
	}
	e.set(adsWorld(t, "one", map[string]string{"one": b, "two": b, "three": b, "four": b}))
	e.until("current", func(one ads.Envoy) bool { return one.Current })
}

// Another server instead of the one that has gone sends an Envoy nothing that it holds.
func TestADSSendsNothingAgainAfterARestart(t *testing.T) {
	a, b := echoing(t, "a"), echoing(t, "b")
	e := startEdge(t, adsWorld(t, "one", map[string]string{"one": a, "two": a}))
	e.stop()
	e.answers("200 a") // without any
	e.serve(adsWorld(t, "one", map[string]string{"one": a, "two": a}))
	e.until("current", func(one ads.Envoy) bool { return one.Current })
	for typ, count := range e.server.Counts() {
		if want := map[string]uint64{"clusters": 1,
			"listeners": 1}[typ]; count.Sent != want { // the empty answers to its first requests
			t.Errorf("%s: %+v", typ, count)
		}
	}
	e.set(adsWorld(t, "one", map[string]string{"one": b, "two": a}))
	e.until("current", func(one ads.Envoy) bool { return one.Current })
	e.answers("200 b")
	if got := e.server.Counts()["endpoints"].Sent; got != 1 {
		t.Errorf("endpoints were sent %d times", got)
	}
}

// A pool takes another's place: the new cluster is there before the route leads to it, the old one until none does.
func TestADSNeverLeadsToAClusterThatIsNotThere(t *testing.T) {
	a := echoing(t, "a")
	e := startEdge(t, adsWorld(t, "pool-0", map[string]string{"pool-0": a}))
	stop, wrong := make(chan struct{}), make(chan map[string]int)
	go func() {
		got := map[string]int{}
		for {
			select {
			case <-stop:
				wrong <- got
				return
			default:
				got[e.get()]++
			}
		}
	}()
	const changes = 50
	var slowest time.Duration
	for i := range changes {
		name := fmt.Sprintf("pool-%d", i+1)
		e.set(adsWorld(t, name, map[string]string{name: a}))
		slowest = max(slowest, e.until("current", func(one ads.Envoy) bool { return one.Current }))
	}
	close(stop)
	got := <-wrong
	if len(got) != 1 || got["200 a"] == 0 {
		t.Errorf("answers: %v", got)
	}
	t.Logf("%d pools took another's place under %d requests; the slowest took %s to be accepted", changes, got["200 a"],
		slowest.Round(time.Millisecond))
}

// echoing is the address of a server that answers with a word.
func echoing(t *testing.T, word string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, word) }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// adsWorld is a listener, its routes to one of the clusters, and the clusters with their addresses.
func adsWorld(t *testing.T, to string, clusters map[string]string) ads.Resources {
	t.Helper()
	adsSource := &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
	wrap := func(m proto.Message) *anypb.Any {
		a, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	r := ads.Resources{
		resource.ListenerType: {&listenerv3.Listener{
			Name: "l", Address: socket("127.0.0.1", 0),
			FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
				Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: wrap(&hcmv3.HttpConnectionManager{
					StatPrefix: "l",
					RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{
						Rds: &hcmv3.Rds{RouteConfigName: "r", ConfigSource: adsSource},
					},
					HttpFilters: []*hcmv3.HttpFilter{{
						Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrap(&routerv3.Router{})},
					}},
				})},
			}}}},
		}},
		resource.RouteType: {adsRoute(to)},
	}
	for name, address := range clusters {
		r[resource.ClusterType] = append(r[resource.ClusterType], &clusterv3.Cluster{
			Name: name, ConnectTimeout: durationpb.New(time.Second),
			ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: adsSource},
		})
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		r[resource.EndpointType] = append(r[resource.EndpointType], &endpointv3.ClusterLoadAssignment{
			ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
				LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
					Endpoint: &endpointv3.Endpoint{Address: socket(host, uint32(number))},
				}}},
			}},
		})
	}
	return r
}

func adsRoute(to string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{{
		Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: to}}},
		}},
	}}}
}

func socket(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}
