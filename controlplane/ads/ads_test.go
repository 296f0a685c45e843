package ads

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func TestEnvoyIsCurrentWhenItHasAcceptedEverything(t *testing.T) {
	s := New(Options{})
	address := serve(t, s)
	c := connect(t, address, "one")
	c.subscribe(resource.ClusterType) // before there are resources: the answer comes with the first ones
	eventually(t, s, "connected", func(all []Envoy) bool { return len(all) == 1 })
	if e := s.Envoys()[0]; e.Current || e.ID != "one" || e.Cluster != "edge" || e.Version != "1.40.0" || e.Address == "" ||
		e.Connected.IsZero() {
		t.Errorf("%+v", e)
	}
	set(t, s, testResources(t, 1, "a", "b"))
	c.expectAndAck(resource.ClusterType, "a", "b")
	c.subscribe(resource.EndpointType, "a", "b")
	c.expectAndAck(resource.EndpointType, "a", "b")
	eventually(t, s, "current in clusters and endpoints", func(all []Envoy) bool {
		return all[0].Types["clusters"].Current && all[0].Types["endpoints"].Current
	})
	if s.Envoys()[0].Current {
		t.Error("an Envoy without listeners is current")
	}
	c.subscribe(resource.ListenerType)
	c.expectAndAck(resource.ListenerType, "l")
	c.subscribe(resource.RouteType, "r")
	answer := c.receive(resource.RouteType)
	if s.Envoys()[0].Current {
		t.Error("an Envoy that has not answered is current")
	}
	c.ack(answer)
	eventually(t, s, "current", current(1))
	for typ, version := range s.Versions() {
		state := s.Envoys()[0].Types[typ]
		if state.Version != version || !state.Current || state.Acknowledged.IsZero() || state.Refused != "" {
			t.Errorf("%s %s: %+v", typ, version, state)
		}
	}
	if got := s.Counts()["routes"]; got != (Count{Sent: 1, Accepted: 1}) {
		t.Errorf("counts %+v", got)
	}
	c.close()
	eventually(t, s, "gone", func(all []Envoy) bool { return len(all) == 0 })
}

func TestOnlyWhatHasChangedIsSent(t *testing.T) {
	r := testResources(t, 1, "a", "b")
	s, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.start(r)
	eventually(t, s, "current", current(1))
	if changed, err := s.Set(testResources(t, 1, "a", "b")); err != nil || changed {
		t.Errorf("the same content: changed %v, %v", changed, err)
	}
	before := s.Versions()
	r = testResources(t, 1, "a", "b")
	r[resource.EndpointType][1] = endpoint("b", 2)
	set(t, s, r)
	if after := s.Versions(); after["endpoints"] == before["endpoints"] || after["clusters"] != before["clusters"] {
		t.Errorf("versions %v, then %v", before, after)
	}
	if s.Envoys()[0].Current {
		t.Error("current before the change is accepted")
	}
	c.expectAndAck(resource.EndpointType, "b")
	eventually(t, s, "current", current(1))
}

func TestARefusedResourceIsLeftAloneUntilItChanges(t *testing.T) {
	r := testResources(t, 1, "a", "b")
	s, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.start(r)
	r = testResources(t, 1, "a", "b")
	r[resource.EndpointType][0] = endpoint("a", 99999)
	set(t, s, r)
	c.nack(c.receive(resource.EndpointType), "no such port"+strings.Repeat("!", 2000))
	eventually(t, s, "refused", func(all []Envoy) bool { return all[0].Types["endpoints"].Refused != "" })
	e := s.Envoys()[0]
	state := e.Types["endpoints"]
	if e.Current || state.Current || state.Refused != s.Versions()["endpoints"] || state.Version == state.Refused ||
		!strings.HasPrefix(state.Error, "no such port!") || len(state.Error) != maxErrorText ||
		state.Refusals != 1 || !slices.Equal(state.Resources, []string{"a"}) {
		t.Errorf("%+v", e)
	}
	// Another resource of the same type is still accepted.
	r = testResources(t, 1, "a", "b")
	r[resource.EndpointType] = []types.Resource{endpoint("a", 99999), endpoint("b", 3)}
	set(t, s, r)
	c.expectAndAck(resource.EndpointType, "b")
	c.expectNothing()
	eventually(t, s, "still refused", func(all []Envoy) bool {
		state := all[0].Types["endpoints"]
		return !state.Current && state.Refused != "" && slices.Equal(state.Resources, []string{"a"})
	})
	set(t, s, testResources(t, 3, "a", "b"))
	c.expectAndAck(resource.EndpointType, "a")
	eventually(t, s, "current", current(1))
	if state := s.Envoys()[0].Types["endpoints"]; state.Refused != "" || state.Error != "" || state.Refusals != 1 {
		t.Errorf("%+v", state)
	}
}

func TestWhatWasRefusedTogetherIsSentOneByOne(t *testing.T) {
	s, address := serveResources(t, testResources(t, 1, "a", "bad", "c"))
	c := connect(t, address, "one")
	c.subscribe(resource.EndpointType, "a", "bad", "c")
	c.nack(c.receive(resource.EndpointType), "one of them")
	c.expectAndAck(resource.EndpointType, "a")
	c.nack(c.receive(resource.EndpointType), "this one")
	c.expectAndAck(resource.EndpointType, "c")
	c.expectNothing()
	eventually(t, s, "refused by itself", func(all []Envoy) bool {
		state := all[0].Types["endpoints"]
		return slices.Equal(state.Resources, []string{"bad"}) && state.Error == "this one" && state.Refusals == 2 &&
			!state.Current
	})
	if got := s.Counts()["endpoints"]; got != (Count{Sent: 4, Accepted: 2, Refused: 2}) {
		t.Errorf("counts %+v", got)
	}
}

func TestAnEnvoyThatRefusedManyIsNotTakenToHoldTheOldOnes(t *testing.T) {
	r := testResources(t, 1, "a", "b")
	s, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.start(r)
	eventually(t, s, "current", current(1))
	set(t, s, testResources(t, 2, "a", "b"))
	refused := c.receive(resource.EndpointType)
	set(t, s, testResources(t, 1, "a", "b")) // the old content again, while Envoy may hold one of the two new resources
	c.nack(refused, "one of them")
	c.expectAndAck(resource.EndpointType, "a")
	last := c.receive(resource.EndpointType)
	if s.Envoys()[0].Current {
		t.Error("current before it has said so")
	}
	c.ack(last)
	eventually(t, s, "current", current(1))
}

// TestAThousandEndpointChangesWhileRoutesAreRefused checks that a refused type does not leave another type stale. That
// was a fault of go-control-plane v0.14 (issue 12098 of kuma).
func TestAThousandEndpointChangesWhileRoutesAreRefused(t *testing.T) {
	r := testResources(t, 1, "a")
	s, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.start(r)
	const changes = 1000
	sets := make(chan error, 1)
	go func() {
		for i := range changes {
			next := testResources(t, uint32(i+2), "a")
			next[resource.RouteType] = []types.Resource{route("r", "a", strings.Repeat("x", i))} // each of these is refused
			if _, err := s.Set(next); err != nil {
				sets <- err
				return
			}
		}
		sets <- nil
	}()
	refused, last := 0, endpoint("a", changes+1)
	for arrived := false; !arrived; {
		answer, err := c.stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if answer.GetTypeUrl() == resource.RouteType {
			c.nack(answer, "no")
			refused++
			continue
		}
		got, err := answer.GetResources()[0].GetResource().UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		c.ack(answer)
		arrived = proto.Equal(got, last)
	}
	if err := <-sets; err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "current in endpoints, refusing routes", func(all []Envoy) bool {
		return all[0].Types["endpoints"].Current && all[0].Types["routes"].Refusals >= refused && !all[0].Current
	})
	if refused == 0 {
		t.Error("no route was refused meanwhile")
	}
}

// TestEverythingArrivesInTheEnd sets, refuses and partly accepts resources in random orders. Each time the client must
// end with the last snapshot.
func TestEverythingArrivesInTheEnd(t *testing.T) {
	const bad, last = 99999, 4242
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		clusters := func() (some []string) {
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				if random.IntN(4) > 0 {
					some = append(some, name)
				}
			}
			return some
		}
		s, address := serveResources(t, testResources(t, 1, "a"))
		c := connect(t, address, "one")
		c.subscribe(resource.ClusterType)
		c.subscribe(resource.ListenerType)
		c.subscribe(resource.RouteType, "r")
		var worlds []Resources
		for range 50 {
			r := testResources(t, random.Uint32N(1000)+1, clusters()...)
			for i, e := range r[resource.EndpointType] {
				if random.IntN(3) == 0 {
					r[resource.EndpointType][i] = endpoint(e.(*endpointv3.ClusterLoadAssignment).GetClusterName(), bad)
				}
			}
			worlds = append(worlds, r)
		}
		want := append(clusters(), "last")
		worlds = append(worlds, testResources(t, last, want...))

		go func() {
			for _, r := range worlds {
				if _, err := s.Set(r); err != nil {
					t.Error(err)
				}
			}
		}()
		have := map[string]proto.Message{} // endpoints by cluster; nil until they have come
		var routes proto.Message
		finished := func() bool {
			for _, name := range want {
				if !proto.Equal(have[name], endpoint(name, last)) {
					return false
				}
			}
			return len(have) == len(want) && proto.Equal(routes, route("r", want...))
		}
		for !finished() {
			r, err := c.stream.Recv()
			if err != nil {
				t.Fatalf("seed %d: %v; wanted %v, has %v", seed, err, want, have)
			}
			switch r.GetTypeUrl() {
			case resource.RouteType:
				if routes, err = r.GetResources()[0].GetResource().UnmarshalNew(); err != nil {
					t.Fatal(err)
				}
			case resource.ClusterType:
				ask := &discovery.DeltaDiscoveryRequest{TypeUrl: resource.EndpointType}
				for _, cluster := range r.GetResources() {
					if _, ok := have[cluster.GetName()]; !ok {
						have[cluster.GetName()] = nil
						ask.ResourceNamesSubscribe = append(ask.ResourceNamesSubscribe, cluster.GetName())
					}
				}
				for _, name := range r.GetRemovedResources() {
					delete(have, name)
					ask.ResourceNamesUnsubscribe = append(ask.ResourceNamesUnsubscribe, name)
				}
				if len(ask.GetResourceNamesSubscribe())+len(ask.GetResourceNamesUnsubscribe()) > 0 {
					c.send(ask)
				}
			case resource.EndpointType:
				refused := false
				for _, raw := range r.GetResources() {
					m, err := raw.GetResource().UnmarshalNew()
					if err != nil {
						t.Fatal(err)
					}
					if refused = proto.Equal(m, endpoint(raw.GetName(), bad)); refused {
						break // Envoy does not look at the resources after a bad one
					}
					if _, ok := have[raw.GetName()]; ok {
						have[raw.GetName()] = m
					}
				}
				if refused {
					c.nack(r, "bad")
					continue
				}
			}
			c.ack(r)
		}
		eventually(t, s, "current", current(1))
		c.close()
	}
}

func TestAnEnvoyThatComesBackIsSentNothing(t *testing.T) {
	r := testResources(t, 1, "a", "b")
	_, address := serveResources(t, r)
	c := connect(t, address, "one")
	held := c.start(r)
	c.close()

	restarted, address := serveResources(t, testResources(t, 1, "a", "b")) // the restarted control plane
	c = connect(t, address, "one")
	for _, typ := range order[:5] {
		request := &discovery.DeltaDiscoveryRequest{TypeUrl: typ, InitialResourceVersions: held[typ]}
		if wildcard := typ == resource.ClusterType || typ == resource.ListenerType; !wildcard {
			request.ResourceNamesSubscribe = resourceNames(r[typ])
		}
		if typ == resource.SecretType {
			continue
		}
		c.send(request)
		if len(request.GetResourceNamesSubscribe()) == 0 {
			c.expectAndAck(typ) // empty: the first request of a wildcard is always answered
		}
	}
	c.expectNothing()
	eventually(t, restarted, "current", current(1))
	if e := restarted.Envoys()[0]; e.Types["endpoints"].Version != restarted.Versions()["endpoints"] {
		t.Errorf("%+v", e)
	}
}

func TestAnEnvoyThatComesBackIsSentWhatHasChanged(t *testing.T) {
	r := testResources(t, 1, "a", "b")
	_, address := serveResources(t, r)
	c := connect(t, address, "one")
	held := c.start(r)
	c.close()

	restarted, address := serveResources(t, testResources(t, 2, "b", "c"))
	c = connect(t, address, "one")
	c.send(&discovery.DeltaDiscoveryRequest{
		TypeUrl: resource.ClusterType, InitialResourceVersions: held[resource.ClusterType]})
	c.expectAndAck(resource.ClusterType, "c", "-a")
	c.send(&discovery.DeltaDiscoveryRequest{
		TypeUrl: resource.EndpointType, ResourceNamesSubscribe: []string{"b", "c"},
		InitialResourceVersions: held[resource.EndpointType],
	})
	c.expectAndAck(resource.EndpointType, "b", "c")
	eventually(t, restarted, "current in both", func(all []Envoy) bool {
		return all[0].Types["clusters"].Current && all[0].Types["endpoints"].Current
	})
}

func TestANameAskedForAgainIsSentAgain(t *testing.T) {
	r := testResources(t, 1, "a", "b")
	_, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.start(r)
	c.subscribe(resource.EndpointType, "a")
	c.expectAndAck(resource.EndpointType, "a")
	c.send(&discovery.DeltaDiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNamesUnsubscribe: []string{"b"}})
	c.subscribe(resource.EndpointType, "b")
	c.expectAndAck(resource.EndpointType, "b")
}

func TestEndpointsFollowAChangedCluster(t *testing.T) {
	r := testResources(t, 1, "a", "b")
	s, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.start(r)
	r = testResources(t, 1, "a", "b")
	r[resource.ClusterType][1] = cluster("b", time.Minute)
	set(t, s, r)
	c.expectAndAck(resource.ClusterType, "b")
	c.expectAndAck(resource.EndpointType, "b")
	eventually(t, s, "current", current(1))
}

func TestClustersComeBeforeRoutesAndGoAfterThem(t *testing.T) {
	r := testResources(t, 1, "a")
	s, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.start(r)
	set(t, s, testResources(t, 1, "b"))
	clusters := c.receive(resource.ClusterType)
	if got := names(clusters); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("clusters %v: a is still in use", got)
	}
	c.subscribe(resource.EndpointType, "b")
	c.expectAndAck(resource.EndpointType, "b") // and no route: Envoy has not acknowledged that b is warm
	c.ack(clusters)
	routes := c.receive(resource.RouteType)
	if s.Envoys()[0].Types["clusters"].Current {
		t.Error("an Envoy that still has a removed cluster is current")
	}
	c.nack(routes, "not yet") // the old route stays in force, so a stays too
	c.expectNothing()
	r = testResources(t, 1, "b")
	r[resource.RouteType] = []types.Resource{route("r", "b", "more")}
	set(t, s, r)
	c.expectAndAck(resource.RouteType, "r")
	c.expectAndAck(resource.ClusterType, "-a")
	eventually(t, s, "current", current(1))
}

func TestTwoEnvoys(t *testing.T) {
	r := testResources(t, 1, "a")
	s, address := serveResources(t, r)
	one, two := connect(t, address, "one"), connect(t, address, "two")
	two.start(r)
	one.start(r)
	eventually(t, s, "current", current(2))
	set(t, s, testResources(t, 2, "a"))
	one.expectAndAck(resource.EndpointType, "a")
	two.nack(two.receive(resource.EndpointType), "not here")
	eventually(t, s, "one current, two refusing", func(all []Envoy) bool {
		return all[0].ID == "one" && all[0].Current && all[1].ID == "two" && all[1].Types["endpoints"].Error == "not here"
	})
}

func TestStateOfTheWorldIsRefused(t *testing.T) {
	_, address := serveResources(t, testResources(t, 1, "a"))
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "set api_type: DELTA_GRPC") {
		t.Errorf("got %v", err)
	}
}

func TestATypeThatIsNotServedDoesNoHarm(t *testing.T) {
	r := testResources(t, 1, "a")
	s, address := serveResources(t, r)
	c := connect(t, address, "one")
	c.subscribe(resource.ScopedRouteType)
	c.start(r)
	eventually(t, s, "current", current(1))
}

func TestSecretsAreNotLogged(t *testing.T) {
	var log bytes.Buffer
	s := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	set(t, s, Resources{resource.SecretType: {secret("key", "sesame")}})
	c := connect(t, serve(t, s), "one")
	c.subscribe(resource.SecretType, "key")
	c.nack(c.receive(resource.SecretType), "bad: sesame")
	eventually(t, s, "refused", func(all []Envoy) bool { return len(all) == 1 && all[0].Types["secrets"].Refused != "" })
	if state := s.Envoys()[0].Types["secrets"]; strings.Contains(state.Error, "sesame") ||
		!strings.Contains(state.Error, "withheld") {
		t.Errorf("%+v", state)
	}
	c.close()
	eventually(t, s, "gone", func(all []Envoy) bool { return len(all) == 0 })
	if text := log.String(); strings.Contains(text, "sesame") || !strings.Contains(text, "refuses a resource") {
		t.Errorf("log: %s", text)
	}
}

func secret(name, value string) *tlsv3.Secret {
	return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{
		Secret: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: value}},
	}}}
}

func TestSetRefusesWhatDoesNotFit(t *testing.T) {
	twice := testResources(t, 1, "a")
	twice[resource.ListenerType] = append(twice[resource.ListenerType], listener(t, "l"))
	lost := testResources(t, 1, "a")
	lost[resource.EndpointType] = nil
	for _, tt := range []struct {
		name, want string
		r          Resources
	}{
		{"endpoints missing", "do not fit together", lost},
		{"a name twice", `listeners: two resources have the name "l"`, twice},
		{"no name", "secrets: a resource has no name", Resources{resource.SecretType: {secret("", "")}}},
		{"another type", "secrets: a resource is of type", Resources{resource.SecretType: {route("r")}}},
		{"not served", "are not served", Resources{resource.ScopedRouteType: nil}},
	} {
		s := New(Options{})
		if changed, err := s.Set(tt.r); err == nil || changed || !strings.Contains(err.Error(), tt.want) ||
			len(s.Versions()) > 0 {
			t.Errorf("%s: %v, %v", tt.name, changed, err)
		}
	}
}

// TestVersionsAreStable checks that a version is the same in every process. Otherwise an Envoy that reconnects to
// another control plane would be sent everything again.
func TestVersionsAreStable(t *testing.T) {
	c := cluster("a", time.Second)
	c.Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}}
	for _, key := range []string{"x", "y", "z", "u", "v"} { // the order of a map's entries is random
		c.Metadata.FilterMetadata[key] = &structpb.Struct{}
	}
	got, err := newCollection(resource.ClusterType, []types.Resource{c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const one, all = "73a2da4bed733d68", "0569fa6c1de97bb9"
	if got.resources["a"].GetVersion() != one || got.version != all {
		t.Errorf("versions %s, %s", got.resources["a"].GetVersion(), got.version)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	r := testResources(t, 1, "a")
	s := New(Options{})
	set(t, s, r)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	c := connect(t, l.Addr().String(), "one")
	c.start(r)
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testTimeout):
		t.Fatal("it does not end while an Envoy is connected")
	}
	if len(s.Envoys()) != 0 {
		t.Errorf("still there: %+v", s.Envoys())
	}
}
